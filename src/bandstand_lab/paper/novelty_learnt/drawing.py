"""Learnt novelty curves with their bands, beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.paper.novelty_learnt.learning import ALGORITHM, LONGEST_SHOWN, places
from bandstand_lab.report.figures import TRUTH, look_of, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOWEST, _HIGHEST = -0.35, 1.5
_RUG: Final = 0.05  # height of the marks for repeats


def draw_learnt(
    figure: Figure, rows: Mapping[str, Sequence[Mapping[str, Any]]], titles: Mapping[str, str]
) -> None:
    """Draw one row for each way of listening, one column for each listener."""
    columns = max(len(listeners) for listeners in rows.values())
    panels = figure.subplots(len(rows), columns, sharex=True, sharey=True, squeeze=False)
    for line, (way, listeners) in zip(panels, rows.items(), strict=True):
        for axes, result in zip(line, listeners, strict=False):
            _panel(axes, result)
        line[0].set_ylabel(f"{titles[way]}\nnovelty, scaled")
    for axes, result in zip(panels[0], next(iter(rows.values())), strict=False):
        axes.set_title(f"s = {result['recovery_time']:,.0f} minutes")
    for axes in panels[-1]:
        axes.set_xlabel("minutes since it was heard")
    panels[0][0].legend(loc="upper left", fontsize=8.5)


def _panel(axes: Axes, result: Mapping[str, Any]) -> None:
    look, minutes = look_of(ALGORITHM), places()
    mean, deviation = np.array(result["mean"]), np.array(result["standard_deviation"])
    low, high = (np.clip(mean + side * deviation, _LOWEST, _HIGHEST) for side in (-1, 1))
    axes.fill_between(
        minutes, low, high, color=look.colour, alpha=0.22, linewidth=0, label="± one sd"
    )
    axes.plot(minutes, mean, color=look.colour, linewidth=2, label="learnt")
    axes.plot(minutes, result["truth"], color=TRUTH, linestyle="--", linewidth=1.4, label="truth")
    heard = np.array(result["repeats"])
    heard = heard[heard <= LONGEST_SHOWN]
    axes.vlines(heard, _LOWEST, _LOWEST + _RUG, color=look.colour, linewidth=0.5)
    axes.set(xscale="log", xlim=(1.0, LONGEST_SHOWN), ylim=(_LOWEST, _HIGHEST))
    axes.xaxis.set_major_formatter(plain)
    axes.grid()
