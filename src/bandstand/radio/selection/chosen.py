"""A song that was chosen, and all that its choice was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from bandstand.core.model.history import Songs
    from bandstand.core.model.prediction import Prediction

How: TypeAlias = Literal["model", "random", "wish"]

LIBRARY_NOT_ANALYSED: Final = "the library is still being analysed: this song is drawn at random"
SONGS_NOT_ANALYSED: Final = (
    "none of the songs that may be played is analysed yet: this song is drawn at random"
)
FIRST_SONG: Final = "the first song is drawn at random"
NOTHING_LEARNT: Final = "nothing is known of the listener yet: this song is drawn at random"
DRAWN: Final = "the algorithm draws this song at random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A song to play."""

    row: int  # on the shelf
    song: str
    at: int  # when it begins: UTC, in milliseconds
    minutes_from_now: float
    step: int  # its number among all songs of this listener, from 1
    how: How
    note: str  # what else is to be said of the choice, in words: why it was drawn at random
    situation: Songs | None  # the one song as the model saw it; None if it has no features
    minutes_since_heard: float | None  # without a limit; None if it never was
    prediction: Prediction | None = None  # of the one song; None if nothing is learnt yet
    level: float | None = None  # of the quantile that decided, if one did
    score: float | None = None  # the policy's own; None if the song was drawn at random
    better: float | None = None  # share of the songs it was chosen from that promise more


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """What is believed of one song now; None is what is not known."""

    expected: float | None = None  # stars
    standard_deviation: float | None = None  # of what is believed, in stars
    novelty: float | None = None  # from 0, just heard, to 1
