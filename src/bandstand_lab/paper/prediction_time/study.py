"""The chapter on prediction times: jobs, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.paper.prediction_time.claims import prediction_findings
from bandstand_lab.paper.prediction_time.contenders import (
    DRAWS,
    LABELS,
    MOMENTS,
    SAMPLED,
    SEARCHED,
    SOLVED,
)
from bandstand_lab.paper.prediction_time.results import accuracy_of, times_of
from bandstand_lab.report.study import Chapter, Drawing, Job, Table
from bandstand_lab.speed.numbers import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand_lab.paper.prediction_time.results import Accuracy, PredictionTimes
    from bandstand_lab.report.study import Json, Plan

_COLUMNS: Final = 91
_RATINGS: Final = 200  # answers that were learnt from, where times are measured
_ACCURACY_RATINGS: Final = (20, 200)
_DRAWS: Final = (100, DRAWS, 10_000)
_HOME: Final = "bandstand_lab.paper.prediction_time.measuring"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionTimeStudy:
    """Prediction times by algorithm and number of songs, and what accuracy costs."""

    name: str = "prediction_time"
    title: str = "Prediction time: how long it takes to find the song to play"
    columns: int = _COLUMNS

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each listener and size, and one for each listener's accuracy."""
        return [*self._time_jobs(plan), *self._accuracy_jobs(plan)]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return times, ratios and errors, and the verdict on each claim."""
        times = times_of(
            {
                size: [results[_time_key(size, turn)] for turn in range(_listeners(plan))]
                for size in _sizes(plan)
            }
        )
        accuracies = [
            accuracy_of(ratings, [results[_accuracy_key(ratings, turn)] for turn in _turns(plan)])
            for ratings in _ACCURACY_RATINGS
        ]
        return Chapter(
            introduction=(
                "When everything has been learnt, the radio has to look at every song and find "
                "the one to play. Bayes-UCB judges a song by a quantile of what it may be worth. "
                "The paper finds that quantile by drawing, and says that this is slow but can be "
                "avoided: under variational inference a song's worth is the product of two "
                "normals, whose quantile can be worked out (PRODCLIN)."
            ),
            method=_method(plan, self.columns),
            findings=prediction_findings(times, accuracies),
            tables=(_times_table(times), _accuracy_table(accuracies)),
            drawings=_drawings(times, accuracies),
            data=_data(plan, results, times),
        )

    def _time_jobs(self, plan: Plan) -> list[Job]:
        return [
            Job(
                key=_time_key(size, turn),
                function=f"{_HOME}:predict",
                arguments={
                    "songs": size,
                    "ratings": _RATINGS,
                    "turn": turn,
                    "seed": plan.seed,
                    "columns": self.columns,
                },
                alone=True,
            )
            for turn in range(_listeners(plan))
            for size in _sizes(plan)
        ]

    def _accuracy_jobs(self, plan: Plan) -> list[Job]:
        return [
            Job(
                key=_accuracy_key(ratings, turn),
                function=f"{_HOME}:accuracy",
                arguments={
                    "songs": plan.pick(quick=1_000, full=3_000),
                    "ratings": ratings,
                    "turn": turn,
                    "seed": plan.seed,
                    "columns": self.columns,
                    "draws": list(_DRAWS),
                    "checked": plan.pick(quick=20, full=50),
                },
                alone=True,
            )
            for ratings in _ACCURACY_RATINGS
            for turn in _turns(plan)
        ]


def _sizes(plan: Plan) -> tuple[int, ...]:
    return plan.pick(quick=(1_000, 10_000), full=(1_000, 10_000, 100_000))


def _listeners(plan: Plan) -> int:
    return plan.pick(quick=3, full=4)


def _turns(plan: Plan) -> range:
    return range(plan.pick(quick=5, full=10))


def _time_key(songs: int, turn: int) -> str:
    return f"time-{songs}-songs-listener-{turn}"


def _accuracy_key(ratings: int, turn: int) -> str:
    return f"accuracy-{ratings}-ratings-listener-{turn}"


def _method(plan: Plan, columns: int) -> str:
    songs = plan.pick(quick=1_000, full=3_000)
    return (
        f"{_listeners(plan)} simulated listeners of the paper's kind gave {_RATINGS} answers each; "
        f"every algorithm learnt from them and then chose one of S songs with {columns} features, "
        f"of which {_RATINGS} had been heard lately. Only the choice is timed, as processor time "
        "on one thread, with nothing kept from an earlier choice; the exact engine also as it "
        "works in a radio, where it keeps bounds from answer to answer. Monte Carlo is as in the "
        f"paper: {DRAWS:,} draws of both factors of every song (how many the paper took it does "
        "not say), their products, and the empirical quantile. MCMC uses its draws of the "
        "listener, of which at least 2,000 are effective. The same quantile is then worked out "
        "for every song, and only for those that can be the best. Accuracy is measured with "
        f"{len(_turns(plan))} listeners and {songs:,} songs after "
        f"{_ACCURACY_RATINGS[0]} and {_ACCURACY_RATINGS[1]} answers, in standard deviations of "
        "each song's own p(U | D): Monte Carlo against the deterministic quantile, and that one "
        "against adaptive quadrature, which shares no code with it."
    )


def _times_table(times: PredictionTimes) -> Table:
    size = times.sizes[-1]
    return Table(
        title="Time to find the song to play, in milliseconds (medians)",
        columns=(
            "algorithm",
            *(f"S = {songs:,}" for songs in times.sizes),
            f"over LinUCB-C, S = {size:,}",
            f"over Greedy-CN, S = {size:,}",
        ),
        rows=tuple(
            (
                LABELS[name],
                *(1_000 * times.median(name, songs) for songs in times.sizes),
                times.ratio(name, "linucb-c", size).shown(),
                times.ratio(name, "greedy-cn", size).shown(),
            )
            for name in LABELS
        ),
        note=(
            "Ratios with 95 % intervals. The mean and standard deviation of both factors of all "
            f"songs, which every variational form needs, take "
            f"{number(1_000 * times.median(MOMENTS, size))} ms of it at S = {size:,}."
        ),
    )


def _accuracy_table(accuracies: Sequence[Accuracy]) -> Table:
    rows: list[tuple[str | int | float | None, ...]] = []
    for each in accuracies:
        rows += [
            (
                each.ratings,
                f"{one.draws:,} draws",
                1_000 * one.seconds,
                one.over_solved.shown(),
                one.error,
                one.same_song,
                one.loss,
            )
            for one in each.sampled
        ]
        rows.append(
            (each.ratings, "solved", 1_000 * each.solved_seconds, "1", each.solved_error, 1.0, 0.0)
        )
    return Table(
        title="What accuracy costs: quantiles of all songs, their moments given",
        columns=(
            "ratings",
            "by",
            "ms",
            "times as long",
            "error, standard deviations",
            "right song chosen",
            "worth lost, standard deviations",
        ),
        rows=tuple(rows),
        note=(
            "Errors of draws are root mean squares over songs and listeners; that of the solved "
            "quantile is the largest."
        ),
    )


def _drawings(times: PredictionTimes, accuracies: Sequence[Accuracy]) -> tuple[Drawing, ...]:
    return (
        Drawing(
            name="prediction-times",
            caption=_times_caption(times),
            draw=lambda figure: _draw_times(figure, times),
            width=9.0,
            height=5.0,
        ),
        Drawing(
            name="prediction-accuracy",
            caption=_accuracy_caption(accuracies),
            draw=lambda figure: _draw_accuracy(figure, accuracies),
        ),
    )


def _draw_times(figure: Figure, times: PredictionTimes) -> None:
    # Imported here: the jobs measure without matplotlib.
    from bandstand_lab.paper.prediction_time.drawing import times_panel  # noqa: PLC0415

    times_panel(figure.subplots(), times)


def _draw_accuracy(figure: Figure, accuracies: Sequence[Accuracy]) -> None:
    from bandstand_lab.paper.prediction_time.drawing import accuracy_panel  # noqa: PLC0415

    accuracy_panel(figure.subplots(), accuracies)


def _times_caption(times: PredictionTimes) -> str:
    size = times.sizes[-1]
    sampled, solved, searched = (
        number(1_000 * times.median(name, size)) for name in (SAMPLED, SOLVED, SEARCHED)
    )
    return (
        f"Both axes are logarithmic. With {size:,} songs variational prediction takes {sampled} ms "
        f"by Monte Carlo, {solved} ms if every quantile is solved, and {searched} ms if only those "
        "are that can be the best."
    )


def _accuracy_caption(accuracies: Sequence[Accuracy]) -> str:
    last = accuracies[-1]
    return (
        "Monte Carlo becomes ten times as accurate with a hundred times the draws; the solved "
        f"quantile is off by at most {last.solved_error:.0e} standard deviations after "
        f"{last.ratings} ratings. In its time Monte Carlo errs by "
        f"{number(last.error_in_the_same_time())}."
    )


def _data(plan: Plan, results: Mapping[str, Json], times: PredictionTimes) -> dict[str, Any]:
    return {
        "seconds": {
            str(size): {name: spread.as_json() for name, spread in row.items()}
            for size, row in times.seconds.items()
        },
        "accuracy": {
            str(ratings): [results[_accuracy_key(ratings, turn)] for turn in _turns(plan)]
            for ratings in _ACCURACY_RATINGS
        },
    }


STUDY: Final = PredictionTimeStudy()
