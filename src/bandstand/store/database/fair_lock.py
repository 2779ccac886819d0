"""Taking turns: whoever has waited longest is next.

SQLAlchemy's pool gives a connection that comes back to whoever asks first, and that is most often
the thread that has just given it back: one that writes without a pause would keep all others out.
"""

from __future__ import annotations

import threading
from collections import deque


class Turns:
    """A lock that is handed on in the order in which it was asked for."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    def take(self, *, wait: float) -> bool:
        """Return whether it is ours, after at most `wait` seconds."""
        with self._changing:
            if not self._is_taken:
                self._is_taken = True
                return True
            bell = threading.Lock()
            bell.acquire()
            self._waiting.append(bell)
        if bell.acquire(timeout=wait):
            return True
        with self._changing:
            # It may have been handed to us at the very end.
            if bell not in self._waiting:
                return True
            self._waiting.remove(bell)
            return False

    def give_back(self) -> None:
        """Hand it to whoever has waited longest, if anybody does."""
        with self._changing:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
