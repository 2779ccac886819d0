"""One thread that does beforehand what the next requests would have to wait for.

    preparing = Preparing(work)       # work(account) is called on the thread, one at a time
    preparing.soon(account)           # once, however often it is asked for meanwhile

Nothing depends on it: whoever is asked sooner does the work instead.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Whoever comes when so many wait is not prepared for: it would come too late.
MOST_WAITING: Final = 256
LOG: Final = logging.getLogger("bandstand.preparing")


class Preparing:
    """A thread that prepares for listeners until `close`."""

    def __init__(self, work: Callable[[str], None]) -> None:
        self._work = work
        self._waiting: dict[str, None] = {}  # a dict remembers its order
        self._changed = threading.Condition()
        self._is_busy = False
        self._is_closing = False
        # As a daemon it does not keep a process alive that forgot to close it.
        self._thread = threading.Thread(target=self._run, name="bandstand-preparing", daemon=True)
        self._thread.start()

    def soon(self, account: str) -> None:
        """Prepare for a listener when there is time; nobody waits for it."""
        with self._changed:
            if len(self._waiting) < MOST_WAITING and not self._is_closing:
                self._waiting[account] = None
                self._changed.notify_all()

    def wait(self) -> None:
        """Return when everything that was asked for is done."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._waiting or self._is_busy))

    def close(self) -> None:
        """Finish what is being done, leave the rest, and end; to close twice does no harm."""
        with self._changed:
            self._is_closing = True
            self._waiting.clear()
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while (account := self._next()) is not None:
            try:
                self._work(account)
            except Exception:
                # It was for the sake of speed alone: who asks will see what is wrong.
                LOG.exception("preparing for a listener failed")
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()

    def _next(self) -> str | None:
        """Return who is next, once somebody is; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing)
            if self._is_closing:
                return None
            account = next(iter(self._waiting))
            del self._waiting[account]
            self._is_busy = True
            return account
