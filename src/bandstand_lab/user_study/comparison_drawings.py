"""The comparisons as figures: differences at the end, and p-values against n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bandstand_lab.report.figures import INK, MUTED, look_of
from bandstand_lab.report.spoken import spoken
from bandstand_lab.report.study import Drawing
from bandstand_lab.user_study.analysis import FEWEST_PEOPLE, favours
from bandstand_lab.user_study.words import counted, listed, stars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand_lab.user_study.analysis import Analysis, Comparison

_FLOOR: Final = 1e-5  # smaller p-values are drawn there
_RAW: Final = "#9aa1ad"
_CLEAR: Final = "#14418f"
_TICKS: Final = (1.0, 0.05, 1e-3, _FLOOR)
_TICK_WORDS: Final = ("1", "0.05", "0.001", "≤ 0.00001")


def differences_drawing(analysis: Analysis) -> Drawing:
    """Return all pairs' mean differences with intervals, the largest on top."""
    pairs = sorted(analysis.comparisons, key=lambda each: -abs(float(each.mean[-1])))
    clear = [each for each in pairs if favours(each, analysis.level)]
    said = (
        f"Clear, at most {analysis.level:g} in the end with at least {FEWEST_PEOPLE} people: "
        f"{len(clear)} of {counted(len(pairs), 'pair')}, "
        f"{listed([_one_of(each) for each in clear[:3]])}{' and others' if len(clear) > 3 else ''}."
        if clear
        else _none_clear(len(pairs))
    )
    return Drawing(
        name="differences",
        caption=(
            "Mean difference between two algorithms in the end, at the last n that can be tested, "
            f"person by person. {said} Thick: 95 % interval of the pair alone; thin: wide enough "
            "for all pairs together; blue: clear."
        ),
        draw=lambda figure: _draw_differences(figure, pairs, analysis.level),
        width=8.8,
        height=1.3 + 0.3 * len(pairs),
    )


def p_drawing(analysis: Analysis) -> Drawing:
    """Return a panel for each pair: raw and corrected p-values against n."""
    rows, columns = _sides(analysis.comparisons)
    lasting = [each for each in analysis.comparisons if each.significant_from(analysis.level)]
    said = (
        f"It stays there to the last n for {len(lasting)} of "
        f"{counted(len(analysis.comparisons), 'pair')}."
        if lasting
        else "It stays there to the last n for no pair."
    )
    return Drawing(
        name="p-values",
        caption=(
            "p-values against the number of songs n, one panel for each pair: the row's algorithm "
            "against the column's. Grey: each n by itself; thin blue: corrected for all n of the "
            "pair; thick blue: for all pairs as well; shaded: where that is at most "
            f"{analysis.level:g}, the dashed line. {said}"
        ),
        draw=lambda figure: _draw_p(figure, analysis, rows, columns),
        width=max(5.0, 1.2 + 2.15 * len(columns)),
        height=1.0 + 1.5 * len(rows),
    )


def _none_clear(pairs: int) -> str:
    if pairs == 1:
        return "The two do not differ clearly."
    return f"None of the {pairs} pairs differs clearly."


def _one_of(each: Comparison) -> str:
    first, second = each.first, each.second
    if each.mean[-1] < 0:
        first, second = second, first
    size = stars(abs(float(each.mean[-1])))
    return f"{spoken(first)} above {spoken(second)} by {size.lstrip('+')} stars"


def _draw_differences(figure: Figure, pairs: Sequence[Comparison], level: float) -> None:
    axes = figure.subplots()
    labels = []
    for place, each in enumerate(reversed(pairs)):
        # Written so that the difference is positive: who was rated higher stands first.
        sign = -1.0 if each.mean[-1] < 0 else 1.0
        first, second = (each.first, each.second)[:: int(sign)]
        labels.append(f"{look_of(first).label}  above  {look_of(second).label}")
        colour = _CLEAR if favours(each, level) else MUTED
        for corrected, width in ((True, 1.0), (False, 3.2)):
            ends = [sign * end for end in each.interval(corrected=corrected)]
            axes.plot(ends, [place, place], color=colour, linewidth=width, solid_capstyle="butt")
        axes.plot([sign * float(each.mean[-1])], [place], "o", color=colour, markersize=5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(-0.7, len(labels) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("difference of the average ratings, stars")
    axes.grid(axis="x")


def _sides(pairs: Sequence[Comparison]) -> tuple[list[str], list[str]]:
    rows = list(dict.fromkeys(each.first for each in pairs))
    columns = list(dict.fromkeys(each.second for each in pairs))
    return rows, columns


def _draw_p(figure: Figure, analysis: Analysis, rows: list[str], columns: list[str]) -> None:
    grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
    for row, first in enumerate(rows):
        for column, second in enumerate(columns):
            axes, found = grid[row, column], analysis.between(first, second)
            if found is None:
                axes.set_visible(False)
                continue
            _p_panel(axes, found, analysis.level)
            first_label, second_label = look_of(first).label, look_of(second).label
            axes.set_title(f"{first_label}\nagainst {second_label}", fontsize=7.6, pad=3)
    if len(columns) > 2:  # then there is room in the corner
        figure.legend(handles=_legend(analysis.level), loc="upper right", fontsize=9.5)
    grid[0, 0].set_yscale("log")
    grid[0, 0].set_ylim(_FLOOR / 1.6, 1.6)
    grid[0, 0].set_yticks(_TICKS, _TICK_WORDS)
    grid[0, 0].minorticks_off()
    figure.supylabel("p-value", fontsize=9.5)
    figure.supxlabel("songs rated, n", fontsize=9.5)


def _legend(level: float) -> list[Artist]:
    return [
        Line2D([], [], color=_RAW, linewidth=1.1, label="each n by itself"),
        Line2D([], [], color=_CLEAR, linewidth=0.9, label="corrected for all n of the pair"),
        Line2D([], [], color=_CLEAR, linewidth=2.0, label="corrected for all n and all pairs"),
        Line2D([], [], color=INK, linestyle="--", linewidth=0.8, label=f"p = {level:g}"),
        Patch(color=_CLEAR, alpha=0.1, linewidth=0, label=f"at most {level:g}"),
    ]


def _p_panel(axes: Axes, found: Comparison, level: float) -> None:
    raw, over_steps, corrected = (
        np.maximum(_FLOOR, some) for some in (found.p_values, found.p_over_steps, found.p_corrected)
    )
    clear = found.p_corrected <= level
    axes.fill_between(found.steps, _FLOOR / 2, 2, where=clear, color=_CLEAR, alpha=0.1, linewidth=0)
    axes.axhline(level, color=INK, linestyle="--", linewidth=0.8)
    axes.plot(found.steps, raw, color=_RAW, linewidth=1.1)
    axes.plot(found.steps, over_steps, color=_CLEAR, linewidth=0.9, alpha=0.75)
    axes.plot(found.steps, corrected, color=_CLEAR, linewidth=2.0)
    axes.grid(axis="x")
