"""What the jobs amount to: prediction times by size and listener, errors by number of draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand_lab.paper.prediction_time.contenders import MOMENTS, SAMPLED
from bandstand_lab.speed.evidence import geometric_mean, mean_of_rounds
from bandstand_lab.speed.timing import Spread, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.report.study import Json
    from bandstand_lab.speed.evidence import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTimes:
    """Seconds of each contender by number of songs, one for each listener."""

    seconds: Mapping[int, Mapping[str, Spread]]

    @property
    def sizes(self) -> list[int]:
        """The numbers of songs, rising."""
        return sorted(self.seconds)

    def median(self, name: str, size: int) -> float:
        """Return the median time of one contender."""
        return self.seconds[size][name].median

    def ratio(self, above: str, below: str, size: int) -> Estimate:
        """Return how many times as long `above` took as `below`."""
        times = self.seconds[size]
        return geometric_mean(paired_ratio(times[above].runs, times[below].runs))

    def growth(self, name: str) -> Estimate | None:
        """Return the exponent k of time ~ S^k over all sizes; None from one."""
        if len(self.sizes) < 2:
            return None
        rounds = zip(*(self.seconds[size][name].runs for size in self.sizes), strict=True)
        logs = np.log(self.sizes)
        slopes = tuple(float(np.polyfit(logs, np.log(times), 1)[0]) for times in rounds)
        return mean_of_rounds(Spread(runs=slopes))

    def sampling_share(self, size: int) -> float:
        """Return how much of the prediction by Monte Carlo is drawing and sorting."""
        moments, whole = (self.median(name, size) for name in (MOMENTS, SAMPLED))
        return max(0.0, 1 - moments / whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What Monte Carlo with so many draws is worth, over all listeners."""

    draws: int
    seconds: float  # median
    over_solved: Estimate  # times as long as the deterministic quantile
    error: float  # root mean square, in standard deviations of each song
    same_song: float  # share of the listeners whose song was the right one
    loss: float  # mean, in standard deviations of the right song


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Time and error of both ways to the quantile."""

    ratings: int
    level: float
    solved_seconds: float  # median
    solved_error: float  # the largest of all songs and listeners
    sampled: tuple[Sampled, ...]

    def draws_for(self, error: float) -> float:
        """Return how many draws have that error, since it falls as their square root."""
        most = self.sampled[-1]
        return most.draws * (most.error / error) ** 2

    def error_in_the_same_time(self) -> float:
        """Return the error of as many draws as there is time for while all songs are solved."""
        most = self.sampled[-1]
        draws = most.draws * self.solved_seconds / most.seconds
        return most.error * math.sqrt(most.draws / draws)


def times_of(jobs: Mapping[int, Sequence[Json]]) -> PredictionTimes:
    """Return the times of all listeners, from the results of `measuring.predict` by size."""
    return PredictionTimes(
        seconds={
            size: {
                name: Spread(runs=tuple(listener[name] for listener in listeners))
                for name in sorted(listeners[0])
            }
            for size, listeners in jobs.items()
        }
    )


def accuracy_of(ratings: int, jobs: Sequence[Json]) -> Accuracy:
    """Return what all listeners have in common, from the results of `measuring.accuracy`."""
    solved = Spread(runs=tuple(job["solved"]["seconds"] for job in jobs))
    return Accuracy(
        ratings=ratings,
        level=jobs[0]["level"],
        solved_seconds=solved.median,
        solved_error=max(job["solved"]["largest_error"] for job in jobs),
        sampled=tuple(
            _sampled([job["sampled"][place] for job in jobs], solved)
            for place in range(len(jobs[0]["sampled"]))
        ),
    )


def _sampled(listeners: Sequence[Json], solved: Spread) -> Sampled:
    seconds = [listener["seconds"] for listener in listeners]
    return Sampled(
        draws=listeners[0]["draws"],
        seconds=float(np.median(seconds)),
        over_solved=geometric_mean(paired_ratio(seconds, solved.runs)),
        error=math.sqrt(float(np.mean([listener["error"] ** 2 for listener in listeners]))),
        same_song=float(np.mean([listener["same_song"] for listener in listeners])),
        loss=float(np.mean([listener["loss"] for listener in listeners])),
    )
