"""How unsure the exact model still is about the songs, after n ratings: the paper's Figure 11."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.paper.uncertainty import (
    falling_finding,
    faster_finding,
    later_finding,
)
from bandstand_lab.report.figures import draw_curve, in_order, label_ends, look_of, plain, spoken
from bandstand_lab.report.study import Chapter, Drawing, Table
from bandstand_lab.user_study.judging import judged
from bandstand_lab.user_study.measures import uncertainty
from bandstand_lab.user_study.ratings import finite
from bandstand_lab.user_study.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from bandstand.study.records import StudyData
    from bandstand.types import Matrix
    from bandstand_lab.report.study import Finding
    from bandstand_lab.user_study.measures import Uncertainty

TITLE: Final = "What was still unknown of the people"
# From the third rating on the standard deviation exists and means something.
_MOMENTS: Final = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_GREEDY: Final = "greedy-cn"
_BAYES: Final = ("bayes-ucb-cn", "bayes-ucb-cn-x", "bayes-ucb-cn-v")
_INTRODUCTION: Final = (
    "At the start nothing is known of a listener. An algorithm that tries songs in order to learn "
    "should find out sooner than one that always plays its best guess. Measured is how unsure one "
    "and the same model is about all songs of the study, given what each algorithm's ratings tell."
)
_METHOD: Final = (
    "After n ratings of a part, the exact model is told those ratings at their moments, and the "
    "standard deviations of what it then believes about every song are averaged (the paper's "
    "measure). So all algorithms are judged by the same model, whatever they believe themselves. "
    "A song just heard has little novelty, and so little uncertainty."
)


def uncertainty_chapter(data: StudyData) -> Chapter:
    """Return the curves; where nobody has rated enough, that it cannot be told yet."""
    measured = {
        name: found
        for name in in_order(data.design.algorithms)
        if (found := uncertainty(data, name, moments=_moments(data))) and len(found.moments)
    }
    if not measured:
        return Chapter(
            introduction=f"{_INTRODUCTION}\n\nNobody has rated {_MOMENTS[0]} songs of a part yet, "
            "so nothing can be told.",
            method=_METHOD,
        )
    return Chapter(
        introduction=_INTRODUCTION,
        method=_METHOD,
        findings=tuple(judged(data, each) for each in _findings(measured)),
        tables=(_table(measured),),
        drawings=(_drawing(measured),),
        data={name: _numbers(found) for name, found in measured.items()},
    )


def _moments(data: StudyData) -> tuple[int, ...]:
    whole = data.design.ratings_per_arm
    return tuple(sorted({*(n for n in _MOMENTS if n < whole), whole}))


def _findings(measured: dict[str, Uncertainty]) -> list[Finding]:
    """Return the paper's claims, over the people who have all that a claim is about."""
    found: list[Finding] = []
    whole, moments = _shared(measured, list(measured))
    if len(moments) > 1:
        found.append(falling_finding(whole, moments))
    for name in (name for name in _BAYES if name in measured and _GREEDY in measured):
        both, moments = _shared(measured, [name, _GREEDY])
        if moments:
            found.append(faster_finding(both, moments, ours=name, theirs=_GREEDY))
            found.append(later_finding(both, moments, ours=name, theirs=_GREEDY))
    return found


def _shared(
    measured: dict[str, Uncertainty], names: Sequence[str]
) -> tuple[dict[str, Matrix], list[int]]:
    """Return the curves of those with all these parts, up to what half of them have reached."""
    people = sorted(set.intersection(*(set(measured[name].people) for name in names)))
    shortest = min(len(measured[name].moments) for name in names)
    rows = {
        name: measured[name].values[[measured[name].people.index(p) for p in people], :shortest]
        for name in names
    }
    present = np.all([np.isfinite(values) for values in rows.values()], axis=0)
    last = int((present.sum(axis=0) >= max(2, len(people) / 2)).sum())
    complete = present[:, :last].all(axis=1)
    if not last or complete.sum() < 2:
        return {}, []
    curves: dict[str, Matrix] = {name: values[complete, :last] for name, values in rows.items()}
    return curves, [int(n) for n in measured[names[0]].moments[:last]]


def _table(measured: dict[str, Uncertainty]) -> Table:
    longest = max((found.moments for found in measured.values()), key=len)
    rows = [
        (look_of(name).label, *(_cell(found, place) for place in range(len(longest))))
        for name, found in measured.items()
    ]
    return Table(
        title="Mean standard deviation of what all songs are worth, after n ratings",
        columns=("algorithm", *(f"n = {moment}" for moment in longest)),
        rows=tuple(rows),
        note="Stars: mean over people ± standard error (people).",
    )


def _cell(found: Uncertainty, place: int) -> str | None:
    if place >= len(found.moments):
        return None
    error = float(found.standard_error[place])
    spread = f" ± {error:.2g}" if np.isfinite(error) else ""
    return f"{found.mean[place]:.3g}{spread} ({found.counts[place]})"


def _drawing(measured: dict[str, Uncertainty]) -> Drawing:
    shortest = min((found.moments for found in measured.values()), key=len)
    last = {name: float(found.mean[len(shortest) - 1]) for name, found in measured.items()}
    return Drawing(
        name="uncertainty",
        caption=(
            "Uncertainty about all songs while ratings come in, always by the exact model. After "
            f"{counted(int(shortest[-1]), 'rating')} {_ends_said(last)}. Bands: one standard "
            "error over people."
        ),
        draw=lambda figure: _draw(figure, measured),
        width=8.8,
    )


def _ends_said(last: dict[str, float]) -> str:
    """Return with whom least and most is unknown, or that it is the same with everybody."""
    least, most = min(last, key=last.__getitem__), max(last, key=last.__getitem__)
    low, high = f"{last[least]:.2f}", f"{last[most]:.2f}"
    if len(last) == 1:
        return f"it is {low} stars with {spoken(least)}"
    if low == high:
        every = "both" if len(last) == 2 else f"all {len(last)}"
        return f"it is the same with {every} algorithms, {low} stars"
    return (
        f"it is lowest with {spoken(least)}, {low} stars, and highest with {spoken(most)}, {high}"
    )


def _draw(figure: Figure, measured: dict[str, Uncertainty]) -> None:
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    for name, found in measured.items():
        spread = np.nan_to_num(found.standard_error)
        draw_curve(axes, found.moments.tolist(), found.mean, look_of(name), spread=spread)
    longest = max((found.moments for found in measured.values()), key=len)
    axes.set(xlabel="ratings, n", ylabel="mean standard deviation of a song's worth, stars")
    axes.set_xticks(longest, [str(moment) for moment in longest])
    axes.tick_params(axis="x", which="minor", length=0)
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain)
    axes.grid()
    label_ends(axes, {name: float(found.mean[-1]) for name, found in measured.items()})


def _numbers(found: Uncertainty) -> dict[str, Any]:
    return {
        "n": found.moments.tolist(),
        "people": found.counts.tolist(),
        "mean": finite(found.mean),
        "standard_error": finite(found.standard_error),
        "values": [finite(row) for row in found.values],
    }
