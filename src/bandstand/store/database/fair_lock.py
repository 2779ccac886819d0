"""A lock that is handed on in the order in which it was asked for.

SQLAlchemy's pool gives a returned connection to the first thread that asks, most often the one
that has just returned it: a thread that writes without a pause would keep all others out.
"""

from __future__ import annotations

import threading
from collections import deque


class FairLock:
    """A first-in, first-out lock between threads."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._is_taken = False
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self, *, timeout: float) -> bool:
        """Wait for the lock for at most `timeout` seconds; return whether it was acquired."""
        with self._changing:
            if not self._is_taken:
                self._is_taken = True
                return True
            bell = threading.Lock()
            bell.acquire()
            self._waiting.append(bell)
        if bell.acquire(timeout=timeout):
            return True
        with self._changing:
            # It may have been handed to this thread at the very end.
            if bell not in self._waiting:
                return True
            self._waiting.remove(bell)
            return False

    def release(self) -> None:
        """Hand the lock to the thread that has waited longest, if there is one."""
        with self._changing:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
