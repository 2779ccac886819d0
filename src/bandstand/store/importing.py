"""An export goes into an empty store, as a whole or not at all.

Every line is checked as if it came from a stranger. Numbers, times, keys and digests of a log are
taken as they are, and then the chain of digests is gone through from its beginning.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.store import accounts, events, playlists
from bandstand.store.exchange_lines import read
from bandstand.store.exchange_rows import ROWS, Row
from bandstand.store.identity import claim, note_song_change
from bandstand.store.queries import CHUNK, chunks
from bandstand.store.row_copy import check_empty
from bandstand.store.schema import (
    EVENT,
    FILE,
    LOG_END,
    PROJECTION,
    SCAN,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
)
from bandstand.store.verify_studies import study_problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Table

    from bandstand.store.connection import Store

# What comes later may refer to what came before, and nothing the other way round.
_ORDER: Final = (
    "scan",
    "projection",
    "song",
    "file",
    "study",
    "account",
    "event",
    "playlist",
    "participation",
)
_PEOPLE: Final = frozenset({"account", "event", "playlist", "participation"})
_TABLES: Final[dict[str, Table]] = {
    "scan": SCAN,
    "projection": PROJECTION,
    "song": SONG,
    "file": FILE,
    "study": STUDY,
    "event": EVENT,
}


def import_lines(store: Store, lines: Iterable[str]) -> dict[str, int]:
    """Return how many entries of each type came into a store that was empty.

    Raises ConflictError for a store that is not, InvalidInputError, with the number of the line,
    for what is no whole export. Nothing is changed then. Nobody has a password at first.
    """
    with store.writing() as connection:
        claim(connection)
        check_empty(connection, store.location)
        reader = _Reader(connection)
        for number, entry in read(lines):
            reader.take(number, entry)
        reader.finish()
        return dict(reader.counts)


class _Reader:
    """Takes entries one by one, and writes them some at a time."""

    def __init__(self, connection: Connection) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(_ORDER, 0))
        self._connection = connection
        self._waiting: dict[str, list[dict[str, Any]]] = {name: [] for name in _TABLES}
        self._last_type = _ORDER[0]
        self._account: str | None = None
        self._end: dict[str, Any] | None = None
        self._from = self._to = 0  # the lines that are waiting

    def take(self, number: int, entry: dict[str, Any]) -> None:
        """Take the entry of one line."""
        self._from, self._to = self._from or number, number
        try:
            kind = self._checked_type(entry)
            row = ROWS[kind](entry)
            self._put(kind, row)
        except DBAPIError as problem:
            raise _refused(number, number, problem) from problem
        except BandstandError as problem:
            msg = f"line {number}: {problem}"
            raise InvalidInputError(msg) from problem
        self.counts[kind] += 1
        if sum(len(rows) for rows in self._waiting.values()) >= CHUNK:
            self._write()

    def finish(self) -> None:
        """Write the rest, and check every log."""
        self._close_log()
        self._write()
        for account in accounts.all_accounts(self._connection):
            problems = events.check_chain(self._connection, account.id)
            if problems:
                msg = f"the logs of an export must be whole, got: {problems[0]}"
                raise InvalidInputError(msg)
        for problem in study_problems(self._connection):
            msg = f"the studies of an export must be whole, got: {problem}"
            raise InvalidInputError(msg)
        if self.counts["song"]:
            note_song_change(self._connection)

    def _checked_type(self, entry: dict[str, Any]) -> str:
        kind = entry.get("type")
        if kind not in _ORDER:
            msg = f"type must be one of {', '.join(_ORDER)}, got {str(kind)[:80]!r}"
            raise InvalidInputError(msg)
        is_back = _ORDER.index(kind) < _ORDER.index(self._last_type)
        if is_back and not (kind in _PEOPLE and self._last_type in _PEOPLE):
            msg = f"a {kind} must come before every {self._last_type}, got one after it"
            raise InvalidInputError(msg)
        self._last_type = kind
        return str(kind)

    def _put(self, kind: str, row: Row) -> None:
        if kind == "account":
            self._close_log()
            self._write()  # songs that the account's events refer to
            accounts.insert_row(
                self._connection, row.account(), password_hash=None, settings=row.values["settings"]
            )
            self._account = row.values["id"]
        elif kind == "playlist":
            self._check_owner(row.values["account"])
            self._write()
            playlists.insert_row(self._connection, row.playlist())
        elif kind == "participation":
            self._check_owner(row.values["account_id"])
            self._write()
            self._put_participation(row)
        else:
            if kind == "event":
                self._check_owner(row.values["account_id"])
                self._end = row.values
            self._waiting[kind].append(row.values)
            if row.file is not None:
                self._waiting["file"].append(row.file)

    def _put_participation(self, row: Row) -> None:
        self._connection.execute(insert(STUDY_PARTICIPANT).values(row.values))
        for table, parts in ((STUDY_ARM, row.arms), (STUDY_SONG, row.arm_songs)):
            for some in chunks(parts):
                self._connection.execute(insert(table), list(some))

    def _check_owner(self, account: str) -> None:
        if account != self._account:
            msg = f"what is somebody's must follow their own account, got something of {account}"
            raise InvalidInputError(msg)

    def _close_log(self) -> None:
        """Note where the log of the account that is complete now ends."""
        if self._end is not None:
            end = {name: self._end[name] for name in ("seq", "at", "digest")}
            owner = LOG_END.c.account_id == self._end["account_id"]
            self._connection.execute(update(LOG_END).where(owner).values(end))
        self._end = None

    def _write(self) -> None:
        try:
            for kind, rows in self._waiting.items():
                if rows:
                    self._connection.execute(insert(_TABLES[kind]), rows)
                    rows.clear()
        except DBAPIError as problem:
            raise _refused(self._from, self._to, problem) from problem
        self._from = 0


def _refused(first: int, last: int, problem: DBAPIError) -> Exception:
    """Return what to raise for entries that contradict each other, or for a failing database."""
    if not isinstance(problem, IntegrityError):
        return problem
    reason = " ".join(str(problem.orig).split())[:200]
    where = f"line {last}" if first == last else f"lines {first} to {last}"
    msg = f"{where}: entries must fit together, got some that do not: {reason}"
    return InvalidInputError(msg)
