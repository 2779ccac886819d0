"""Imports: what a listener heard and rated elsewhere, before it was imported.

The log's time never runs backwards, so old plays are no events. All that one import brings is one
row of `history_import`, which never changes; an event of the kind `import` has its digest as its
target. So the chain of the log covers every imported play, to take the event back takes back all of
them, and the same import again is the same row.

    report      what was read and matched, as JSON
    content     the ids of the songs, 16 bytes each, and the plays, one `ROW` each, rising by time
    digest      SHA-256(report, a zero byte, number of songs as 8 bytes, content)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, TypeAlias

import numpy as np
from sqlalchemy import Connection, insert, select

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store.database.schema import EVENT, IMPORT, SONG, checked_id, checked_text, chunks
from bandstand.store.events import events
from bandstand.store.events.events import Appended, NewEvent, append
from bandstand.types import AnyArray

Rows: TypeAlias = np.ndarray[tuple[int], np.dtype[np.void]]

LISTEN, SKIP, RATING, FAVOURITE, COUNT = range(5)
UNKNOWN: Final = 2**32 - 1  # how much was played, where that was not said
# Little end first: a row has the same bytes on every machine.
ROW: Final = np.dtype(
    [
        ("song", "<u4"),  # which of the songs
        ("at", "<u4"),  # when it began, in seconds since 1970
        # LISTEN, SKIP: milliseconds played; RATING: tenths of a star; COUNT: how often
        ("value", "<u4"),
        ("kind", "u1"),
        ("source", "<u2"),  # which of the files: within one, nothing is there twice
    ]
)
_ID_BYTES: Final = 16
_IDS: Final = f"S{_ID_BYTES}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Segment:
    """The plays of one import, and the report about it."""

    songs: AnyArray  # (K,), their ids as ASCII
    rows: Rows
    report: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The report as it is kept."""
        return json.dumps(self.report, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def content(self) -> bytes:
        """The songs and plays as they are kept."""
        return self.songs.astype(_IDS).tobytes() + self.rows.tobytes()

    @cached_property
    def digest(self) -> str:
        """A hexadecimal SHA-256 over all of it."""
        return digest_of(self.text, len(self.songs), self.content)

    @classmethod
    def parsed(cls, text: str, songs: int, content: bytes) -> Segment:
        """Return the segment that was kept."""
        end = songs * _ID_BYTES
        try:
            ids = np.frombuffer(content[:end], dtype=_IDS)
            segment = cls(
                songs=ids, rows=np.frombuffer(content[end:], dtype=ROW), report=json.loads(text)
            )
            is_fine = len(ids) == songs and _is_fine(segment)
        except (ValueError, TypeError) as problem:
            msg = f"an import must be songs and plays, got other bytes: {problem}"
            raise InvalidInputError(msg) from problem
        if not is_fine:
            msg = "an import must be songs and plays of these, got other numbers"
            raise InvalidInputError(msg)
        return segment


def _is_fine(segment: Segment) -> bool:
    rows = segment.rows
    codes_fit = len(rows) == 0 or int(rows["song"].max()) < len(segment.songs)
    is_rising = bool((np.diff(rows["at"].astype(np.int64)) >= 0).all())
    return codes_fit and is_rising and bool((rows["kind"] <= COUNT).all())


def digest_of(text: str, songs: int, content: bytes) -> str:
    """Return the digest of what is kept of an import."""
    head = text.encode("utf-8", "surrogatepass") + b"\0" + songs.to_bytes(8, "little")
    return sha256(head + content).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """An import that counts."""

    seq: int  # of its event
    at: int  # when it was made
    digest: str
    report: Mapping[str, Any]


def save(connection: Connection, account: str, segment: Segment, *, now: int) -> Appended:
    """Return the event of an import; the one that is there if it counts already.

    It belongs to the caller's transaction.
    """
    known = _events(connection, account, segment.digest)
    for event, is_taken_back in known:
        if not is_taken_back:
            return Appended(event=event, is_new=False)
    if len(segment.rows) and int(segment.rows["at"][-1]) * 1_000 > now:
        msg = f"imported plays must be before {now}, got one after it"
        raise InvalidInputError(msg)
    if not known:
        row = {
            "account_id": checked_id(account, "account"),
            "digest": segment.digest,
            "report": checked_text(segment.text, "report"),
            "songs": len(segment.songs),
            "content": segment.content,
        }
        connection.execute(insert(IMPORT), row)
    key = f"import/{segment.digest}/{len(known) + 1}"
    new = NewEvent(account=account, key=key, kind="import", target=segment.digest)
    return append(connection, new, now=now)


def all_of(connection: Connection, account: str) -> list[Imported]:
    """Return the imports of an account that count, oldest first."""
    own = select(IMPORT.c.digest, IMPORT.c.report).where(IMPORT.c.account_id == account)
    reports = {row.digest: row.report for row in connection.execute(own)}
    return [
        Imported(
            seq=event.seq,
            at=event.at,
            digest=str(event.target),
            report=json.loads(reports[str(event.target)]),
        )
        for event, is_taken_back in _events(connection, account)
        if not is_taken_back
    ]


def undo(connection: Connection, account: str, seq: int, *, now: int) -> Appended:
    """Take back the import whose event has this number; NotFoundError where there is none."""
    event = events.get(connection, account, seq)
    if event is None or event.kind != "import":
        msg = f"an import must be named by its number, got {seq}, which none has"
        raise NotFoundError(msg)
    new = NewEvent(account=account, key=f"undo/{seq}", kind="retract", retracts=seq)
    return append(connection, new, now=now)


def segment(connection: Connection, account: str, digest: str) -> Segment:
    """Return the plays of an import; InvalidInputError if they are not what was imported."""
    kept = _kept(connection, account, digest)
    if digest_of(kept.report, kept.songs, kept.content) != digest:
        msg = f"import {digest[:16]} must fit its digest, got other content"
        raise InvalidInputError(msg)
    return Segment.parsed(kept.report, kept.songs, kept.content)


def problems(connection: Connection, account: str) -> Iterator[str]:
    """Yield what is wrong with the imports of an account, in sentences."""
    own = IMPORT.c.account_id == account
    kept = set(connection.scalars(select(IMPORT.c.digest).where(own)))
    wanted = {str(event.target) for event, _ in _events(connection, account)}
    for digest in sorted(kept - wanted):
        yield f"account {account}: import {digest[:16]} must have an event, got none"
    for digest in sorted(wanted):
        try:
            ids = segment(connection, account, digest).songs.astype(str).tolist()
        except InvalidInputError as problem:
            yield f"account {account}: {problem}"
            continue
        known = set[str]()
        for some in chunks(ids):
            known.update(connection.scalars(select(SONG.c.id).where(SONG.c.id.in_(some))))
        if known != set(ids):
            missing = len(set(ids) - known)
            yield f"account {account}: import {digest[:16]} has {missing:,} songs of no store"


def songs_of(connection: Connection, account: str) -> set[str]:
    """Return the songs of all imports of an account, also of those that were taken back."""
    found = set[str]()
    for content, songs in connection.execute(
        select(IMPORT.c.content, IMPORT.c.songs).where(IMPORT.c.account_id == account)
    ):
        found.update(np.frombuffer(content[: songs * _ID_BYTES], dtype=_IDS).astype(str).tolist())
    return found


def _events(
    connection: Connection, account: str, digest: str | None = None
) -> list[tuple[events.Event, bool]]:
    """Return the events of imports, oldest first, and whether each was taken back."""
    own = select(EVENT.c.seq).where(EVENT.c.account_id == account, EVENT.c.kind == "import")
    seqs = list(connection.scalars(own if digest is None else own.where(EVENT.c.target == digest)))
    gone = events.retracted(connection, account, seqs)
    found = events.many(connection, account, seqs)
    return [(found[seq], seq in gone) for seq in sorted(found)]


def _kept(connection: Connection, account: str, digest: str) -> Any:
    where = (IMPORT.c.account_id == account, IMPORT.c.digest == digest)
    row = connection.execute(select(IMPORT).where(*where)).one_or_none()
    if row is None:
        msg = f"import {digest[:16]} must have its plays, got none"
        raise InvalidInputError(msg)
    return row
