"""One radio and one listener, song by song: the clock, the randomness, the steps.

Choices are judged by a truth that the radio never sees.
"""

import time
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from bandstand.core.model.priors import require_positive
from bandstand.core.recommender import Recommender
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Indices, Vector, frozen
from bandstand_lab.simulation.listener import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """One song after the other, with a pause after each session of songs.

    The default is the paper's simulation: a song every 50 seconds, and 4 minutes more after
    every 20 songs.

    >>> [Clock().moment(step) for step in (1, 2, 20, 21)]
    [0.0, 50.0, 950.0, 1240.0]
    """

    song_seconds: float = 50.0
    songs_per_session: int = 20
    pause_seconds: float = 240.0

    def __post_init__(self) -> None:
        """Refuse a clock that stands still or goes back."""
        require_positive(song_seconds=self.song_seconds, songs_per_session=self.songs_per_session)
        if not 0 <= self.pause_seconds < float("inf"):
            msg = f"pause_seconds must be finite and not negative, got {self.pause_seconds}"
            raise InvalidInputError(msg)

    def moment(self, step: int) -> float:
        """Return when song number `step`, counted from 1, is chosen: seconds since the first."""
        if step < 1:
            msg = f"step must be at least 1, got {step}"
            raise InvalidInputError(msg)
        before = step - 1
        pauses = before // self.songs_per_session
        return before * self.song_seconds + pauses * self.pause_seconds


PAPER_CLOCK: Final = Clock()
# An everyday listener: 20 songs of 4 minutes, three times a day.
EVERYDAY: Final = Clock(song_seconds=240.0, songs_per_session=20, pause_seconds=24_000.0)


# ── Randomness: one stream for every use, and no stream for two ──────────────────────────
# A stream is named by the experiment's seed, what it is for, and the numbers of the run and the
# step. The radio's own choices are drawn from `default_rng([seed, step, purpose])` (see
# `core.listener_model`), and short lists of numbers can name the same stream there: [7, 1, 0] is
# [7, 1]. Spawn keys are mixed in after a full block of entropy, so that what is named here
# meets neither those streams nor another of its own.


Use: TypeAlias = Literal["songs", "listener", "answer", "radio"]
_USES: Final = ("songs", "listener", "answer", "radio")
# Seeds of radios are drawn below this.
_SEEDS: Final = 2**63


def stream(seed: int, use: Use, *numbers: int) -> np.random.Generator:
    """Return the randomness for one use in one run or step.

    >>> stream(7, "songs", 1).random() == stream(7, "songs", 1).random()
    True
    >>> stream(7, "songs", 1).random() == stream(7, "songs", 1, 0).random()
    False
    """
    if min(seed, *numbers, 0) < 0:
        msg = f"seeds and numbers of runs must not be negative, got {seed} and {numbers}"
        raise InvalidInputError(msg)
    key = (_USES.index(use), *numbers)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def radio_seed(seed: int, run: int) -> int:
    """Return the seed of the radios of one run, the same for every algorithm."""
    return int(stream(seed, "radio", run).integers(_SEEDS))


# ── Steps ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """What one radio played to one listener; each array has one entry per step.

    The best possible rating is that of the best song at this moment for a listener who has heard
    what this radio has played: a radio that wears out the favourites lowers its own bar.
    """

    rows: Indices  # the song that was played
    elapsed: Vector  # minutes since it was heard, at most a month; never heard is a month
    ratings: Vector  # what the listener said
    expected: Vector  # the mean of what the listener would say
    best: Vector  # that of the best song
    choose_seconds: Vector  # processor time of the thread
    learn_seconds: Vector

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def regret(self) -> Vector:
        """R (32) after each step: the sum of all that songs so far fell short of the best."""
        return np.cumsum(self.best - self.expected)

    def as_json(self) -> dict[str, Any]:
        """Return what happened as plain numbers: equal to the last bit for equal seeds."""
        names = ("rows", "elapsed", "ratings", "expected", "best")
        return {name: getattr(self, name).tolist() for name in names}


def follow(
    radio: Recommender,
    listener: Listener,
    *,
    steps: int,
    clock: Clock = PAPER_CLOCK,
    seed: int = 0,
    number: int = 0,
) -> Trace:
    """Return the next `steps` songs; the radio learns each answer before it chooses again.

    The noise of an answer depends on the seed, the listener's `number` and the step alone. So
    different algorithms that are followed with the same three meet the very same listener
    (common random numbers), in any order and in any process.
    """
    if not radio.ids:
        msg = "a radio must have at least one song to be followed, got none"
        raise InvalidInputError(msg)
    row_of = {song: row for row, song in enumerate(radio.ids)}
    played = np.zeros((6, steps))
    rows = np.zeros(steps, dtype=np.intp)
    for place, step in enumerate(range(radio.step, radio.step + steps)):
        moment = clock.moment(step)
        songs = radio.songs(at=moment)
        expected = listener.expected_rating(songs)
        begin = time.thread_time()
        (song,) = radio.recommend(at=moment)
        chosen = time.thread_time()
        row = row_of[song]
        rating = float(listener.rate(songs.take([row]), stream(seed, "answer", number, step))[0])
        rated = time.thread_time()
        radio.update(song, rating=rating, time=moment)
        seconds = (chosen - begin, time.thread_time() - rated)
        rows[place] = row
        elapsed = min(float(songs.elapsed_of([row])[0]), MONTH)  # some algorithms know longer times
        played[:, place] = (elapsed, rating, expected[row], expected.max(), *seconds)
    rows.flags.writeable = False
    names = ("elapsed", "ratings", "expected", "best", "choose_seconds", "learn_seconds")
    return Trace(rows=rows, **dict(zip(names, map(frozen, played), strict=True)))
