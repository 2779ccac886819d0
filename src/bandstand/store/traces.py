"""What was removed leaves nothing to find in a SQLite file.

The writer overwrites what it removes (`secure_delete`). That is not all: when SQLite balances a
tree, copies of rows stay in the unused middle of pages, and older states of pages stay in the
write-ahead log until it begins anew. So a transaction that removes somebody says so here, and
after it the store writes its file anew, and empties the log as soon as no reader needs it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import SQLAlchemyError

from bandstand.store.engines import emptied_log, rewrite_file

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_MARK: Final = "leave_no_traces"
# Readers may be in the way; nobody who writes waits longer than this for them.
_PATIENCE: Final = 0.1  # seconds
# To write the file anew is work, so that it is not tried with every transaction on a full disk.
_AGAIN_AFTER: Final = 60.0  # seconds


def leave_none(connection: Connection) -> None:
    """Have all traces removed when the transaction of `connection` has ended."""
    connection.info[_MARK] = True


def must_be_removed(connection: Connection) -> bool:
    """Return whether a transaction, now at its end, asked for that; forgets the answer."""
    return bool(connection.info.pop(_MARK, False))


class Eraser:
    """Removes the traces of what was deleted, now or as soon as it can.

    What was asked for is done and kept by then, so nothing that goes wrong here is raised.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._must_rewrite = self._must_empty = False
        self._not_before = 0.0

    def after_transaction(self, *, has_new: bool) -> None:
        """Do what is to be done after a transaction that left traces, or after any later one."""
        if self._engine.dialect.name != "sqlite" or not (has_new or self.is_needed):
            return
        with self._lock:
            if has_new:
                self._must_rewrite, self._not_before = True, 0.0
            try:
                self._remove()
            except (sqlite3.Error, SQLAlchemyError):
                self._not_before = time.monotonic() + _AGAIN_AFTER

    @property
    def is_needed(self) -> bool:
        """Whether something is left to do."""
        return self._must_rewrite or self._must_empty

    def _remove(self) -> None:
        if self._must_rewrite and time.monotonic() >= self._not_before:
            rewrite_file(self._engine)
            self._must_rewrite, self._must_empty = False, True
        if self._must_empty:
            self._must_empty = not emptied_log(self._engine, wait=_PATIENCE)
