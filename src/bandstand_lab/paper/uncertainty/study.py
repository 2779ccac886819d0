"""The jobs of the uncertainty study, and the chapter made of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from bandstand_lab.paper.uncertainty.findings import (
    falling_finding,
    faster_finding,
    later_finding,
)
from bandstand_lab.paper.uncertainty.measure import EXACT
from bandstand_lab.report.figures import draw_curve, in_order, label_ends, look_of, plain
from bandstand_lab.report.study import Chapter, Drawing, Job, Table
from bandstand_lab.statistics.summaries import mean_curve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell, Json, Plan

SONGS: Final = 2_000
FEATURES: Final = 91
GREEDY: Final = "greedy-cn"
VARIATIONAL: Final = "bayes-ucb-cn-v"  # ten times as slow as the others: fewer listeners
# From the third rating on the standard deviation exists and means something (2A > 2).
_QUICK_MOMENTS: Final = (5, 10, 20, 30, 50, 75, 100)
_FULL_MOMENTS: Final = (*_QUICK_MOMENTS, 150, 200)
_QUICK: Final = ("random", "linucb-cn", GREEDY, VARIATIONAL, EXACT)
_FULL: Final = ("linucb-c", "greedy-cn-map", "thompson-cn-x", *_QUICK)

_INTRODUCTION: Final = (
    "At the start a radio knows nothing of its listener. The paper says that Bayes-UCB, which "
    "tries songs it is unsure of, gets to know the listener sooner than a greedy radio, which "
    "only plays what it thinks best, and shows it by how uncertain the predictions for all songs "
    "still are."
)


class UncertaintyStudy:
    """The paper's Figure 11, for simulated listeners."""

    name: ClassVar[str] = "uncertainty"
    title: ClassVar[str] = "What is still unknown: uncertainty over the first songs"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each algorithm and listener."""
        return [
            Job(
                key=_key(algorithm, run),
                function="bandstand_lab.paper.uncertainty.measure:uncertainties",
                arguments={
                    "algorithm": algorithm,
                    "run": run,
                    "seed": plan.seed,
                    "songs": SONGS,
                    "features": FEATURES,
                    "moments": list(moments(plan)),
                },
            )
            for algorithm in algorithms(plan)
            for run in range(listeners(plan, algorithm))
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what was found."""
        when = moments(plan)
        curves: dict[str, Matrix] = {
            name: np.array([results[_key(name, run)] for run in range(listeners(plan, name))])
            for name in in_order(algorithms(plan))
        }
        pairs = ((EXACT, GREEDY), (VARIATIONAL, GREEDY))
        return Chapter(
            introduction=_INTRODUCTION,
            method=_method(plan),
            findings=(
                falling_finding(curves, when),
                *(faster_finding(curves, when, ours=one, theirs=other) for one, other in pairs),
                *(later_finding(curves, when, ours=one, theirs=other) for one, other in pairs),
            ),
            tables=(_table(curves, when),),
            drawings=(_drawing(curves, when),),
            data=_data(curves, when),
        )


def listeners(plan: Plan, algorithm: str) -> int:
    """Return how many simulated listeners an algorithm meets: the first ones."""
    if algorithm == VARIATIONAL:
        return plan.pick(quick=2, full=5)
    return plan.pick(quick=6, full=16)


def algorithms(plan: Plan) -> tuple[str, ...]:
    """Return the algorithms that are compared."""
    return plan.pick(quick=_QUICK, full=_FULL)


def moments(plan: Plan) -> tuple[int, ...]:
    """Return after how many ratings it is measured."""
    return plan.pick(quick=_QUICK_MOMENTS, full=_FULL_MOMENTS)


def _key(algorithm: str, run: int) -> str:
    return f"{algorithm}-{run:02}"


def _method(plan: Plan) -> str:
    return (
        f"Each algorithm plays {moments(plan)[-1]} songs out of {SONGS:,} with {FEATURES} features "
        f"N(0, 1) for the same {listeners(plan, EXACT)} simulated listeners, on the paper's clock; "
        f"the variational one, which is slow, for the first {listeners(plan, VARIATIONAL)}. After "
        "n ratings the exact model is told what that algorithm's listener has said, and the "
        "standard deviations of p(U | D) of all songs at that moment are averaged. So all "
        "algorithms are judged by the same model, and only what they chose to play differs. "
        "Bayes-UCB by MCMC has the same posterior as the exact one, which stands for it."
    )


def _table(curves: Mapping[str, Matrix], when: Sequence[int]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, each in curves.items():
        curve = mean_curve(each)
        errors = np.zeros(len(when)) if curve.standard_error is None else curve.standard_error
        cells = [
            f"{mean:.3g} ± {error:.2g}" for mean, error in zip(curve.mean, errors, strict=True)
        ]
        rows.append((look_of(name).label, len(each), *cells))
    return Table(
        title="Mean standard deviation of what all songs are worth, after n ratings",
        columns=("algorithm", "listeners", *(f"n = {moment}" for moment in when)),
        rows=tuple(rows),
        note=(
            "Mean ± standard error over the listeners, in units of a rating. Listeners differ more "
            "than algorithms, so compare algorithms by the findings, listener by listener."
        ),
    )


def _drawing(curves: Mapping[str, Matrix], when: Sequence[int]) -> Drawing:
    place = list(when).index(50)
    ratio = float(np.exp(np.log(curves[EXACT][:, place] / curves[GREEDY][:, place]).mean()))
    word = "lower" if ratio < 1 else "higher"
    return Drawing(
        name="uncertainty",
        caption=(
            "Uncertainty about all songs while ratings come in, always by the exact model: after "
            f"50 ratings it is {abs(100 * (ratio - 1)):.0f} % {word} under exact Bayes-UCB than "
            "under Greedy-CN. Bands: one standard error over the listeners."
        ),
        draw=lambda figure: _draw(figure, curves, when),
        width=8.6,
    )


def _draw(figure: Figure, curves: Mapping[str, Matrix], when: Sequence[int]) -> None:
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    for name, each in curves.items():
        curve = mean_curve(each)
        draw_curve(axes, when, curve.mean, look_of(name), spread=curve.standard_error)
    axes.set(xlabel="ratings n", ylabel="mean standard deviation of U, in units of a rating")
    axes.set_xticks(list(when), [str(moment) for moment in when])
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.grid()
    label_ends(axes, {name: float(each[:, -1].mean()) for name, each in curves.items()})


def _data(curves: Mapping[str, Matrix], when: Sequence[int]) -> dict[str, Any]:
    return {
        "ratings": list(when),
        "uncertainty": {name: each.tolist() for name, each in curves.items()},
    }


STUDY: Final = UncertaintyStudy()
