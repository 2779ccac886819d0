"""What the radio answers: the song to play now and why, or how a song stands with a listener."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bandstand.radio.reasons.why import Why
    from bandstand.store.songs import SongRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A song that is to be played."""

    song: SongRecord
    why: Why
    how: str  # "model", "random" or "wish"
    note: str | None  # why it was drawn at random, where it was
    step: int  # the number of this recommendation, counted from 1
    seq: int  # the last event of the listener's log that it takes into account
    at: int  # when it begins, if all songs before it are played: UTC, in milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SongView:
    """How a song stands with a listener now; what is not known is None."""

    song: SongRecord
    expected: float | None  # stars
    standard_deviation: float | None  # of what is believed, in stars
    novelty: float | None  # from 0, just heard, to 1, quite fresh
    heard_at: int | None  # UTC, in milliseconds
    seq: int  # the last event of the listener's log that this takes into account
