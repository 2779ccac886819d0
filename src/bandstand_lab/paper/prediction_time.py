"""Prediction times (Section 5.2.2): finding the song to play among S, once all is learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.report.figures import ALGORITHM_LOOKS, CYCLE, draw_curve, plain
from bandstand_lab.report.study import Job, Study, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.speed.prediction import (
    EXACT,
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
    Spread,
    geometric_mean,
    log_slope,
    mean_of_rounds,
    number,
    paired_ratio,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.speed.timing import Estimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "prediction_time.toml")
_SIMPLE: Final = ("linucb-c", "linucb-cn", "greedy-cn")
_SAMPLING: Final = ("bayes-ucb-cn", SAMPLED)
_COLUMNS: Final = 91
_RATINGS: Final = 200  # answers that were learned from, where times are measured
_ACCURACY_RATINGS: Final = (20, 200)
_DRAWS: Final = (100, USUAL_DRAWS, 10_000)
# A quantile this near to the true one, in standard deviations, is as good as it.
_ACCURATE: Final = 1e-6
_SIGNIFICANTLY: Final = 2.0  # "significantly faster" is read as: at least twice as fast
_MAX_EXPONENT: Final = 1.15


def jobs(plan: Plan, columns: int = _COLUMNS) -> list[Job]:
    """Return one job for each listener and size, and one for each listener's accuracy."""
    common = {"seed": plan.seed, "columns": columns}
    songs, checked = plan.pick(quick=(1_000, 20), full=(3_000, 50))
    quantiles = {"songs": songs, "draws": list(_DRAWS), "checked": checked, **common}
    times = [
        Job.timed(
            *(predict, f"time-{size}-songs-listener-{turn}"),
            **{"songs": size, "ratings": _RATINGS, "turn": turn, **common},
        )
        for turn in range(_listeners(plan))
        for size in _sizes(plan)
    ]
    errors = [
        Job.timed(
            *(accuracy, f"accuracy-{ratings}-ratings-listener-{turn}"),
            **{"ratings": ratings, "turn": turn, **quantiles},
        )
        for ratings in _ACCURACY_RATINGS
        for turn in range(_accuracy_listeners(plan))
    ]
    return [*times, *errors]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return times, ratios and errors, and the verdict on each claim."""

    def of(prefix: str) -> list[Json]:
        return [results[job.key] for job in jobs(plan) if job.key.startswith(prefix)]

    by_ratings = {count: of(f"accuracy-{count}-") for count in _ACCURACY_RATINGS}
    times = times_of({size: of(f"time-{size}-") for size in _sizes(plan)})
    accuracies = [accuracy_of(ratings, some) for ratings, some in by_ratings.items()]
    numbers = _numbers(times, accuracies)
    return TEXTS.chapter(
        method={
            "listeners": _listeners(plan),
            "ratings": _RATINGS,
            "columns": _COLUMNS,
            "draws": USUAL_DRAWS,
            "accuracy_listeners": _accuracy_listeners(plan),
            "accuracy_songs": plan.pick(quick=1_000, full=3_000),
            "accuracy_ratings": _ACCURACY_RATINGS,
        },
        findings=_findings(times, accuracies, numbers),
        tables=(
            TEXTS.table("times", _time_rows(times), sizes=times.sizes, **numbers),
            TEXTS.table("accuracy", _accuracy_rows(accuracies)),
        ),
        drawings=(
            TEXTS.drawing(
                *("prediction-times", partial(_draw_times, times)), inches=(9.0, 5.0), **numbers
            ),
            TEXTS.drawing("prediction-accuracy", partial(_draw_accuracy, accuracies), **numbers),
        ),
        data={
            "seconds": {
                str(size): {name: spread.as_json() for name, spread in row.items()}
                for size, row in times.seconds.items()
            },
            "accuracy": {str(ratings): some for ratings, some in by_ratings.items()},
        },
    )


def _sizes(plan: Plan) -> tuple[int, ...]:
    return plan.pick(quick=(1_000, 10_000), full=(1_000, 10_000, 100_000))


def _listeners(plan: Plan) -> int:
    return plan.pick(quick=3, full=4)


def _accuracy_listeners(plan: Plan) -> int:
    return plan.pick(quick=5, full=10)


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
        rounds = zip(*(self.seconds[size][name].runs for size in self.sizes), strict=True)
        return mean_of_rounds(Spread(runs=tuple(log_slope(self.sizes, times) for times in rounds)))

    def sampling_share(self, size: int) -> float:
        """Return how much of the prediction by Monte Carlo is drawing and sorting."""
        return max(0.0, 1 - self.ms(MOMENTS, size) / self.ms(SAMPLED, size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Monte Carlo with one number of draws, over all listeners."""

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
    solved_seconds: float  # median
    solved_error: float  # the largest of all songs and listeners
    sampled: tuple[Sampled, ...]

    def draws_for(self, error: float) -> float:
        """Return the number of draws with that error, since it falls as their square root."""
        most = self.sampled[-1]
        return most.draws * (most.error / error) ** 2

    def error_in_the_same_time(self) -> float:
        """Return the error of as many draws as there is time for while all songs are solved."""
        most = self.sampled[-1]
        return most.error * math.sqrt(most.seconds / self.solved_seconds)


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


def accuracy_of(ratings: int, jobs: Sequence[Json]) -> Accuracy:
    """Return the accuracy over all listeners, from the results of `accuracy`."""
    solved = Spread(runs=tuple(job["solved"]["seconds"] for job in jobs))
    return Accuracy(
        ratings=ratings,
        solved_seconds=solved.median,
        solved_error=max(job["solved"]["largest_error"] for job in jobs),
        sampled=tuple(
            _sampled(list(listeners), solved)
            for listeners in zip(*(job["sampled"] for job in jobs), strict=True)
        ),
    )


def _sampled(listeners: Sequence[Json], solved: Spread) -> Sampled:
    columns = {name: [one[name] for one in listeners] for name in listeners[0]}
    return Sampled(
        draws=columns["draws"][0],
        seconds=float(np.median(columns["seconds"])),
        over_solved=geometric_mean(paired_ratio(columns["seconds"], solved.runs)),
        error=math.sqrt(float(np.mean(np.square(columns["error"])))),
        same_song=float(np.mean(columns["same_song"])),
        loss=float(np.mean(columns["loss"])),
    )


# ── Claims, tables and figures ───────────────────────────────────────────────────────────


def _numbers(times: PredictionTimes, accuracies: Sequence[Accuracy]) -> dict[str, Any]:
    """Return the numbers of the texts."""
    size, last = times.sizes[-1], accuracies[-1]
    usual = [one for each in accuracies for one in each.sampled if one.draws == USUAL_DRAWS]
    pairs = [(slow, simple) for slow in (*_SAMPLING, SEARCHED, KEPT) for simple in _SIMPLE]
    all_slower = [
        each for one in _SAMPLING for other in _SIMPLE for each in times.ratios(one, other)
    ]
    return {
        "size": size,
        "labels": LABELS,
        "ms": {name: number(times.ms(name, size)) for name in (*LABELS, MOMENTS)},
        "over": {f"{one}/{other}": times.ratio(one, other, size).shown() for one, other in pairs},
        "closest": min(all_slower, key=lambda each: each.value).shown(),
        "sampling_share": times.sampling_share(size),
        "over_solved": span(times.ratios(SAMPLED, SOLVED)),
        "over_searched": span(times.ratios(SAMPLED, SEARCHED)),
        "growth": {name: times.growth(name).shown() for name in (SOLVED, SEARCHED)},
        "max_exponent": _MAX_EXPONENT,
        "draws": USUAL_DRAWS,
        "solved_error": f"{max(each.solved_error for each in accuracies):.0e}",
        "errors": [number(end(one.error for one in usual)) for end in (min, max)],
        "same_song": [end(one.same_song for one in usual) for end in (min, max)],
        "significantly": _SIGNIFICANTLY,
        "accurate": _ACCURATE,
        "last_ratings": last.ratings,
        "same_time_error": number(last.error_in_the_same_time()),
        "needed_draws": float(f"{last.draws_for(1e-3):.1e}"),
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
    is_accurate = all(each.solved_error < _ACCURATE for each in accuracies)
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


def _accuracy_rows(accuracies: Sequence[Accuracy]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for each in accuracies:
        for one in each.sampled:
            costs = (1_000 * one.seconds, one.over_solved.shown())
            errors = (one.error, one.same_song, one.loss)
            rows.append((each.ratings, f"{one.draws:,} draws", *costs, *errors))
        costs = (1_000 * each.solved_seconds, "1")
        rows.append((each.ratings, "solved", *costs, each.solved_error, 1.0, 0.0))
    return rows


def _draw_times(times: PredictionTimes, figure: Figure) -> None:
    """Draw the time of each contender over the number of songs."""
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    variational, exact = ALGORITHM_LOOKS[SEARCHED], ALGORITHM_LOOKS[EXACT]
    looks = {
        **ALGORITHM_LOOKS,
        SAMPLED: replace(variational, dashes=":", marker="P"),
        SOLVED: replace(variational, dashes="--", marker="<"),
        EXACT: replace(exact, dashes="--", marker="o", width=1.6),
        KEPT: exact,
    }
    for name in sorted(LABELS, key=lambda name: -times.ms(name, times.sizes[-1])):
        milliseconds = [times.ms(name, size) for size in times.sizes]
        draw_curve(axes, times.sizes, milliseconds, replace(looks[name], label=LABELS[name]))
    axes.set_xticks(times.sizes, [f"{size:,}" for size in times.sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.set_title("Time to find the song to play among S songs, one thread")
    axes.set(xlabel="songs S", ylabel="processor time, ms (median of listeners)")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def _draw_accuracy(accuracies: Sequence[Accuracy], figure: Figure) -> None:
    """Draw the error of both ways over the time that they take."""
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    for each, colour in zip(accuracies, CYCLE, strict=False):
        label = f"after {each.ratings} ratings"
        seconds = [1_000 * one.seconds for one in each.sampled]
        axes.plot(seconds, [one.error for one in each.sampled], "o-", color=colour, label=label)
        error = max(each.solved_error, 1e-16)  # none at all would be no point on such an axis
        axes.plot([1_000 * each.solved_seconds], [error], "*", color=colour, markersize=13)
    draws = ", ".join(f"{one.draws:,}" for one in accuracies[0].sampled)
    axes.set_title(f"What accuracy costs: {draws} draws (dots), solved quantiles (stars)")
    axes.set(xlabel="processor time for all songs, ms", ylabel="error, standard deviations")
    axes.margins(x=0.12, y=0.1)
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(plain)
    axes.grid(visible=True)
    axes.legend(loc="center right")


STUDY: Final = Study(
    name="prediction_time",
    title="Prediction time: how long it takes to find the song to play",
    jobs=jobs,
    chapter=chapter,
)
