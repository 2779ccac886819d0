"""What is known of a study: who takes part, in which arms, and what was offered and rated there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

LONGEST_TITLE: Final = 200
LONGEST_ALGORITHM: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRow:
    """A study: what was agreed, and the songs as they were when it was opened."""

    id: str
    title: str
    design: dict[str, Any]
    catalogue: bytes  # its meaning is its writer's business
    created_at: int  # UTC, in milliseconds, as all times
    closed_at: int | None  # None while it is open


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipantRow:
    """Somebody who takes part, or is invited to."""

    study: str
    account: str
    number: int  # 1, 2, 3, …: which order of the algorithms is theirs
    made_for_study: bool  # the account goes when they withdraw
    invited_at: int
    joined_at: int | None  # when they agreed; None until then


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArm:
    """One algorithm that somebody who joins will hear, and at which place."""

    place: int  # 1, 2, 3, … in the participant's own order
    algorithm: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRow:
    """The song of an arm that was offered and is not rated yet."""

    number: int
    song: str
    offered_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRow:
    """One arm of a participant, and how far it has come."""

    id: str
    study: str
    account: str
    place: int
    algorithm: str
    seed: int
    begun_at: int | None
    rated: int  # how many songs
    last_rated_at: int | None
    pending: PendingRow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SongRow:
    """One song of an arm; what its rating says is None until it is rated."""

    number: int  # 1, 2, 3, … in its arm
    song: str
    offered_at: int
    choose_ms: int  # how long the choice took
    stars: int | None
    known: bool | None  # "I know this song"
    played_ms: int | None  # None also where the page did not say
    rated_at: int | None
