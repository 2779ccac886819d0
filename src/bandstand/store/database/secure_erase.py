"""What was removed leaves nothing to find in a SQLite file.

The writer overwrites what it removes (`secure_delete`). That is not all: when SQLite balances a
tree, copies of rows stay in the unused middle of pages, and older states of pages stay in the
write-ahead log until it begins anew. So a transaction that removes somebody says so here, and
after it the store writes its file anew, and empties the log as soon as no reader needs it.

That this is due is kept in the file itself, from the same commit on: a random number in its header
(`user_version`), 0 when nothing is. So a process that dies before it is done leaves it to whoever
serves or writes next.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Final

from sqlalchemy.exc import SQLAlchemyError

from bandstand.store.database.engines import (
    cleared_number,
    emptied_log,
    header_number,
    rewrite_file,
    set_header_number,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_MOST: Final = 2**31 - 1  # what the header has room for
# Readers may be in the way; whoever removes somebody waits no longer than this for them.
_PATIENCE: Final = 0.1  # seconds
# How often it is tried while they are.
_PAUSE: Final = 1.0  # seconds
# To write the file anew is work, so that it is tried more rarely on a full disk.
_AGAIN_AFTER: Final = 60.0  # seconds
# What cannot be interrupted is short; longer than this nobody waits for it.
_LONGEST_END: Final = 2.0  # seconds


def leave_none(connection: Connection) -> None:
    """Have all traces removed when the transaction of `connection` has ended."""
    if connection.dialect.name == "sqlite":
        # Another number each time, so that who is done with one does not take it for the other.
        set_header_number(connection, 1 + secrets.randbelow(_MOST))


def due(connection: Connection) -> int:
    """Return the number of the removal whose traces may still be there; 0 for none."""
    return header_number(connection) if connection.dialect.name == "sqlite" else 0


class Eraser:
    """Removes the traces of what was deleted, now or as soon as it can.

    What was asked for is done and kept by then, so nothing that goes wrong here is raised. While
    something is left to do a thread tries again, until `stop`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._due = 0
        self._is_rewritten = False
        self._not_before = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    @property
    def is_needed(self) -> bool:
        """Whether something is left to do."""
        return self._due != 0

    def after_transaction(self, number: int) -> None:
        """Do what is due after a transaction that left this number, or what is left from before."""
        if number == 0 and not self.is_needed:
            return
        with self._lock:
            is_new = number not in {0, self._due}
            if is_new:
                self._begin(number)
            self._attempt(wait=_PATIENCE if is_new else 0)
            if self.is_needed and self._thread is None and not self._stopping.is_set():
                # As a daemon it does not keep a process alive that forgot to close the store.
                self._thread = threading.Thread(
                    target=self._run, name="bandstand-eraser", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End the thread, whatever it does; what is left to do stays noted in the file."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join(_LONGEST_END)

    def _run(self) -> None:
        while not self._stopping.wait(_PAUSE):
            with self._lock:
                self._attempt(wait=0)
                if not self.is_needed:
                    self._thread = None
                    return

    def _begin(self, number: int) -> None:
        self._due, self._is_rewritten, self._not_before = number, False, 0.0

    def _attempt(self, *, wait: float) -> None:
        try:
            self._rewrite()
            if self._is_rewritten and emptied_log(self._engine, wait=wait):
                self._begin(cleared_number(self._engine, self._due))
        except (sqlite3.Error, SQLAlchemyError):
            # The next attempt may be better; whoever waits for an answer has it.
            return

    def _rewrite(self) -> None:
        if self._is_rewritten or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + _AGAIN_AFTER
        rewrite_file(self._engine, is_enough=self._stopping.is_set)
        self._is_rewritten = True
