"""Whether a store is whole: what the database itself says, every account's log, the studies.

A log is a chain of digests, so that one changed byte in any event shows, and so does an event
that is missing, doubled or cut off at the end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from bandstand.errors import BandstandError
from bandstand.store import events
from bandstand.store.row_copy import count_rows
from bandstand.store.schema import ACCOUNT, EVENT, LOG_END
from bandstand.store.verify_studies import study_problems, study_type_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Connection

    from bandstand.store.connection import Store

# What SQLite must have in the columns of a log; it would take anything else as well.
_TYPES: Final = {
    "account_id": "text",
    "seq": "integer",
    "key": "text",
    "at": "integer",
    "kind": "text",
    "song_id": "text",
    "stars": "integer",
    "played_ms": "integer",
    "since_heard_ms": "integer",
    "scope": "text",
    "target": "text",
    "until": "integer",
    "retracts": "integer",
    "digest": "blob",
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
            checks = [_damage, _foreign_keys, _types, study_type_problems, *checks]
        problems = [problem for check in checks for problem in _answers(check, connection)]
        counts: dict[str, int] = {}
        problems += _answers(lambda it: counts.update(count_rows(it)) or (), connection)
    return Report(problems=tuple(dict.fromkeys(problems)), counts=counts)


def _answers(check: Callable[[Connection], Iterable[str]], connection: Connection) -> list[str]:
    """Return what a check says; that it cannot read what it looks at is an answer too."""
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
    wrong = " OR ".join(
        f"typeof({name}) NOT IN ('{kind}', 'null')" for name, kind in _TYPES.items()
    )
    statement = f"SELECT count(*) FROM event WHERE {wrong}"  # noqa: S608
    number = connection.exec_driver_sql(statement).scalar_one()
    if number:
        yield f"{number:,} events hold something of another kind than they should"


def _logs(connection: Connection) -> Iterable[str]:
    """Check the log of everybody who has one, account or not."""
    owners = set(connection.scalars(select(ACCOUNT.c.id)))
    owners |= set(connection.scalars(select(EVENT.c.account_id).distinct()))
    for owner in sorted(owners, key=str):
        yield from _answers(partial(events.check_chain, account=owner), connection)


def _loose_ends(connection: Connection) -> Iterable[str]:
    owners = set(connection.scalars(select(ACCOUNT.c.id)))
    for owner in connection.scalars(select(LOG_END.c.account_id)):
        if owner not in owners:
            yield f"account {owner}: the end of a log is there, and no account"


def _settings(connection: Connection) -> Iterable[str]:
    for row in connection.execute(select(ACCOUNT.c.id, ACCOUNT.c.settings)):
        try:
            is_fine = isinstance(json.loads(row.settings), dict)
        except (TypeError, ValueError):
            is_fine = False
        if not is_fine:
            yield f"account {row.id}: its settings cannot be read"
