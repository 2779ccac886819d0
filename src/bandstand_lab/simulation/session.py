"""One radio and one listener, song by song, judged by a truth that the radio never sees."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bandstand.errors import InvalidInputError
from bandstand_lab.simulation.clock import PAPER_CLOCK
from bandstand_lab.simulation.streams import stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.recommender import Recommender, Song
    from bandstand_lab.simulation.clock import Clock
    from bandstand_lab.simulation.listener import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One song that was played and rated.

    The best possible rating is that of the best song at this moment for a listener who has heard
    what this radio has played: a radio that wears out the favourites lowers its own bar.
    """

    number: int  # counted from 1
    moment: float  # seconds since the first song
    song: Song
    row: int
    elapsed: float  # minutes since the song was heard, at most a month; never heard is a month
    rating: float
    expected_rating: float
    best_expected_rating: float
    regret: float  # R (32): what all songs so far fell short of the best ones
    # Processor time of this thread; two steps may be equal that took different times.
    choose_seconds: float = field(compare=False)
    learn_seconds: float = field(compare=False)

    @property
    def shortfall(self) -> float:
        """How much better the best song would have been: this step's part of the regret."""
        return self.best_expected_rating - self.expected_rating


def follow(
    radio: Recommender,
    listener: Listener,
    *,
    steps: int,
    clock: Clock | None = None,
    seed: int = 0,
    number: int = 0,
) -> Iterator[Step]:
    """Yield each of the next `steps` songs, once the radio has learned the listener's answer.

    The noise of an answer depends on the seed, the listener's `number` and the step alone. So
    different algorithms that are followed with the same three meet the very same listener
    (common random numbers), in any order and in any process.
    """
    if not radio.ids:
        msg = "a radio must have at least one song to be followed, got none"
        raise InvalidInputError(msg)
    times = clock or PAPER_CLOCK
    row_of = {song: row for row, song in enumerate(radio.ids)}
    regret = 0.0
    for step in range(radio.step, radio.step + steps):
        moment = times.moment(step)
        songs = radio.songs(at=moment)
        expected = listener.expected_rating(songs)
        begin = time.thread_time()
        (song,) = radio.recommend(at=moment)
        chosen = time.thread_time()
        row = row_of[song]
        rating = float(listener.rate(songs.take([row]), stream(seed, "answer", number, step))[0])
        rated = time.thread_time()
        radio.update(song, rating=rating, time=moment)
        learned = time.thread_time()
        regret += float(expected.max() - expected[row])
        yield Step(
            number=step,
            moment=moment,
            song=song,
            row=row,
            elapsed=float(songs.elapsed_of([row])[0]),
            rating=rating,
            expected_rating=float(expected[row]),
            best_expected_rating=float(expected.max()),
            regret=regret,
            choose_seconds=chosen - begin,
            learn_seconds=learned - rated,
        )
