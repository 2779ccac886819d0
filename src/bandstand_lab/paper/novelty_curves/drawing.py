"""Novelty curves of several listeners with straight pieces, and how far those are off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.model.novelty import novelty
from bandstand.types import MONTH
from bandstand_lab.report.figures import CYCLE, INK, MUTED, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES: Final = ("-", "--", "-.", ":")
_LAST_KNOT: Final = 2.0**11


def draw_curves(figure: Figure, curves: Sequence[Mapping[str, Any]]) -> None:
    """Draw 1 − exp(−t/s) for each s, with the best four pieces as circles joined by lines."""
    axes = figure.subplots()
    minutes = np.linspace(0, _LAST_KNOT, 800)
    for place, curve in enumerate(curves):
        recovery_time, colour = curve["recovery_time"], CYCLE[place]
        values = novelty(minutes, recovery_time)
        axes.plot(minutes, values, color=colour, alpha=0.35, linewidth=4)
        ends = np.array(curve["four_pieces"]["ends"])
        axes.plot(
            ends,
            novelty(ends, recovery_time),
            color=colour,
            marker="o",
            markerfacecolor="white",
            linewidth=1.4,
            label=f"s = {recovery_time:,g} minutes",
        )
    axes.set(xlabel="minutes since the song was heard", ylabel="novelty Un = 1 − exp(−t/s)")
    axes.set(xlim=(0, 1.015 * _LAST_KNOT), ylim=(0, 1.03))
    axes.xaxis.set_major_formatter(plain)
    axes.set_title("Four straight pieces (circles) on novelty curves (wide lines)")
    axes.legend(loc="lower right")
    axes.grid()


def draw_errors(figure: Figure, curves: Sequence[Mapping[str, Any]]) -> None:
    """Draw how far the paper's pieces, with their ends on the curve, are below it at each time."""
    axes = figure.subplots()
    for place, curve in enumerate(curves):
        _draw_error(axes, curve, CYCLE[place], _DASHES[place % len(_DASHES)])
    top = axes.get_ylim()[1]
    axes.axvline(_LAST_KNOT, color=MUTED, linewidth=1.0)
    axes.text(
        _LAST_KNOT * 0.93,
        top,
        "last knot, 2¹¹ minutes",
        color=MUTED,
        horizontalalignment="right",
        verticalalignment="top",
    )
    axes.set(xscale="log", xlim=(0.1, MONTH), ylim=(0, top))
    axes.xaxis.set_major_formatter(plain)
    axes.set(xlabel="minutes since the song was heard, up to a month", ylabel="curve minus pieces")
    axes.set_title("How far the paper's 16 pieces are off", color=INK)
    axes.legend(loc="center left")
    axes.grid()


def _draw_error(axes: Axes, curve: Mapping[str, Any], colour: str, dashes: str) -> None:
    minutes = np.geomspace(0.1, MONTH, 3_000)
    recovery_time = curve["recovery_time"]
    nodes = np.array(curve["paper_pieces"]["ends"])
    pieces = np.interp(minutes, nodes, novelty(nodes, recovery_time))
    axes.plot(
        minutes,
        novelty(minutes, recovery_time) - pieces,
        color=colour,
        linestyle=dashes,
        label=f"s = {recovery_time:,g} minutes",
    )
