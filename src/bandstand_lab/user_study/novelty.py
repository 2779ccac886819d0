"""The novelty curves that were learnt of people: the paper's Figure 13."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.report.figures import look_of, plain, spoken
from bandstand_lab.report.study import Chapter, Drawing, Table
from bandstand_lab.user_study.measures import LONGEST_SHOWN, novelty_curves
from bandstand_lab.user_study.participation import pseudonyms
from bandstand_lab.user_study.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.study.records import StudyData
    from bandstand.types import Vector
    from bandstand_lab.user_study.measures import NoveltyCurve

TITLE: Final = "What was learnt about novelty"
# Whose part is looked at: the paper's, else the first of these that the study has.
_PREFERRED: Final = ("bayes-ucb-cn-v", "bayes-ucb-cn-x", "bayes-ucb-cn", "greedy-cn")
_COLUMNS: Final = 5
_MOST_SHOWN: Final = 20
_LOWEST, _HIGHEST = -0.35, 1.6
_RUG: Final = 0.07  # height of the marks for repeats
_PARTED: Final = 2.0  # standard deviations between the learnt curve and the untired one
_UNTIRED: Final = "#6b7280"
_INTRODUCTION: Final = (
    "A song just heard is worth less than an unheard one, and its worth comes back with time. The "
    "paper's fast algorithm learns this curve of each listener from the ratings. One curve for "
    "each participant: 1 is a song that was never heard, 0 one that is worth nothing now. Dashed "
    "beside it is what the algorithm would have learnt of somebody who never tires. Where the two "
    "do not part, the prior speaks, which is what was assumed before any rating, and not the "
    "participant."
)
_AFTER: Final = (1.0, 10.0, 60.0, 600.0)


def novelty_chapter(data: StudyData) -> Chapter:
    """Return the learnt curves of one algorithm's parts."""
    algorithm = next(
        (name for name in _PREFERRED if name in data.design.algorithms), data.design.algorithms[-1]
    )
    curves, names = novelty_curves(data, algorithm), pseudonyms(data)
    if not curves:
        return Chapter(
            introduction=f"{_INTRODUCTION}\n\nThere is no curve yet: nobody has rated songs of "
            f"{spoken(algorithm)} differently enough to learn one.",
            method=_method(algorithm),
        )
    return Chapter(
        introduction=_INTRODUCTION,
        method=_method(algorithm),
        tables=(_table(curves, names),),
        drawings=(_drawing(curves, names, algorithm),),
        data={
            names[each.participant]: {
                "minutes": each.minutes.tolist(),
                "mean": each.mean.tolist(),
                "standard_deviation": each.standard_deviation.tolist(),
                "untired_mean": each.untired_mean.tolist(),
                "untired_standard_deviation": each.untired_standard_deviation.tolist(),
                "parting": each.parting().tolist(),
                "repeats": each.repeats.tolist(),
            }
            for each in curves
        },
    )


def _method(algorithm: str) -> str:
    return (
        f"From each participant's part with {spoken(algorithm)} the variational engine "
        "learns content and novelty; drawn is the posterior mean of β't and one standard "
        f"deviation to both sides, up to {LONGEST_SHOWN:,.0f} minutes. Only the product with the "
        "content factor is known, so a curve is scaled to 1 for an unheard song. Where no song "
        "came back, the curve is a straight line between what was assumed and what was learnt "
        "elsewhere, and says nothing about the person: marks at the bottom show the times after "
        "which songs came back.\n\n"
        "The prior expects a slope of 0 and lets it differ by little in each minute. So every "
        "learnt curve is low in the first minutes, of somebody who never tires as well, with a "
        "small standard deviation that is the prior's. By itself the prior has no curve to draw: "
        "it expects 0 everywhere. What it makes of a participant's plays is seen when the same "
        "engine is told the same songs at the same moments, each with the participant's average "
        "rating: that is the dashed curve, of somebody who never tires. Ratings are said to speak "
        f"where both differ by at least {_PARTED:g} standard deviations (of both together). One "
        "such difference among twenty may be chance."
    )


def _table(curves: Sequence[NoveltyCurve], names: Mapping[int, str]) -> Table:
    rows = [
        (
            names[each.participant],
            len(each.repeats),
            *(_value(each, minutes) for minutes in _AFTER),
            _longest(each) or None,
        )
        for each in curves
    ]
    return Table(
        title="Learnt novelty after some minutes",
        columns=(
            "participant",
            "repeats",
            *(f"after {minutes:g} min" for minutes in _AFTER),
            "longest time, min",
        ),
        rows=tuple(rows),
        note="Learnt / of somebody who never tires, with the same plays (by how many standard "
        "deviations they differ); 1 is an unheard song. ± is one standard deviation, given where "
        f"they differ by at least {_PARTED:g}: elsewhere value and spread are the prior's, and "
        "nothing was learnt. Longest time: after which a song came back; beyond it there is no "
        "value.",
    )


def _longest(curve: NoveltyCurve) -> float:
    """Return after how many minutes a song came back at the latest; 0 where none did."""
    return float(curve.repeats.max(initial=0.0))


def _at(curve: NoveltyCurve, minutes: float, values: Vector) -> float:
    return float(np.interp(np.log(minutes), np.log(curve.minutes), values))


def _value(curve: NoveltyCurve, minutes: float) -> str | None:
    if minutes > _longest(curve):
        return None
    mean, deviation, untired, parting = (
        _at(curve, minutes, values)
        for values in (
            curve.mean,
            curve.standard_deviation,
            curve.untired_mean,
            curve.parting(),
        )
    )
    spread = f" ± {deviation:.2f}" if abs(parting) >= _PARTED else ""
    apart = f"{parting:+.1f}".replace("-0.0", "+0.0")
    return f"{mean:.2f}{spread} / {untired:.2f} ({apart} sd)".replace("-", "−")


def _parts(curve: NoveltyCurve) -> bool:
    """Return whether the ratings speak at any of the times that the table has."""
    seen = [minutes for minutes in _AFTER if minutes <= _longest(curve)]
    return any(abs(_at(curve, minutes, curve.parting())) >= _PARTED for minutes in seen)


def _drawing(curves: Sequence[NoveltyCurve], names: Mapping[int, str], algorithm: str) -> Drawing:
    shown = curves[:_MOST_SHOWN]
    columns = min(_COLUMNS, len(shown))
    some = f" (the first {len(shown)} of {len(curves)})" if len(curves) > len(shown) else ""
    repeats = sum(len(each.repeats) for each in curves)
    parted = sum(_parts(each) for each in curves)
    return Drawing(
        name="novelty",
        caption=(
            "Novelty over the time since a song was heard, as learnt from each participant's part "
            f"with {spoken(algorithm)}{some}, from {counted(repeats, 'repeat')} in all. "
            "Dashed grey: of somebody who never tires, with the same plays. Where the two do not "
            "part, the prior speaks and not the ratings; they part clearly for "
            f"{parted} of {counted(len(curves), 'participant')}. Bands: one standard deviation. "
            "Marks at the bottom: when songs came back; beyond the last of them, dotted, nothing "
            "was learnt."
        ),
        draw=lambda figure: _draw(figure, shown, names, columns, algorithm),
        width=max(4.5, 1.0 + 2.2 * columns),
        height=1.0 + 1.7 * -(-len(shown) // columns),
    )


def _draw(
    figure: Figure,
    curves: Sequence[NoveltyCurve],
    names: Mapping[int, str],
    columns: int,
    algorithm: str,
) -> None:
    rows = -(-len(curves) // columns)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, curve in zip(grid.flat, curves, strict=False):
        _panel(axes, curve, look_of(algorithm).colour)
        axes.set_title(names[curve.participant], fontsize=9.5, pad=3)
    for place, axes in enumerate(grid.flat):
        if place >= len(curves):
            axes.set_visible(False)
        elif place + columns >= len(curves):
            axes.tick_params(labelbottom=True)
    figure.supxlabel("minutes since it was heard", fontsize=9.5)
    figure.supylabel("novelty, 1 = never heard", fontsize=9.5)


def _panel(axes: Axes, curve: NoveltyCurve, colour: str) -> None:
    low, high = (
        np.clip(curve.mean + side * curve.standard_deviation, _LOWEST, _HIGHEST) for side in (-1, 1)
    )
    axes.fill_between(curve.minutes, low, high, color=colour, alpha=0.22, linewidth=0)
    learnt = curve.minutes <= _longest(curve)
    axes.plot(curve.minutes[learnt], curve.mean[learnt], color=colour, linewidth=1.8)
    axes.plot(
        curve.minutes[learnt], curve.untired_mean[learnt], "--", color=_UNTIRED, linewidth=1.2
    )
    axes.plot(curve.minutes[~learnt], curve.mean[~learnt], ":", color=colour, linewidth=1.0)
    heard = curve.repeats[curve.repeats <= LONGEST_SHOWN]
    axes.vlines(heard, _LOWEST, _LOWEST + _RUG, color=colour, linewidth=0.5)
    axes.set(xscale="log", xlim=(1.0, LONGEST_SHOWN), ylim=(_LOWEST, _HIGHEST))
    axes.xaxis.set_major_formatter(plain)
    axes.grid()
