"""Regret over listeners as a table and as curves, for every study that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import FuncFormatter

from bandstand._util.power_laws import second_half_slopes
from bandstand_lab.report import figures
from bandstand_lab.report.study import Table
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell

_SLOPE_NOTE: Final = (
    "Slope: of the second half, on two logarithmic axes; 1 where nothing is learnt."
)


def regret_table(
    title: str,
    rows: Iterable[tuple[str, str, Matrix]],
    looks: Sequence[int],
    *,
    heads: tuple[str, str] = ("world", "radio"),
    slopes: bool = False,
) -> Table:
    """Return mean and standard error after `looks` songs of a radio in a world.

    With `slopes` also that of the second half, which needs regrets above zero.
    """
    found: list[tuple[Cell, ...]] = []
    for world, radio, regrets in rows:
        estimates = [mean_estimate(regrets[:, look - 1]) for look in looks]
        numbers = [number for each in estimates for number in (each.mean, each.standard_error)]
        slope = [float(second_half_slopes(regrets).mean())] if slopes else []
        found.append((world, radio, *numbers, *slope))
    numbered = [head for look in looks for head in (f"n = {look}", f"± SE ({look})")]
    columns = (*heads, *numbered, *(["slope"] if slopes else []))
    return Table(
        title=title, columns=columns, rows=tuple(found), note=_SLOPE_NOTE if slopes else ""
    )


def draw_regret(axes: Axes, curves: Mapping[str, Matrix], title: str) -> None:
    """Draw the mean regret of each algorithm over the songs, with one standard error."""
    ends = {}
    for name in figures.in_order(curves):
        curve = mean_curve(curves[name])
        places = np.arange(1.0, len(curve.mean) + 1)
        look = figures.look_of(name)
        figures.draw_curve(axes, places, curve.mean, look, spread=curve.standard_error)
        ends[name] = float(curve.mean[-1])
    axes.set(title=title, xlabel="songs played, n", ylabel="regret")
    axes.set_xlim(0, next(iter(curves.values())).shape[1])
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(figures.plain))
    axes.grid(axis="y")
    figures.label_ends(axes, ends)
