"""What participants are answered, and what whoever runs the study sees of them.

Nothing here names an algorithm, a seed, a score or a reason, nor how long a choice took.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bandstand.store.songs.songs import SongRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The rules of the study, as participants are told them."""

    parts: int
    ratings_per_arm: int
    listen_seconds: float
    rest_after: int
    rest_seconds: float
    arms_per_day: int
    gap_hours: float
    answer_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """One part of the study, as its participant sees it."""

    id: str
    place: int  # from 1
    rated: int
    of: int
    state: Literal["ahead", "begun", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A song that is to be heard and rated."""

    arm: str
    number: int  # from 1 within the arm
    song: SongRecord
    offered_at: int
    may_rate_at: int  # if it is not known
    rated: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How somebody stands in the study that is open."""

    title: str
    consent: str
    facts: Facts
    now: int  # the server's time, as all times UTC in milliseconds
    joined: bool
    only: bool  # the account was made for the study
    # "consent" until they agreed; the others as in `study.protocol.Standing`
    state: Literal["consent", "begin", "listen", "rest", "wait", "done"]
    place: int | None
    until: int | None
    why: str | None  # the rule that makes them wait, a code of `RefusedError`
    message: str | None  # the same as a sentence
    arms: tuple[ArmView, ...]
    pending: Shown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Whether somebody is in the study that is open, or was in one if none is."""

    only: bool  # the account was made for a study
    joined: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a participant is; for whoever runs the study."""

    number: int
    joined_at: int | None  # None: invited, has not agreed yet
    arms_done: int
    arms: int
    ratings: int
    last_at: int | None  # when they last began a part or rated a song
