"""Reads an export into an empty store, as a whole or not at all.

Every line is checked as untrusted input. Numbers, times, keys and digests of a log are taken as
they are, and then the chain of digests is checked from its beginning.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.store import accounts
from bandstand.store.database.queries import CHUNK
from bandstand.store.database.schema import LOG_END, METADATA
from bandstand.store.events import events
from bandstand.store.events.digest import FIRST_DIGEST
from bandstand.store.songs.identity import claim, note_song_change
from bandstand.store.transfer.jsonl.entries import ENTRIES, Account, Entry, Event, checked_entry
from bandstand.store.transfer.jsonl.lines import read
from bandstand.store.transfer.row_copy import check_empty
from bandstand.store.transfer.verify import study_problems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Table

    from bandstand.store.database.connection import Store

_ORDER: Final = tuple(ENTRIES)
# Entries of an account and its belongings follow each other, account by account.
_FIRST_OF_ACCOUNT: Final = _ORDER.index("account")
# These are few, so that an error of the database can name the line.
_WRITTEN_ALONE: Final = frozenset({"account", "playlist", "participation"})


def import_lines(store: Store, lines: Iterable[str]) -> dict[str, int]:
    """Read an export into a store that is empty; return the number of entries of each type.

    Raises ConflictError for a store that is not empty; InvalidInputError, with the number of the
    line, for anything but a whole export. Nothing is changed then. No account has a password.
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
    """Takes entries one by one, and writes their rows in batches."""

    def __init__(self, connection: Connection) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(_ORDER, 0))
        self._connection = connection
        self._waiting: dict[Table, list[dict[str, Any]]] = {}
        self._last_type = _ORDER[0]
        self._log_end: dict[str, Any] | None = None  # of the account that is being read
        self._from = self._to = 0  # the lines that are waiting

    def take(self, number: int, entry: dict[str, Any]) -> None:
        """Take the entry of one line."""
        try:
            kind = self._checked_type(entry.pop("type", None))
            checked = checked_entry(kind, entry)
            rows = list(checked.rows())
            self._follow_account(checked)
        except BandstandError as problem:
            msg = f"line {number}: {problem}"
            raise InvalidInputError(msg) from problem
        is_alone = kind in _WRITTEN_ALONE
        if is_alone:
            self._write()
        self._from, self._to = self._from or number, number
        for table, row in rows:
            self._waiting.setdefault(table, []).append(row)
        if is_alone or sum(map(len, self._waiting.values())) >= CHUNK:
            self._write()
        self.counts[kind] += 1

    def finish(self) -> None:
        """Write the rest, and check every log and study."""
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

    def _checked_type(self, kind: Any) -> str:
        if kind not in _ORDER:
            msg = f"type must be one of {', '.join(_ORDER)}, got {str(kind)[:80]!r}"
            raise InvalidInputError(msg)
        place, last = _ORDER.index(kind), _ORDER.index(self._last_type)
        if place < last and place < _FIRST_OF_ACCOUNT:
            msg = f"a {kind} must come before every {self._last_type}, got one after it"
            raise InvalidInputError(msg)
        self._last_type = kind
        return str(kind)

    def _follow_account(self, entry: Entry) -> None:
        """Note whose entries come next, and where the log ends."""
        if isinstance(entry, Account):
            self._close_log()
            beginning = {"seq": 0, "at": 0, "digest": FIRST_DIGEST}
            self._log_end = {"account_id": entry.id, **beginning}
        owner = getattr(entry, "account", None)
        if owner is not None and (self._log_end or {}).get("account_id") != owner:
            msg = f"an entry must follow the account that it belongs to, got one of {owner}"
            raise InvalidInputError(msg)
        if isinstance(entry, Event) and self._log_end is not None:
            self._log_end.update(seq=entry.seq, at=entry.at, digest=entry.digest)

    def _close_log(self) -> None:
        if self._log_end is not None:
            self._waiting.setdefault(LOG_END, []).append(self._log_end)
        self._log_end = None

    def _write(self) -> None:
        try:
            for table in METADATA.sorted_tables:  # rows that others refer to come first
                if rows := self._waiting.pop(table, None):
                    self._connection.execute(insert(table), rows)
        except IntegrityError as problem:
            reason = " ".join(str(problem.orig).split())[:200]
            is_one = self._from == self._to
            where = f"line {self._to}" if is_one else f"lines {self._from} to {self._to}"
            msg = f"{where}: entries must fit together, got some that do not: {reason}"
            raise InvalidInputError(msg) from problem
        self._from = 0
