"""Snapshots of ledgers: their bytes, reading a log by way of them, and rebuilding all of them.

A snapshot is a ledger's bytes with a SHA-256 at their end. One that is not whole is refused: it
can always be made again from the log. Nothing here looks at the clock: a log says the same at any
time.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import numpy as np
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError, StoreError
from bandstand.music.catalogue import columns, matrix
from bandstand.music.catalogue.refresh import current
from bandstand.radio.log.evidence import Sitting
from bandstand.radio.log.fold import (
    NEVER,
    ROW,
    SOURCES,
    VERSION,
    Ledger,
    PlayTable,
    Rows,
    Rule,
    extend,
    fold,
    recent_songs,
    rewrites,
)
from bandstand.store import accounts
from bandstand.store.database.connection import Store
from bandstand.store.events import events, imports, snapshots
from bandstand.store.events.events import Event
from bandstand.store.songs import projections

_CHECKSUM_BYTES: Final = 32  # of a SHA-256
_REPORT_EVERY: Final = 1_000  # events


# ── A snapshot's bytes ───────────────────────────────────────────────────────────────────


def to_bytes(ledger: Ledger) -> bytes:
    """Return the content of a ledger's snapshot."""
    content = ledger.to_bytes()
    return content + hashlib.sha256(content).digest()


def from_bytes(content: bytes) -> Ledger:
    """Return the ledger that `to_bytes` wrote."""
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    if hashlib.sha256(body).digest() != checksum:
        msg = f"a snapshot must be whole, got {len(content):,} bytes that do not fit their check"
        raise InvalidInputError(msg)
    try:
        return _parsed(body)
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        msg = f"a snapshot must be a ledger of version {VERSION}, got something else: {problem}"
        raise InvalidInputError(msg) from problem


def _parsed(body: bytes) -> Ledger:
    line, _, rest = body.partition(b"\n")
    header = json.loads(line)
    if header["version"] != VERSION:
        msg = f"version {header['version']}"
        raise ValueError(msg)
    *names, plays = rest.split(b"\n", maxsplit=header["songs"])
    rows: Rows = np.frombuffer(plays, dtype=ROW)
    songs = tuple(name.decode() for name in names)
    if len(songs) != header["songs"] or len(rows) != header["plays"]:
        msg = f"{len(songs)} songs and {len(rows)} plays"
        raise ValueError(msg)
    _check_rows(rows, len(songs))
    return Ledger(
        seq=header["seq"],
        at=header["at"],
        plays=PlayTable.from_rows(rows, songs),
        rules=tuple(
            Rule(scope=scope, target=target, until=until, seq=seq)
            for scope, target, until, seq in header["rules"]
        ),
        recent=recent_songs(rows, songs),
        last_kind=header["last_kind"],
        sitting=Sitting(*header["sitting"]),
        marked=tuple((song, at) for song, at in header["marked"]),
    )


def _check_rows(rows: Rows, songs: int) -> None:
    """Refuse song codes that do not rise by one with each new song, and unknown kinds."""
    codes, first = np.unique(rows["song"], return_index=True)
    if not np.array_equal(codes, np.arange(songs)) or (np.diff(first) < 0).any():
        msg = "songs out of order"
        raise ValueError(msg)
    if not np.isin(rows["kind"], np.arange(len(SOURCES))).all():
        msg = "unknown kinds of plays"
        raise ValueError(msg)
    if (rows["since_heard_ms"] < NEVER).any():
        msg = "negative times"
        raise ValueError(msg)


# ── Reading a log ────────────────────────────────────────────────────────────────────────


def load(connection: Connection, account: str) -> tuple[Ledger, int]:
    """Return the account's ledger and the event number of the snapshot it was loaded from."""
    snapshot = _usable(connection, account) or Ledger.empty()
    tail = list(events.after(connection, account, snapshot.seq))
    start = 0 if rewrites(tail, snapshot) else snapshot.seq
    return _extended(connection, account, snapshot, tail), start


def catch_up(connection: Connection, account: str, ledger: Ledger) -> Ledger:
    """Return an earlier ledger of an account extended to the end of its log.

    Mostly it is the latest event that is retracted. A snapshot from before it saves reading the
    whole log again.
    """
    tail = list(events.after(connection, account, ledger.seq))
    if not tail:
        return ledger
    if rewrites(tail, ledger):
        snapshot = _usable(connection, account)
        if snapshot is not None and snapshot.seq < ledger.seq:
            ledger, tail = snapshot, list(events.after(connection, account, snapshot.seq))
    return _extended(connection, account, ledger, tail)


def _extended(
    connection: Connection, account: str, ledger: Ledger, tail: Sequence[Event]
) -> Ledger:
    return extend(
        ledger,
        tail,
        lambda: events.after(connection, account),
        partial(imports.segment, connection, account),
    )


def _usable(connection: Connection, account: str) -> Ledger | None:
    """Return the ledger in an account's snapshot, if there is one that can be used."""
    # One that cannot is as good as none; `bandstand verify` reports it.
    with suppress(InvalidInputError):
        return saved(connection, account)
    return None


def save(connection: Connection, account: str, ledger: Ledger) -> bool:
    """Save a ledger as the account's snapshot, unless there is a later one; return whether."""
    content = to_bytes(ledger)
    return snapshots.save(connection, account, seq=ledger.seq, version=VERSION, content=content)


def saved(connection: Connection, account: str) -> Ledger | None:
    """Return the ledger in an account's snapshot; None where there is none of this version."""
    snapshot = snapshots.get(connection, account, VERSION)
    if snapshot is None:
        return None
    ledger = from_bytes(snapshot.content)
    end = events.end(connection, account).seq
    if not ledger.seq == snapshot.seq <= end:
        msg = (
            f"a snapshot must be of event {snapshot.seq}, in a log of {end}, "
            f"got one of {ledger.seq}"
        )
        raise InvalidInputError(msg)
    return ledger


# ── Rebuilding and checking ──────────────────────────────────────────────────────────────


class Progress(Protocol):
    """A caller that wants to know how far the work is."""

    def __call__(self, done: int, total: int | None, /) -> None:
        """Take note that `done` of `total` events are done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """The outcome of a rebuild."""

    events: int  # in all logs
    digests: Mapping[str, str]  # of each listener's ledger, by account, in the order of the ids

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self.digests)

    @property
    def digest(self) -> str:
        """A hexadecimal SHA-256 over all listeners: equal logs, equal digests."""
        lines = (f"{account} {digest}\n" for account, digest in self.digests.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def rebuild(store: Store, *, catalogue: bool = False, progress: Progress | None = None) -> Rebuilt:
    """Drop all snapshots, fold every log from its first event, and save new snapshots.

    With `catalogue`, the matrix of all songs' features is rebuilt too. The log is only read, so
    an interruption loses nothing: where a snapshot is missing, the log is folded.
    """
    with store.writing() as connection:
        snapshots.delete_all(connection)
        listeners = sorted(account.id for account in accounts.all_accounts(connection))
        total = sum(events.end(connection, account).seq for account in listeners)
    digests, done = dict[str, str](), 0

    def report(count: int) -> None:
        if progress is not None:
            # Listeners may go on while their logs are read.
            progress(done + count, max(total, done + count))

    for account in listeners:
        ledger = _rebuilt(store, account, report)
        digests[account] = ledger.digest()
        report(ledger.seq)
        done += ledger.seq
    if catalogue:
        _rebuild_catalogue(store)
    return Rebuilt(events=done, digests=digests)


def check(store: Store) -> list[str]:
    """Return the problems of all snapshots, in sentences.

    A snapshot and the events after it must say the same as the whole log.
    """
    with store.reading(limit=None) as connection:
        listeners = sorted(account.id for account in accounts.all_accounts(connection))
    problems = []
    for account in listeners:
        with store.reading(limit=None) as connection:
            problem = _problem(connection, account)
        if problem is not None:
            problems.append(f"account {account}: {problem}")
    return problems


def _rebuild_catalogue(store: Store) -> None:
    """Rebuild the matrix with the projection that is stored; without one there is none."""
    matrix.discard(store.location.data_folder)
    columns.discard(store.location.data_folder)
    with store.reading() as connection:
        stored = projections.latest(connection)
    if stored is not None:
        current(store)


def _rebuilt(store: Store, account: str, report: Callable[[int], None]) -> Ledger:
    """Fold an account's whole log and save it as its snapshot."""
    # Read apart from the write: to fold a long log takes a while, and others want to write.
    with store.reading(limit=None) as connection:
        ledger = _folded(connection, account, report)
    with store.writing() as connection:
        save(connection, account, ledger)
    return ledger


def _folded(
    connection: Connection, account: str, report: Callable[[int], None] = lambda _: None
) -> Ledger:
    try:
        log = _reported(events.after(connection, account), report)
        return fold(log, partial(imports.segment, connection, account))
    except InvalidInputError as problem:
        msg = f"the log of account {account} must be whole, see `bandstand verify`: {problem}"
        raise StoreError(msg) from problem


def _reported(log: Iterable[Event], report: Callable[[int], None]) -> Iterator[Event]:
    """Yield the events of a log, and report their number now and then."""
    for event in log:
        if event.seq % _REPORT_EVERY == 0:
            report(event.seq)
        yield event


def _problem(connection: Connection, account: str) -> str | None:
    """Return the problem of an account's snapshot."""
    advice = "`bandstand rebuild` makes it again"
    try:
        snapshot = saved(connection, account)
        if snapshot is None:
            return None
        whole = _folded(connection, account)
        extended = catch_up(connection, account, snapshot)
    except InvalidInputError as problem:
        return f"its snapshot cannot be used, {advice}: {problem}"
    except StoreError as problem:
        return str(problem)
    if extended.digest() != whole.digest():
        return f"its snapshot of event {snapshot.seq} must say what the log says, {advice}"
    return None
