"""Appends an event to its account's log.

One statement reads nearly everything: the end of the log, an event with the same key, when the
song was last heard. Two write. This is the busiest code of a server, so the statements go straight
to the driver: SQLAlchemy costs 40 µs a statement, SQLite itself 2. Errors become the same as
everywhere else.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError

from bandstand.errors import ConflictError, InvalidInputError, KeyReusedError, NotFoundError
from bandstand.store.database.schema import MAX_INTEGER, checked_integer
from bandstand.store.events.values import (
    DIGESTED,
    HEARD,
    TEN_YEARS_MS,
    Event,
    Kind,
    LogEnd,
    NewEvent,
    digest_of,
    since_heard_ms,
)

_PARAMETER_IN: Final = {"sqlite": r":\1", "postgresql": r"%(\1)s"}


def statement_for(database: str, statement: str) -> str:
    """Return a statement with its {parameters} as the driver of a database wants them.

    >>> statement_for("postgresql", "SELECT {seq}")
    'SELECT %(seq)s'
    """
    return re.sub(r"{(\w+)}", _PARAMETER_IN[database], statement)


@contextmanager
def cursor_of(connection: Connection) -> Iterator[DBAPICursor]:
    """Give the driver's cursor of a connection that is in a transaction."""
    dbapi = connection.dialect.loaded_dbapi
    driver = connection.connection
    cursor = driver.cursor()
    try:
        yield cursor
    except dbapi.Error as problem:
        lost = connection.dialect.is_disconnect(problem, driver, cursor)
        raise DBAPIError(None, None, problem, connection_invalidated=lost) from problem
    finally:
        cursor.close()


_COLUMN_OF: Final = {"account": "account_id", "song": "song_id"}
_NAMES: Final = (*DIGESTED, "digest")
# What must be the same in an event that comes again; the end of a snooze is looked at apart.
_REPEATED: Final = ("kind", "song", "stars", "played_ms", "scope", "target", "retracts")
_COLUMNS: Final = tuple(_COLUMN_OF.get(name, name) for name in _NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """An event that is in the log, and whether it was not there before."""

    event: Event
    is_new: bool


class _Before(NamedTuple):
    """What an event before says of hearing a song."""

    kind: Kind
    song: str | None
    at: int
    since_heard_ms: int | None


# What was heard has a song, and nothing else has one: a condition of the table. So the index of
# songs knows by itself when one was heard last; asked for more, SQLite walks the log instead.
_STANDS: Final = """
    NOT EXISTS (SELECT 1 FROM event AS r WHERE r.account_id = e.account_id AND r.retracts = e.seq)
"""
_FIND: Final = f"""
    SELECT l.seq, l.at, l.digest,
        EXISTS (SELECT 1 FROM song WHERE id = {{song}}),
        heard.at, last.kind, last.song_id, last.at, last.since_heard_ms,
        {", ".join(f"same.{column}" for column in _COLUMNS)}
    FROM log_end AS l
    LEFT JOIN event AS same ON same.account_id = l.account_id AND same.key = {{key}}
    LEFT JOIN event AS last ON last.account_id = l.account_id AND last.seq = l.seq
    LEFT JOIN event AS heard ON heard.account_id = l.account_id AND heard.seq = (
        SELECT e.seq FROM event AS e
        WHERE e.account_id = {{account}} AND e.song_id = {{song}} AND {_STANDS}
        ORDER BY e.seq DESC LIMIT 1
    )
    WHERE l.account_id = {{account}}
"""  # noqa: S608
_HEARD_LAST: Final = f"""
    SELECT e.kind, e.song_id, e.at, e.since_heard_ms FROM event AS e
    WHERE e.account_id = {{account}} AND e.song_id IS NOT NULL AND {_STANDS}
    ORDER BY e.seq DESC LIMIT 1
"""  # noqa: S608
_INSERT: Final = f"""
    INSERT INTO event ({", ".join(_COLUMNS)})
    VALUES ({", ".join(f"{{{name}}}" for name in _NAMES)})
"""  # noqa: S608
_MOVE_END: Final = """
    UPDATE log_end SET seq = {seq}, at = {at}, digest = {digest} WHERE account_id = {account}
"""
_TO_TAKE_BACK: Final = """
    SELECT kind, EXISTS (SELECT 1 FROM event WHERE account_id = {account} AND retracts = {retracts})
    FROM event WHERE account_id = {account} AND seq = {retracts}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statements:
    find: str
    heard_last: str
    add: tuple[str, ...]
    to_take_back: str


def _statements(database: str) -> _Statements:
    find, add = _FIND, [_INSERT, _MOVE_END]
    if database == "postgresql":
        # The lock that SQLite's writer has anyway; and one round trip instead of two.
        find, add = f"{_FIND} FOR UPDATE OF l", [f"WITH added AS ({_INSERT}) {_MOVE_END}"]
    return _Statements(
        find=statement_for(database, find),
        heard_last=statement_for(database, _HEARD_LAST),
        add=tuple(statement_for(database, one) for one in add),
        to_take_back=statement_for(database, _TO_TAKE_BACK),
    )


_STATEMENTS: Final = {database: _statements(database) for database in _PARAMETER_IN}


class _Found(NamedTuple):
    """What is there when an event comes."""

    end: LogEnd
    has_song: bool
    song_heard_at: int | None
    last: _Before | None  # the last event, whatever it is
    same: Event | None  # the event with the same key


def append(connection: Connection, new: NewEvent, *, now: int) -> Appended:
    """Return `new` as the last event of its account's log, or as it was when it came before.

    It belongs to the caller's transaction. Raises KeyReusedError where its key was another
    event's, NotFoundError where there is no such account, song or event to take back, and
    ConflictError where that event cannot be taken back.
    """
    checked_integer(now, "now", least=0, most=MAX_INTEGER - 2 * TEN_YEARS_MS)
    statements = _STATEMENTS[connection.dialect.name]
    with cursor_of(connection) as cursor:
        found = _find(cursor, statements, new)
        if found.same is not None:
            return Appended(event=_checked_same(found.same, new), is_new=False)
        _check(cursor, statements, new, found, now)
        values = _values(new, found, _before(cursor, statements, new, found), now)
        for statement in statements.add:
            cursor.execute(statement, values)
    return Appended(event=Event(**values), is_new=True)


def _find(cursor: DBAPICursor, statements: _Statements, new: NewEvent) -> _Found:
    song = new.target if new.scope == "song" else new.song
    sought = {"account": new.account, "key": new.key, "song": song}
    cursor.execute(statements.find, sought)
    row = cursor.fetchone()
    if row is not None and row[0] > 0 and row[5] is None:
        # PostgreSQL shows the end of the log as it is once it is ours, and all else as it was
        # when we began to wait for it. From now on no other connection appends.
        cursor.execute(statements.find, sought)
        row = cursor.fetchone()
    if row is None:
        msg = f"account must be one of this store, got {new.account}"
        raise NotFoundError(msg)
    return _Found(
        end=LogEnd(seq=row[0], at=row[1], digest=row[2]),
        has_song=bool(row[3]),
        song_heard_at=row[4],
        last=None if row[5] is None else _Before(*row[5:9]),
        same=None if row[9] is None else Event(**dict(zip(_NAMES, row[9:], strict=True))),
    )


def _before(
    cursor: DBAPICursor, statements: _Statements, new: NewEvent, found: _Found
) -> _Before | None:
    """Return what was heard last of all songs, if the new event is of hearing one."""
    if new.kind not in HEARD or found.last is None:
        return None
    # Most often it is the last event of all, which cannot have been taken back yet.
    if found.last.kind in HEARD:
        return found.last
    cursor.execute(statements.heard_last, {"account": new.account})
    row = cursor.fetchone()
    return None if row is None else _Before(*row)


def _checked_same(old: Event, new: NewEvent) -> Event:
    """Return the event that has the key of `new` already, if it says the same."""
    until = new.until if new.for_ms is None else old.at + new.for_ms
    if until != old.until or any(getattr(old, name) != getattr(new, name) for name in _REPEATED):
        msg = f"key must be a new one for another event, got that of event {old.seq}"
        raise KeyReusedError(msg)
    return old


def _check(
    cursor: DBAPICursor, statements: _Statements, new: NewEvent, found: _Found, now: int
) -> None:
    """Refuse an event that does not fit the store."""
    if (new.song is not None or new.scope == "song") and not found.has_song:
        msg = f"song must be one of this store, got {new.song or new.target}"
        raise NotFoundError(msg)
    if new.until is not None and not now < new.until <= now + TEN_YEARS_MS:
        msg = f"until must be after {now} and at most ten years later, got {new.until}"
        raise InvalidInputError(msg)
    if new.retracts is not None:
        sought = {"account": new.account, "retracts": new.retracts}
        cursor.execute(statements.to_take_back, sought)
        _check_taking_back(new.retracts, cursor.fetchone())


def _check_taking_back(seq: int, row: Sequence[Any] | None) -> None:
    if row is None:
        msg = f"retracts must be the number of an event of this account, got {seq}"
        raise NotFoundError(msg)
    kind, is_taken_back = row
    if kind == "retract":
        msg = f"retracts must be an event that is not a retract itself, got event {seq}"
        raise ConflictError(msg)
    if is_taken_back:
        msg = f"event {seq} was taken back already; only one that counts can be"
        raise ConflictError(msg)


def _values(new: NewEvent, found: _Found, before: _Before | None, now: int) -> dict[str, Any]:
    """Return what the new event says, by name."""
    # An event that was on its way for long keeps its time, unless others were quicker.
    at = max(now - new.age_ms, found.end.at)
    since = None
    if new.kind in HEARD and new.song is not None:
        since = since_heard_ms(
            before,
            found.song_heard_at,
            kind=new.kind,
            song=new.song,
            at=at,
            played_ms=new.played_ms,
        )
    values = {
        "account": new.account,
        "seq": found.end.seq + 1,
        "key": new.key,
        "at": at,
        "kind": new.kind,
        "song": new.song,
        "stars": new.stars,
        "played_ms": new.played_ms,
        "since_heard_ms": since,
        "scope": new.scope,
        "target": new.target,
        "until": new.until if new.for_ms is None else at + new.for_ms,
        "retracts": new.retracts,
    }
    values["digest"] = digest_of(found.end.digest, tuple(values[name] for name in DIGESTED))
    return values
