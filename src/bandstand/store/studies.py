"""Studies: people compare algorithms on the same songs, without knowing which one plays.

    study         what was agreed, and the songs as they were at its opening; at most one is open
    participant   an account that takes part, or is invited to
    arm           one algorithm for one participant, at one place of their order
    song          what was offered in an arm, and then rated: 1, 2, 3, … without a gap

A participant's changes come one after the other, whichever process makes them. What does not go
with what is there raises ConflictError and changes nothing, so that whoever was second can read
what the first did.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import insert, select, text, update

from bandstand.errors import ConflictError, InvalidInputError
from bandstand.store.database.schema import STUDY
from bandstand.store.events.values import checked_short_text
from bandstand.store.songs.songs import is_storable
from bandstand.store.study_arms import (
    arm_by_id,
    arms,
    begin,
    offer,
    offer_instead,
    rate,
    rows,
    songs_of,
)
from bandstand.store.study_participants import (
    claim,
    free_number,
    invite,
    join,
    of_account,
    participant,
    participants,
    withdraw,
)
from bandstand.store.study_reading import get, no_study, study_of
from bandstand.store.study_values import (
    LONGEST_TITLE,
    ArmRow,
    NewArm,
    ParticipantRow,
    PendingRow,
    SongRow,
    StudyRow,
)
from bandstand.store.values import checked_integer, checked_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

__all__ = [
    "ArmRow",
    "NewArm",
    "ParticipantRow",
    "PendingRow",
    "SongRow",
    "StudyRow",
    "all_studies",
    "arm_by_id",
    "arms",
    "begin",
    "by_title",
    "claim",
    "close",
    "create",
    "free_number",
    "get",
    "invite",
    "join",
    "of_account",
    "offer",
    "offer_instead",
    "open_id",
    "opened",
    "participant",
    "participants",
    "rate",
    "rows",
    "songs_of",
    "withdraw",
]

_LONGEST_DESIGN: Final = 1_000_000  # characters
_IS_OPEN: Final = STUDY.c.closed_at.is_(None)


def create(
    connection: Connection,
    *,
    title: str,
    design: Mapping[str, Any],
    catalogue: bytes,
    now: int,
) -> StudyRow:
    """Return a new study, which is open; ConflictError if one is, or the title is taken.

    What `design` and `catalogue` mean is their writer's business; neither is changed again.
    """
    study = StudyRow(
        id=secrets.token_hex(8),
        title=checked_title(title),
        design=json.loads(design_to_text(design)),
        catalogue=checked_catalogue(catalogue),
        created_at=checked_integer(now, "now"),
        closed_at=None,
    )
    _claim_studies(connection)
    other = connection.scalar(select(STUDY.c.title).where(_IS_OPEN))
    if other is not None:
        msg = f"at most one study can be open, got another: {other!r} is"
        raise ConflictError(msg)
    if by_title(connection, title) is not None:
        msg = f"a title that no study has was expected, got {title!r}, which is taken"
        raise ConflictError(msg)
    insert_row(connection, study)
    return study


def insert_row(connection: Connection, study: StudyRow) -> None:
    """Put a study in as it is."""
    row = {
        "id": study.id,
        "title": study.title,
        "design": design_to_text(study.design),
        "catalogue": study.catalogue,
        "created_at": study.created_at,
        "closed_at": study.closed_at,
    }
    connection.execute(insert(STUDY).values(row))


def open_id(connection: Connection) -> str | None:
    """Return the id of the study that is open; None if none is.

    Quick, unlike `opened`: the catalogue, which may be large, is not read. But for `closed_at` a
    study never changes, so whoever has it once need not read it again.
    """
    return connection.scalar(select(STUDY.c.id).where(_IS_OPEN))


def opened(connection: Connection) -> StudyRow | None:
    """Return the study that is open, with its catalogue; None if none is."""
    row = connection.execute(select(STUDY).where(_IS_OPEN)).mappings().one_or_none()
    return None if row is None else study_of(row)


def by_title(connection: Connection, title: str) -> StudyRow | None:
    """Return the study with a title, open or closed; None where there is none."""
    if not is_storable(title):
        return None
    row = connection.execute(select(STUDY).where(STUDY.c.title == title)).mappings().one_or_none()
    return None if row is None else study_of(row)


def all_studies(connection: Connection) -> list[StudyRow]:
    """Return all studies, in the order in which they were opened."""
    rows = connection.execute(select(STUDY).order_by(STUDY.c.created_at, STUDY.c.id)).mappings()
    return [study_of(row) for row in rows]


def close(connection: Connection, study: str, now: int) -> None:
    """End a study: nobody joins, listens or rates any more; one that is closed stays as it is."""
    is_it = STUDY.c.id == checked_text(study, "study")
    # Stronger than the change itself asks for: it waits for whoever has a claim in the study.
    connection.execute(select(STUDY.c.id).where(is_it).with_for_update()).all()
    closing = update(STUDY).where(is_it, _IS_OPEN).values(closed_at=checked_integer(now, "now"))
    if connection.execute(closing).rowcount == 0 and get(connection, study) is None:
        raise no_study()


def checked_title(title: Any) -> str:
    """Return the title of a study, if it can be one."""
    clean = checked_short_text(title, "a study's title", most=LONGEST_TITLE)
    if clean != clean.strip() or not clean.isprintable():
        msg = f"a study's title must fit on one line, without spaces around it, got {clean[:80]!r}"
        raise InvalidInputError(msg)
    return clean


def checked_catalogue(content: Any) -> bytes:
    """Return the songs of a study, if they can be some."""
    if not isinstance(content, bytes):
        msg = f"catalogue must be bytes, got {type(content).__name__}"
        raise InvalidInputError(msg)
    return content


def design_to_text(design: Mapping[str, Any]) -> str:
    """Return what was agreed as one line of JSON, the same for the same design.

    >>> design_to_text({"rest_after": 20, "algorithms": ["random", "greedy-cn"]})
    '{"algorithms":["random","greedy-cn"],"rest_after":20}'
    """
    try:
        content = json.dumps(
            dict(design), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
        )
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"a design must be JSON, got something else: {problem}"
        raise InvalidInputError(msg) from problem
    if len(content) > _LONGEST_DESIGN:
        msg = f"a design must have at most {_LONGEST_DESIGN:,} characters, got {len(content):,}"
        raise InvalidInputError(msg)
    return checked_text(content, "design")


def _claim_studies(connection: Connection) -> None:
    """Wait until no other transaction opens a study; on SQLite nobody else writes anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE study IN SHARE ROW EXCLUSIVE MODE"))
