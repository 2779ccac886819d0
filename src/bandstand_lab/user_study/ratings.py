"""The average rating after n songs, for each algorithm: the paper's measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.report.figures import draw_curve, in_order, label_ends, look_of
from bandstand_lab.report.spoken import spoken
from bandstand_lab.report.study import Chapter, Drawing, Table
from bandstand_lab.user_study.words import counted, listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.arrays import Vector
    from bandstand.study.records import StudyData
    from bandstand_lab.report.study import Cell
    from bandstand_lab.user_study.analysis import Analysis, Curve

TITLE: Final = "How much people liked what was played"
_MILESTONES: Final = (10, 20, 50, 100, 150, 200, 300, 500, 1_000)
# The first ratings jump about; the axis is chosen by what comes after them.
_SETTLED: Final = 5

_INTRODUCTION: Final = (
    "Each line is one algorithm: the average of all ratings from the first song to the n-th, first "
    "for each person and then over people. A line that rises has learnt what people like."
)
_METHOD: Final = (
    "For each person and algorithm the mean of the first n ratings is taken, then the mean over "
    "people with its standard error (the standard deviation of people divided by the square root "
    "of their number). Whoever has not finished a part counts up to the song they reached. Bands "
    "show how much people differ, not whether two algorithms do: for that every person is compared "
    "with themselves, in the next chapter."
)


def ratings_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the averages as a figure and a table."""
    curves = _drawn(analysis)
    if not curves:
        return Chapter(
            introduction=f"{_INTRODUCTION}\n\nNobody has rated a song yet, so there is none.",
            method=_METHOD,
        )
    return Chapter(
        introduction=_INTRODUCTION + _unbegun(analysis),
        method=_METHOD,
        tables=(_table(data, curves),),
        drawings=(_drawing(curves),),
        data={curve.algorithm: _numbers(curve) for curve in curves},
    )


def best_and_worst(analysis: Analysis) -> tuple[Curve, Curve] | None:
    """Return the curves with the highest and lowest last mean; None where nobody has rated."""
    curves = _drawn(analysis)
    if not curves:
        return None
    at = min(len(curve.mean) for curve in curves) - 1
    ranked = sorted(curves, key=lambda curve: float(curve.mean[at]))
    return ranked[-1], ranked[0]


def shared_step(analysis: Analysis) -> int:
    """Return the largest n that some person has reached with every algorithm that was begun."""
    return min((len(curve.mean) for curve in _drawn(analysis)), default=0)


def _drawn(analysis: Analysis) -> list[Curve]:
    begun = {curve.algorithm: curve for curve in analysis.curves if len(curve.mean)}
    return [begun[name] for name in in_order(begun)]


def _unbegun(analysis: Analysis) -> str:
    missing = [spoken(curve.algorithm) for curve in analysis.curves if not len(curve.mean)]
    return f" Nobody has begun {listed(missing)} yet." if missing else ""


def _table(data: StudyData, curves: list[Curve]) -> Table:
    longest = max(len(curve.mean) for curve in curves)
    whole = data.design.ratings_per_arm
    steps = sorted({step for step in (*_MILESTONES, whole, longest) if step <= longest})
    varies = _varies(curves)
    rows = [
        (look_of(curve.algorithm).label, *(_cell(curve, n, with_people=varies) for n in steps))
        for curve in curves
    ]
    people = "standard error (people)" if varies else "standard error"
    return Table(
        title="Average rating after n songs",
        columns=("algorithm", *(f"n = {step}" for step in steps)),
        rows=tuple(rows),
        note=(
            f"Stars, 1 to 5: mean over people ± {people}. Where only one person has come so far, "
            "nobody knows how far off it is."
        ),
    )


def _cell(curve: Curve, step: int, *, with_people: bool) -> Cell:
    if step > len(curve.mean):
        return None
    mean, error = float(curve.mean[step - 1]), float(curve.standard_error[step - 1])
    spread = f" ± {error:.2f}" if np.isfinite(error) else ""
    people = f" ({curve.counts[step - 1]})" if with_people else ""
    return f"{mean:.2f}{spread}{people}"


def _drawing(curves: list[Curve]) -> Drawing:
    at = min(len(curve.mean) for curve in curves)
    ranked = sorted(curves, key=lambda curve: -float(curve.mean[at - 1]))
    said = ", ".join(f"{spoken(each.algorithm)} {each.mean[at - 1]:.2f}" for each in ranked)
    varies = _varies(curves)
    below = (
        " Below: how many people have come so far; where that changes, a line may jump."
        if varies
        else ""
    )
    return Drawing(
        name="average-rating",
        caption=(
            f"Average rating up to the n-th song. After {counted(at, 'song')}: {said} stars. "
            f"Bands: one standard error over people.{below}"
        ),
        draw=lambda figure: _draw(figure, curves, varies=varies),
        width=8.8,
        height=5.6 if varies else 4.6,
    )


def _varies(curves: list[Curve]) -> bool:
    return len({int(count) for curve in curves for count in curve.counts}) > 1


def _draw(figure: Figure, curves: list[Curve], *, varies: bool) -> None:
    if varies:
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        _draw_counts(below, curves)
    else:
        below = axes = figure.subplots()
    for curve in curves:
        look, known = look_of(curve.algorithm), np.isfinite(curve.standard_error)
        # No band where only one person has come.
        spread = np.where(known, np.nan_to_num(curve.standard_error), 0.0)
        draw_curve(axes, curve.steps.tolist(), curve.mean, look, spread=spread)
    axes.set(ylabel="average rating, stars", ylim=_limits(curves))
    axes.set_xlim(0, max(len(curve.mean) for curve in curves))
    below.set_xlabel("songs rated, n")
    axes.grid()
    label_ends(axes, {curve.algorithm: float(curve.mean[-1]) for curve in curves})


def _draw_counts(axes: Axes, curves: list[Curve]) -> None:
    for curve in curves:
        look = look_of(curve.algorithm)
        axes.step(curve.steps, curve.counts, where="mid", color=look.colour, linewidth=1.2)
    most = max(int(curve.counts.max()) for curve in curves)
    axes.set(ylabel="people", ylim=(0, 1.1 * most))
    axes.grid()


def _limits(curves: list[Curve]) -> tuple[float, float]:
    """Return what the axis shows: all bands from the fifth song on, with some room."""
    low, high = [], []
    for curve in curves:
        start = min(_SETTLED, len(curve.mean)) - 1
        error = np.nan_to_num(curve.standard_error[start:])
        low.append(float((curve.mean[start:] - error).min()))
        high.append(float((curve.mean[start:] + error).max()))
    margin = max(0.05, 0.06 * (max(high) - min(low)))
    return max(0.9, min(low) - margin), min(5.1, max(high) + margin)


def _numbers(curve: Curve) -> dict[str, Any]:
    return {
        "n": curve.steps.tolist(),
        "people": curve.counts.tolist(),
        "mean": curve.mean.tolist(),
        "standard_error": finite(curve.standard_error),
    }


def finite(values: Vector) -> list[float | None]:
    """Return numbers as JSON has them; what is not finite is None."""
    return [float(value) if np.isfinite(value) else None for value in values]
