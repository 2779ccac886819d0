"""Securely erases deleted rows from a SQLite file.

The writer overwrites what it deletes (`secure_delete`). That is not enough: when SQLite balances a
tree, copies of rows stay in the unused middle of pages, and older states of pages stay in the
write-ahead log until it is restarted. So a transaction that deletes personal data requests an
erase: after it the store runs VACUUM, and empties the log as soon as no reader needs it.

The request is a random number in the header of the file (`user_version`), 0 for none, committed
with the transaction itself. If a process dies before the erase, the next process that serves or
writes does it.
"""

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

_MAX_HEADER_NUMBER: Final = 2**31 - 1
# Instructions of SQLite's virtual machine between two calls of `should_stop`.
_PROGRESS_STEPS: Final = 10_000
# The caller who deletes waits at most this long for readers, in seconds.
_WAIT_FOR_READERS: Final = 0.1
_RETRY_SECONDS: Final = 1.0
# VACUUM is much work, so that it is retried more rarely, on a full disk for example.
_VACUUM_RETRY_SECONDS: Final = 60.0
# Steps that cannot be interrupted are short; `stop` waits no longer than this, in seconds.
_MAX_STOP_SECONDS: Final = 2.0


def request_erase(connection: Connection) -> None:
    """Request an erase when the transaction of `connection` has ended."""
    if connection.dialect.name == "sqlite":
        # A new number for each request, so that finishing one does not clear the next.
        _set_header_number(connection, 1 + secrets.randbelow(_MAX_HEADER_NUMBER))


def pending(connection: Connection) -> int:
    """Return the number of the erase that is still to be done; 0 for none."""
    if connection.dialect.name != "sqlite":
        return 0
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


class SecureEraser:
    """Erases now, or in a thread as soon as it can, until `stop`.

    The deletion itself is committed by then, so that errors here are retried, not raised.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._pending = 0
        self._is_rewritten = False
        self._not_before = 0.0
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    @property
    def is_needed(self) -> bool:
        """Whether an erase is still to be done."""
        return self._pending != 0

    def after_transaction(self, number: int) -> None:
        """Do the erase that a transaction left pending, or one that is left from before."""
        if number == 0 and not self.is_needed:
            return
        with self._lock:
            is_new = number not in {0, self._pending}
            if is_new:
                self._begin(number)
            self._attempt(wait=_WAIT_FOR_READERS if is_new else 0)
            if self.is_needed and self._thread is None and not self._stopping.is_set():
                # A daemon, so that a store that is never closed does not keep the process alive.
                self._thread = threading.Thread(
                    target=self._run, name="bandstand-eraser", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """End the thread; a pending erase stays noted in the file."""
        self._stopping.set()
        thread = self._thread
        if thread is not None:
            thread.join(_MAX_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(_RETRY_SECONDS):
            with self._lock:
                self._attempt(wait=0)
                if not self.is_needed:
                    self._thread = None
                    return

    def _begin(self, number: int) -> None:
        self._pending, self._is_rewritten, self._not_before = number, False, 0.0

    def _attempt(self, *, wait: float) -> None:
        try:
            self._rewrite()
            if self._is_rewritten and empty_log(self._engine, wait=wait):
                self._begin(clear_number(self._engine, self._pending))
        except (sqlite3.Error, SQLAlchemyError):
            return  # the next attempt may succeed

    def _rewrite(self) -> None:
        if self._is_rewritten or time.monotonic() < self._not_before:
            return
        self._not_before = time.monotonic() + _VACUUM_RETRY_SECONDS
        rewrite_file(self._engine, should_stop=self._stopping.is_set)
        self._is_rewritten = True


def rewrite_file(engine: Engine, *, should_stop: Callable[[], bool]) -> None:
    """Run VACUUM, so that the file holds nothing but its rows.

    Others can read meanwhile, and wait to write. It takes about as long as copying the file. When
    `should_stop` says so it ends with an error, and the file is as it was.
    """
    with closing(engine.raw_connection()) as driver:  # outside of any transaction
        driver.set_progress_handler(should_stop, _PROGRESS_STEPS)
        try:
            driver.execute("VACUUM")
        finally:
            driver.set_progress_handler(None, 0)


def empty_log(engine: Engine, *, wait: float) -> bool:
    """Empty the write-ahead log; return False if a reader still needs it after `wait` seconds.

    No other connection can write meanwhile.
    """
    with closing(engine.raw_connection()) as driver:  # outside of any transaction
        ((before,),) = driver.execute("PRAGMA busy_timeout").fetchall()
        driver.execute(f"PRAGMA busy_timeout = {round(wait * 1000)}")
        try:
            ((busy, _pages, _moved),) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def clear_number(engine: Engine, number: int) -> int:
    """Put 0 in place of `number` in the header; return the number that is there now."""
    with engine.begin() as connection:
        now = pending(connection)
        if now == number:
            _set_header_number(connection, 0)
        return 0 if now == number else now


def _set_header_number(connection: Connection, number: int) -> None:
    connection.exec_driver_sql(f"PRAGMA user_version = {number}")
