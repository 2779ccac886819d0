"""Checks that a store is whole: the database itself, every account's log, the studies.

A log is a chain of digests, so that one changed byte in any event shows, and so does an event
that is missing, doubled or cut off at the end; what was imported fits the digest in its event. Of
studies at most one is open, each design can be read, only participants who have joined have arms,
only arms that were begun have songs, and these are numbered without a gap and all rated, except
perhaps the last.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import BigInteger, Boolean, Connection, LargeBinary, Text, and_, func, select
from sqlalchemy.exc import SQLAlchemyError

from bandstand.errors import BandstandError
from bandstand.store.database.connection import Store
from bandstand.store.database.schema import (
    ACCOUNT,
    APP_PASSWORD,
    EVENT,
    IMPORT,
    LOG_END,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
    KeyText,
)
from bandstand.store.events import events, imports
from bandstand.store.transfer.backup import count_rows

# SQLite would take a value of any kind in these columns.
_CHECKED_TABLES: Final = (
    APP_PASSWORD,
    EVENT,
    IMPORT,
    STUDY,
    STUDY_PARTICIPANT,
    STUDY_ARM,
    STUDY_SONG,
)
_SQLITE_KIND: Final[dict[type, str]] = {
    BigInteger: "integer",
    Boolean: "integer",
    Text: "text",
    KeyText: "text",
    LargeBinary: "blob",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What is wrong with a store, in sentences, and how many rows of each kind it has."""

    problems: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(store: Store) -> Report:
    """Return what is wrong with a store, which others may go on using meanwhile."""
    with store.reading(limit=None) as connection:
        checks: list[Callable[[Connection], Iterable[str]]] = [_logs, _loose_ends, _settings]
        checks.append(study_problems)
        if connection.dialect.name == "sqlite":
            checks = [_damage, _foreign_keys, _types, *checks]
        problems = [problem for check in checks for problem in _answers(check, connection)]
        counts: dict[str, int] = {}
        problems += _answers(lambda it: counts.update(count_rows(it)) or (), connection)
    return Report(problems=tuple(dict.fromkeys(problems)), counts=counts)


def _answers(check: Callable[[Connection], Iterable[str]], connection: Connection) -> list[str]:
    """Run a check and collect its findings; a read error counts as a finding."""
    found: list[str] = []
    try:
        for problem in check(connection):
            found.append(" ".join(problem.split()))  # noqa: PERF401  # kept also if it then fails
    except (SQLAlchemyError, BandstandError, ValueError, TypeError, AttributeError) as problem:
        cause = getattr(problem, "orig", None) or problem
        found.append(f"a part of the store cannot be read: {' '.join(str(cause).split())}")
    return found


def _damage(connection: Connection) -> Iterable[str]:
    for (text,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if text != "ok":
            yield f"SQLite finds damage: {text}"


def _foreign_keys(connection: Connection) -> Iterable[str]:
    for table, _row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"a row of {table} refers to a {parent} that is not there"


def _types(connection: Connection) -> Iterable[str]:
    for table in _CHECKED_TABLES:
        wrong = " OR ".join(
            f"typeof({column.name}) NOT IN ('{_SQLITE_KIND[type(column.type)]}', 'null')"
            for column in table.columns
        )
        statement = f"SELECT count(*) FROM {table.name} WHERE {wrong}"  # noqa: S608
        number = connection.exec_driver_sql(statement).scalar_one()
        if number:
            yield f"{number:,} rows of {table.name} hold something of another kind than they should"


def _logs(connection: Connection) -> Iterable[str]:
    """Check every log, also one without an account."""
    owners = set(connection.scalars(select(ACCOUNT.c.id)))
    owners |= set(connection.scalars(select(EVENT.c.account_id).distinct()))
    for owner in sorted(owners, key=str):
        yield from _answers(partial(events.check_chain, account=owner), connection)
        yield from _answers(partial(imports.problems, account=owner), connection)


def _loose_ends(connection: Connection) -> Iterable[str]:
    owners = set(connection.scalars(select(ACCOUNT.c.id)))
    for owner in connection.scalars(select(LOG_END.c.account_id)):
        if owner not in owners:
            yield f"account {owner}: the end of a log is there, and no account"


def _settings(connection: Connection) -> Iterable[str]:
    for row in connection.execute(select(ACCOUNT.c.id, ACCOUNT.c.settings)):
        if not _is_json_object(row.settings):
            yield f"account {row.id}: its settings cannot be read"


def study_problems(connection: Connection) -> Iterator[str]:
    """Yield what is wrong with the studies of a store, in sentences."""
    yield from _open_ones(connection)
    yield from _designs(connection)
    yield from _arms_too_early(connection)
    yield from _numbers(connection)


def _open_ones(connection: Connection) -> Iterator[str]:
    is_open = STUDY.c.closed_at.is_(None)
    count = connection.scalar(select(func.count()).select_from(STUDY).where(is_open)) or 0
    if count > 1:
        yield f"at most one study can be open, got {count}"


def _designs(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(STUDY.c.id, STUDY.c.design)):
        if not _is_json_object(row.design):
            yield f"study {row.id}: what was agreed cannot be read"


def _arms_too_early(connection: Connection) -> Iterator[str]:
    owner = and_(
        STUDY_PARTICIPANT.c.study_id == STUDY_ARM.c.study_id,
        STUDY_PARTICIPANT.c.account_id == STUDY_ARM.c.account_id,
    )
    owned = select(STUDY_ARM.c.id).join(STUDY_PARTICIPANT, owner)
    for arm in connection.scalars(owned.where(STUDY_PARTICIPANT.c.joined_at.is_(None))):
        yield f"arm {arm} is of a participant who has not joined its study"
    played = select(STUDY_ARM.c.id).join(STUDY_SONG, STUDY_SONG.c.arm_id == STUDY_ARM.c.id)
    for arm in connection.scalars(played.where(STUDY_ARM.c.begun_at.is_(None)).distinct()):
        yield f"arm {arm} has songs and was not begun"


def _numbers(connection: Connection) -> Iterator[str]:
    is_rated = STUDY_SONG.c.stars.is_not(None)
    counted = select(
        STUDY_SONG.c.arm_id,
        func.count().label("songs"),
        func.count(STUDY_SONG.c.stars).label("rated"),
        func.max(STUDY_SONG.c.number).label("last"),
        func.max(STUDY_SONG.c.number).filter(is_rated).label("last_rated"),
    ).group_by(STUDY_SONG.c.arm_id)
    for row in connection.execute(counted):
        if row.last != row.songs:
            yield f"arm {row.arm_id} must have the songs 1 to {row.last}, got {row.songs} of them"
        elif (row.last_rated or 0) != row.rated or row.songs - row.rated > 1:
            yield f"arm {row.arm_id} must have all songs but its last rated, got another unrated"


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False
