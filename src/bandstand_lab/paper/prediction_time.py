"""Prediction times (Section 5.2.2): finding the song to play among S, once all is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bandstand._util.words import figure as shown
from bandstand_lab.report.study import (
    Cell,
    Chapter,
    Finding,
    Job,
    Json,
    Plan,
    Study,
    grouped,
    verdict_on,
)
from bandstand_lab.report.texts import Texts
from bandstand_lab.speed.prediction import (
    KEPT,
    LABELS,
    MOMENTS,
    SAMPLED,
    SEARCHED,
    SOLVED,
    USUAL_DRAWS,
    accuracy,
    predict,
)
from bandstand_lab.speed.timing import (
    Estimate,
    Spread,
    geometric_mean,
    growth,
    paired_ratio,
    span,
)

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "prediction_time.toml")
_SIMPLE: Final = ("linucb-c", "linucb-cn", "greedy-cn")
_SAMPLING: Final = ("bayes-ucb-cn", SAMPLED)
_COLUMNS: Final = 91
_RATINGS: Final = 200  # answers that were learned from, where times are measured
_ACCURACY_RATINGS: Final = (20, 200)
# A quantile this near to the true one, in standard deviations, is as good as it.
_ACCURATE: Final = 1e-6
_SIGNIFICANTLY: Final = 2.0  # "significantly faster" is read as: at least twice as fast
_MAX_EXPONENT: Final = 1.15


def jobs(plan: Plan, columns: int = _COLUMNS) -> list[Job]:
    """Return one job for each listener and size, and one for each listener's accuracy."""
    common = {"seed": plan.seed, "columns": columns}
    songs, checked = plan.pick(quick=(1_000, 20), full=(3_000, 50))
    quantiles = {"songs": songs, "checked": checked, **common}
    times = [
        Job.timed(
            *(predict, f"time-{size}-songs-listener-{turn}"),
            **{"songs": size, "ratings": _RATINGS, "turn": turn, **common},
        )
        for turn in range(_listeners(plan))
        for size in plan.pick(quick=(1_000, 10_000), full=(1_000, 10_000, 100_000))
    ]
    errors = [
        Job.of(
            *(accuracy, f"accuracy-{ratings}-ratings-listener-{turn}"),
            **{"ratings": ratings, "turn": turn, **quantiles},
        )
        for ratings in _ACCURACY_RATINGS
        for turn in range(plan.pick(quick=5, full=10))
    ]
    return [*times, *errors]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return times, ratios and errors, and the verdict on each claim."""
    timed, checked = (
        [job for job in jobs(plan) if job.key.startswith(kind)] for kind in ("time", "accuracy")
    )
    times = times_of(grouped(timed, results, "songs"))
    by_ratings = grouped(checked, results, "ratings")
    accuracies = [Accuracy.of(*each) for each in by_ratings.items()]
    numbers = _numbers(times, accuracies)
    return TEXTS.chapter(
        method={
            "listeners": _listeners(plan),
            "ratings": _RATINGS,
            "columns": _COLUMNS,
            "draws": USUAL_DRAWS,
            "accuracy_listeners": len(by_ratings[_ACCURACY_RATINGS[0]]),
            "accuracy_songs": checked[0].arguments["songs"],
            "accuracy_ratings": _ACCURACY_RATINGS,
        },
        findings=_findings(times, accuracies, numbers),
        tables=(
            TEXTS.table("times", _time_rows(times), sizes=times.sizes, **numbers),
            TEXTS.table("accuracy", accuracies),
        ),
    )


def _listeners(plan: Plan) -> int:
    return plan.pick(quick=3, full=4)


# ── Numbers ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTimes:
    """Seconds of each contender by number of songs, one for each listener."""

    seconds: Mapping[int, Mapping[str, Spread]]

    @property
    def sizes(self) -> list[int]:
        """The numbers of songs, rising."""
        return sorted(self.seconds)

    def ms(self, name: str, size: int) -> float:
        """Return the median time of one contender in milliseconds."""
        return 1_000 * self.seconds[size][name].median

    def ratio(self, above: str, below: str, size: int) -> Estimate:
        """Return how many times as long `above` took as `below`."""
        times = self.seconds[size]
        return geometric_mean(paired_ratio(times[above].runs, times[below].runs))

    def ratios(self, above: str, below: str) -> list[Estimate]:
        """Return the same at each size."""
        return [self.ratio(above, below, size) for size in self.sizes]

    def growth(self, name: str) -> Estimate:
        """Return the exponent k of time ~ S^k over all sizes."""
        return growth({size: self.seconds[size][name] for size in self.sizes})

    def sampling_share(self, size: int) -> float:
        """Return how much of the prediction by Monte Carlo is drawing and sorting."""
        return max(0.0, 1 - self.ms(MOMENTS, size) / self.ms(SAMPLED, size))


class Accuracy(NamedTuple):
    """Errors of both ways to the quantile, in standard deviations of each song."""

    ratings: int
    solved: float  # the largest of all songs and listeners
    sampled: float  # root mean square
    same_song: float  # share of the listeners for whom the draws chose the right song

    @classmethod
    def of(cls, ratings: int, listeners: Sequence[Json]) -> Accuracy:
        """Return the accuracy over all listeners, from the results of `accuracy`."""
        solved, sampled, same = (
            np.array([one[name] for one in listeners])
            for name in ("solved", "sampled", "same_song")
        )
        return cls(ratings, solved.max(), float(np.sqrt(np.mean(sampled**2))), same.mean())


def times_of(jobs: Mapping[int, Sequence[Json]]) -> PredictionTimes:
    """Return the times of all listeners, from the results of `predict` by size."""
    return PredictionTimes(
        seconds={
            size: {
                name: Spread(runs=tuple(listener[name] for listener in listeners))
                for name in sorted(listeners[0])
            }
            for size, listeners in jobs.items()
        }
    )


# ── Claims and tables ───────────────────────────────────────────────────────────


def _numbers(times: PredictionTimes, accuracies: Sequence[Accuracy]) -> dict[str, Any]:
    """Return the numbers of the texts."""
    size = times.sizes[-1]
    pairs = [(slow, simple) for slow in (*_SAMPLING, SEARCHED, KEPT) for simple in _SIMPLE]
    all_slower = [
        each for one in _SAMPLING for other in _SIMPLE for each in times.ratios(one, other)
    ]
    return {
        "size": size,
        "labels": LABELS,
        "ms": {name: shown(times.ms(name, size)) for name in (*LABELS, MOMENTS)},
        "over": {f"{one}/{other}": times.ratio(one, other, size).shown() for one, other in pairs},
        "closest": min(all_slower, key=lambda each: each.value).shown(),
        "sampling_share": times.sampling_share(size),
        "over_solved": span(times.ratios(SAMPLED, SOLVED)),
        "over_searched": span(times.ratios(SAMPLED, SEARCHED)),
        "growth": {name: times.growth(name).shown() for name in (SOLVED, SEARCHED)},
        "max_exponent": _MAX_EXPONENT,
        "draws": USUAL_DRAWS,
        "solved_error": f"{max(each.solved for each in accuracies):.0e}",
        "errors": [shown(end(each.sampled for each in accuracies)) for end in (min, max)],
        "same_song": [end(each.same_song for each in accuracies) for end in (min, max)],
        "significantly": _SIGNIFICANTLY,
        "accurate": _ACCURATE,
    }


def _findings(
    times: PredictionTimes, accuracies: Sequence[Accuracy], numbers: Mapping[str, Any]
) -> tuple[Finding, ...]:
    """Return the verdict on each claim of the paper about prediction times."""
    slower = [
        each.above(1.0)
        for slow in _SAMPLING
        for simple in _SIMPLE
        for each in times.ratios(slow, simple)
    ]
    is_accurate = all(each.solved < _ACCURATE for each in accuracies)
    faster = [each.above(_SIGNIFICANTLY) for each in times.ratios(SAMPLED, SOLVED)]
    verdicts = {
        "slower": verdict_on(slower),
        "sampling": verdict_on(times.sampling_share(size) > 0.5 for size in times.sizes),
        "prodclin": verdict_on([*faster, is_accurate]),
        "large": verdict_on(times.growth(name).below(_MAX_EXPONENT) for name in (SOLVED, SEARCHED)),
    }
    return tuple(TEXTS.finding(name, verdict, **numbers) for name, verdict in verdicts.items())


def _time_rows(times: PredictionTimes) -> list[tuple[Cell, ...]]:
    size = times.sizes[-1]
    return [
        (
            label,
            *(times.ms(name, songs) for songs in times.sizes),
            *(times.ratio(name, simple, size).shown() for simple in ("linucb-c", "greedy-cn")),
        )
        for name, label in LABELS.items()
    ]


STUDY: Final = Study(
    name="prediction_time",
    title="Prediction time: how long it takes to find the song to play",
    jobs=jobs,
    chapter=chapter,
)
