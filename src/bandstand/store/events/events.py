"""The event log: ratings, skips, full listens, bans, snoozes, favourites and retractions.

Each account has a log of its own, numbered 1, 2, 3, … without a gap. It only grows: a
retracted event stays, with a later event that retracts it. Everything else about a listener is
derived from the log.

The same key is the same event, however often it comes; and time never runs backwards in a log,
whatever the clock does, and however late an event comes: it is no earlier than the one before it.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

from sqlalchemy import Connection, Select, select

from bandstand.errors import NotFoundError
from bandstand.store.database.schema import EVENT, LOG_END, checked_id, checked_integer, chunks
from bandstand.store.events.append import Appended, append
from bandstand.store.events.values import (
    HEARD,
    KINDS,
    SCOPES,
    TEN_YEARS_MS,
    Event,
    Kind,
    LogEnd,
    NewEvent,
    Scope,
    problems_of,
)

__all__ = [
    "HEARD",
    "KINDS",
    "SCOPES",
    "TEN_YEARS_MS",
    "Appended",
    "Event",
    "Kind",
    "LogEnd",
    "NewEvent",
    "Scope",
    "after",
    "append",
    "check_chain",
    "end",
    "get",
    "many",
    "page",
    "retracted",
]

MAX_PAGE_EVENTS: Final = 1_000

_NAMES: Final = tuple(Event.__dataclass_fields__)
_COLUMN_OF: Final = {"account": "account_id", "song": "song_id"}
_SELECT: Final = select(*(EVENT.c[_COLUMN_OF.get(name, name)] for name in _NAMES))


def get(connection: Connection, account: str, seq: int) -> Event | None:
    """Return one event of an account's log; None where there is no such number."""
    statement = _of(account).where(EVENT.c.seq == checked_integer(seq, "seq"))
    return next(_events(connection, statement), None)


def after(connection: Connection, account: str, seq: int = 0) -> Iterator[Event]:
    """Yield the events of an account after number `seq`, in order, few in memory at a time."""
    statement = _of(account).order_by(EVENT.c.seq).limit(MAX_PAGE_EVENTS)
    last = checked_integer(seq, "seq")
    while True:
        events = list(_events(connection, statement.where(EVENT.c.seq > last)))
        yield from events
        if len(events) < MAX_PAGE_EVENTS:
            return
        last = events[-1].seq


def page(
    connection: Connection,
    account: str,
    *,
    before: int | None,
    limit: int,
    song: str | None = None,
    kinds: Collection[Kind] = KINDS,
) -> list[Event]:
    """Return the newest events of an account before number `before`, or of all; newest first.

    With `song`, only those that rate, skip or listen to that song; and only those of some kinds.
    """
    checked_integer(limit, "limit", least=1, most=MAX_PAGE_EVENTS)
    statement = _of(account).order_by(EVENT.c.seq.desc()).limit(limit)
    if before is not None:
        statement = statement.where(EVENT.c.seq < checked_integer(before, "before"))
    if song is not None:
        statement = statement.where(EVENT.c.song_id == checked_id(song, "song"))
    if not set(KINDS) <= set(kinds):
        # Without an index: to pass over 100,000 events of other kinds takes some 20 ms.
        statement = statement.where(EVENT.c.kind.in_(sorted(kinds)))
    return list(_events(connection, statement))


def many(connection: Connection, account: str, seqs: Collection[int]) -> dict[int, Event]:
    """Return these events of an account's log by number; numbers of none are left out."""
    found: dict[int, Event] = {}
    for some in chunks(sorted(seqs)):
        statement = _of(account).where(EVENT.c.seq.in_(some))
        found.update((event.seq, event) for event in _events(connection, statement))
    return found


def retracted(connection: Connection, account: str, seqs: Collection[int]) -> frozenset[int]:
    """Return which of these events of an account were taken back by a later one."""
    own = EVENT.c.account_id == checked_id(account, "account")
    taken_back: set[int] = set()
    for some in chunks(sorted(seqs)):
        later = select(EVENT.c.retracts).where(own, EVENT.c.retracts.in_(some))
        taken_back.update(connection.scalars(later))
    return frozenset(taken_back)


def end(connection: Connection, account: str) -> LogEnd:
    """Return where an account's log ends."""
    found = _end(connection, account)
    if found is None:
        msg = f"account must be one of this store, got {account}"
        raise NotFoundError(msg)
    return found


def check_chain(connection: Connection, account: str) -> list[str]:
    """Return what is wrong with an account's log, in sentences; nothing if it is whole."""
    found = _end(connection, account)
    problems = problems_of(after(connection, account), found)
    return [f"account {account}: {problem}" for problem in problems]


def _of(account: str) -> Select[Any]:
    return _SELECT.where(EVENT.c.account_id == checked_id(account, "account"))


def _events(connection: Connection, statement: Select[Any]) -> Iterator[Event]:
    for row in connection.execute(statement):
        yield Event(**dict(zip(_NAMES, row, strict=True)))


def _end(connection: Connection, account: str) -> LogEnd | None:
    statement = select(LOG_END).where(LOG_END.c.account_id == checked_id(account, "account"))
    row = connection.execute(statement).one_or_none()
    return None if row is None else LogEnd(seq=row.seq, at=row.at, digest=row.digest)
