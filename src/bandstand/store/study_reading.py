"""Studies as they are read: one by its id, the rows of participants and arms as values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, func, select

from bandstand.errors import ConflictError, NotFoundError
from bandstand.store.database.schema import STUDY, STUDY_ARM, STUDY_SONG
from bandstand.store.songs.songs import is_storable
from bandstand.store.study_values import ArmRow, ParticipantRow, PendingRow, SongRow, StudyRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

_OF_ARM: Final = STUDY_SONG.c.arm_id == STUDY_ARM.c.id
_RATED: Final = select(func.count(STUDY_SONG.c.stars)).where(_OF_ARM).scalar_subquery()
_LAST_RATED_AT: Final = select(func.max(STUDY_SONG.c.rated_at)).where(_OF_ARM).scalar_subquery()
_PENDING: Final = STUDY_SONG.alias("pending")
# All that an `ArmRow` says; to be narrowed, and read by `arm_of`.
ARMS: Final = select(
    STUDY_ARM,
    _RATED.label("rated"),
    _LAST_RATED_AT.label("last_rated_at"),
    _PENDING.c.number.label("pending_number"),
    _PENDING.c.song_id.label("pending_song"),
    _PENDING.c.offered_at.label("pending_offered_at"),
).outerjoin(_PENDING, and_(_PENDING.c.arm_id == STUDY_ARM.c.id, _PENDING.c.stars.is_(None)))


def get(connection: Connection, study: str) -> StudyRow | None:
    """Return the study with an id; None where there is none."""
    if not is_storable(study):
        return None
    row = connection.execute(select(STUDY).where(STUDY.c.id == study)).mappings().one_or_none()
    return None if row is None else study_of(row)


def claim_open(connection: Connection, study: str) -> None:
    """Wait until nobody else joins or closes a study, until this transaction ends.

    Raises NotFoundError where there is no such study, ConflictError for one that is closed.
    """
    row = None
    if is_storable(study):
        wanted = select(STUDY.c.closed_at).where(STUDY.c.id == study)
        row = connection.execute(wanted.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise no_study()
    if row.closed_at is not None:
        raise is_closed()


def no_study() -> NotFoundError:
    """Return what to raise for the id of no study."""
    return NotFoundError("a study that exists was expected, got another id")


def is_closed() -> ConflictError:
    """Return what to raise for a change of a study that has ended."""
    return ConflictError("a study that is open was expected, got one that is closed")


def study_of(row: Mapping[Any, Any]) -> StudyRow:
    """Return the study of a row."""
    return StudyRow(
        id=row["id"],
        title=row["title"],
        design=json.loads(row["design"]),
        catalogue=row["catalogue"],
        created_at=row["created_at"],
        closed_at=row["closed_at"],
    )


def participant_of(row: Mapping[Any, Any]) -> ParticipantRow:
    """Return the participant of a row."""
    return ParticipantRow(
        study=row["study_id"],
        account=row["account_id"],
        number=row["number"],
        made_for_study=row["made_for_study"],
        invited_at=row["invited_at"],
        joined_at=row["joined_at"],
    )


def arm_of(row: Mapping[Any, Any]) -> ArmRow:
    """Return the arm of a row that `ARMS` gave."""
    pending = None
    if row["pending_number"] is not None:
        pending = PendingRow(
            number=row["pending_number"],
            song=row["pending_song"],
            offered_at=row["pending_offered_at"],
        )
    return ArmRow(
        id=row["id"],
        study=row["study_id"],
        account=row["account_id"],
        place=row["place"],
        algorithm=row["algorithm"],
        seed=row["seed"],
        begun_at=row["begun_at"],
        rated=row["rated"],
        last_rated_at=row["last_rated_at"],
        pending=pending,
    )


def song_of(row: Mapping[Any, Any]) -> SongRow:
    """Return the song of a row."""
    return SongRow(
        number=row["number"],
        song=row["song_id"],
        offered_at=row["offered_at"],
        choose_ms=row["choose_ms"],
        stars=row["stars"],
        known=row["known"],
        played_ms=row["played_ms"],
        rated_at=row["rated_at"],
    )
