"""Whether the studies of a store are whole.

At most one is open, what was agreed can be read, only who has joined has arms, songs are played
only in arms that were begun, and in each arm they are 1, 2, 3, … without a gap, all rated but the
last one perhaps.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, func, select

from bandstand.store.schema import STUDY, STUDY_ARM, STUDY_PARTICIPANT, STUDY_SONG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Table

# What SQLite must have in the columns of a study; it would take anything else as well.
_TYPES: Final[dict[Table, dict[str, tuple[str, ...]]]] = {
    STUDY: {"text": ("id", "title", "design"), "blob": ("catalogue",)},
    STUDY_PARTICIPANT: {"text": ("study_id", "account_id")},
    STUDY_ARM: {"text": ("id", "study_id", "account_id", "algorithm")},
    STUDY_SONG: {"text": ("arm_id", "song_id")},
}


def study_type_problems(connection: Connection) -> Iterator[str]:
    """Yield which tables of studies hold something of another kind than they should, in SQLite."""
    for table, kinds in _TYPES.items():
        kind_of = {name: kind for kind, names in kinds.items() for name in names}
        wrong = " OR ".join(
            f"typeof({column.name}) NOT IN ('{kind_of.get(column.name, 'integer')}', 'null')"
            for column in table.columns
        )
        statement = f"SELECT count(*) FROM {table.name} WHERE {wrong}"  # noqa: S608
        number = connection.exec_driver_sql(statement).scalar_one()
        if number:
            yield f"{number:,} rows of {table.name} hold something of another kind than they should"


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
        try:
            is_fine = isinstance(json.loads(row.design), dict)
        except (TypeError, ValueError):
            is_fine = False
        if not is_fine:
            yield f"study {row.id}: what was agreed cannot be read"


def _arms_too_early(connection: Connection) -> Iterator[str]:
    owner = and_(
        STUDY_PARTICIPANT.c.study_id == STUDY_ARM.c.study_id,
        STUDY_PARTICIPANT.c.account_id == STUDY_ARM.c.account_id,
    )
    owned = select(STUDY_ARM.c.id).join(STUDY_PARTICIPANT, owner)
    for arm in connection.scalars(owned.where(STUDY_PARTICIPANT.c.joined_at.is_(None))):
        yield f"arm {arm} is of somebody who has not joined its study"
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
