"""The figures of a study's report; their captions are in the template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.paper.novelty_learned import LONGEST_SHOWN
from bandstand_lab.report.figures import (
    INK,
    MUTED,
    draw_curve,
    label_ends,
    look_of,
    plain,
)
from bandstand_lab.user_study.analysis import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand_lab.user_study.analysis import Analysis, Comparison, Curve
    from bandstand_lab.user_study.measures import NoveltyCurve

# The first ratings jump about; the axis of the averages is chosen by those from here on.
_SETTLED_FROM: Final = 5
_SMALLEST_P: Final = 1e-5  # smaller p-values are drawn there
_RAW_COLOUR: Final = "#9aa1ad"
_CLEAR_COLOUR: Final = "#14418f"
_P_TICKS: Final = {1.0: "1", 0.05: "0.05", 1e-3: "0.001", _SMALLEST_P: "≤ 0.00001"}
_MAX_COLUMNS: Final = 5
_NOVELTY_LIMITS: Final = (-0.35, 1.6)
_MARK_HEIGHT: Final = 0.07  # of the marks for repeats
_UNTIRED_COLOUR: Final = "#6b7280"


def rows_of(panels: int) -> int:
    """Return how many rows of panels a figure needs."""
    return -(-panels // _MAX_COLUMNS)


def draw_ratings(figure: Figure, curves: Sequence[Curve]) -> None:
    """Draw average ratings with their standard errors, and below how many people there are."""
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    for curve in curves:
        look, spread = look_of(curve.algorithm), np.nan_to_num(curve.standard_error)
        draw_curve(axes, curve.steps.tolist(), curve.mean, look, spread=spread)
        below.step(curve.steps, curve.counts, where="mid", color=look.colour, linewidth=1.2)
    axes.set(ylabel="average rating, stars", ylim=_rating_limits(curves))
    axes.set_xlim(0, max(len(curve.mean) for curve in curves))
    most = max(int(curve.counts.max()) for curve in curves)
    below.set(xlabel="songs rated, n", ylabel="people", ylim=(0, 1.1 * most))
    axes.grid()
    below.grid()
    label_ends(axes, {curve.algorithm: float(curve.mean[-1]) for curve in curves})


def _rating_limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return limits that show all bands from the fifth song on, with a margin."""
    low, high = [], []
    for curve in curves:
        start = min(_SETTLED_FROM, len(curve.mean)) - 1
        error = np.nan_to_num(curve.standard_error[start:])
        low.append(float((curve.mean[start:] - error).min()))
        high.append(float((curve.mean[start:] + error).max()))
    margin = max(0.05, 0.06 * (max(high) - min(low)))
    return max(0.9, min(low) - margin), min(5.1, max(high) + margin)


def draw_differences(figure: Figure, pairs: Sequence[Comparison]) -> None:
    """Draw each pair's mean difference at its last n, with both intervals."""
    axes = figure.subplots()
    labels = []
    for place, each in enumerate(reversed(pairs)):
        # Written so that the difference is positive: the algorithm rated higher comes first.
        sign = -1 if each.mean[-1] < 0 else 1
        first, second = (each.first, each.second)[::sign]
        labels.append(f"{look_of(first).label}  above  {look_of(second).label}")
        colour = _CLEAR_COLOUR if each.clear_sign() else MUTED
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


def sides(pairs: Sequence[Comparison]) -> tuple[list[str], list[str]]:
    """Return the algorithms of the rows and of the columns of the panels of p-values."""
    rows = list(dict.fromkeys(each.first for each in pairs))
    columns = list(dict.fromkeys(each.second for each in pairs))
    return rows, columns


def draw_p_values(figure: Figure, analysis: Analysis) -> None:
    """Draw a panel for each pair: raw and corrected p-values against n."""
    rows, columns = sides(analysis.comparisons)
    grid = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
    for row, first in enumerate(rows):
        for column, second in enumerate(columns):
            axes, found = grid[row, column], analysis.between(first, second)
            if found is None:
                axes.set_visible(False)
                continue
            _p_panel(axes, found)
            title = f"{look_of(first).label}\nagainst {look_of(second).label}"
            axes.set_title(title, fontsize=7.6, pad=3)
    if len(columns) > 2:  # then there is room in the corner
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="upper right", fontsize=9.5)
    grid[0, 0].set_yscale("log")
    grid[0, 0].set_ylim(_SMALLEST_P / 1.6, 1.6)
    grid[0, 0].set_yticks(list(_P_TICKS), list(_P_TICKS.values()))
    grid[0, 0].minorticks_off()
    figure.supylabel("p-value", fontsize=9.5)
    figure.supxlabel("songs rated, n", fontsize=9.5)


def _p_panel(axes: Axes, found: Comparison) -> None:
    axes.fill_between(
        found.steps,
        _SMALLEST_P / 2,
        2,
        where=found.p_corrected <= LEVEL,
        color=_CLEAR_COLOUR,
        alpha=0.1,
        linewidth=0,
        label=f"at most {LEVEL:g}",
    )
    axes.axhline(LEVEL, color=INK, linestyle="--", linewidth=0.8, label=f"p = {LEVEL:g}")
    for values, colour, width, label in (
        (found.p_values, _RAW_COLOUR, 1.1, "each n by itself"),
        (found.p_over_steps, _CLEAR_COLOUR, 0.9, "corrected for all n of the pair"),
        (found.p_corrected, _CLEAR_COLOUR, 2.0, "corrected for all n and all pairs"),
    ):
        shown = np.maximum(_SMALLEST_P, values)
        axes.plot(found.steps, shown, color=colour, linewidth=width, label=label)
    axes.grid(axis="x")


def draw_uncertainty(figure: Figure, curves: Sequence[Curve]) -> None:
    """Draw the mean uncertainty of each algorithm's listeners against the number of ratings."""
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    for curve in curves:
        spread = np.nan_to_num(curve.standard_error)
        draw_curve(axes, curve.steps.tolist(), curve.mean, look_of(curve.algorithm), spread=spread)
    longest = max((curve.steps for curve in curves), key=len)
    axes.set(xlabel="ratings, n", ylabel="mean standard deviation of a song's worth, stars")
    axes.set_xticks(longest, [str(moment) for moment in longest])
    axes.tick_params(axis="x", which="minor", length=0)
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain)
    axes.grid()
    label_ends(axes, {curve.algorithm: float(curve.mean[-1]) for curve in curves})


def draw_novelty(figure: Figure, curves: Sequence[NoveltyCurve], algorithm: str) -> None:
    """Draw a panel for each participant: the learned curve and the one without tiring."""
    columns = min(_MAX_COLUMNS, len(curves))
    grid = figure.subplots(rows_of(len(curves)), columns, sharex=True, sharey=True, squeeze=False)
    for axes, curve in zip(grid.flat, curves, strict=False):
        _novelty_panel(axes, curve, look_of(algorithm).colour)
        axes.set_title(f"P{curve.participant}", fontsize=9.5, pad=3)
    for place, axes in enumerate(grid.flat):
        axes.set_visible(place < len(curves))
        axes.tick_params(labelbottom=place + columns >= len(curves))
    figure.supxlabel("minutes since it was heard", fontsize=9.5)
    figure.supylabel("novelty, 1 = never heard", fontsize=9.5)


def _novelty_panel(axes: Axes, curve: NoveltyCurve, colour: str) -> None:
    low, high = (
        np.clip(curve.mean + side * curve.standard_deviation, *_NOVELTY_LIMITS) for side in (-1, 1)
    )
    axes.fill_between(curve.minutes, low, high, color=colour, alpha=0.22, linewidth=0)
    learned = curve.minutes <= curve.longest
    axes.plot(curve.minutes[learned], curve.mean[learned], color=colour, linewidth=1.8)
    untired = curve.untired_mean[learned]
    axes.plot(curve.minutes[learned], untired, "--", color=_UNTIRED_COLOUR, linewidth=1.2)
    axes.plot(curve.minutes[~learned], curve.mean[~learned], ":", color=colour, linewidth=1.0)
    heard, bottom = curve.repeats[curve.repeats <= LONGEST_SHOWN], _NOVELTY_LIMITS[0]
    axes.vlines(heard, bottom, bottom + _MARK_HEIGHT, color=colour, linewidth=0.5)
    axes.set(xscale="log", xlim=(1.0, LONGEST_SHOWN), ylim=_NOVELTY_LIMITS)
    axes.xaxis.set_major_formatter(plain)
    axes.grid()
