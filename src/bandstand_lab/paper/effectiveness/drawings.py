"""The figures: regret in four worlds, regret against greedy, slopes, and changes of one thing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib.ticker import FuncFormatter

from bandstand_lab.paper.effectiveness import causes, growth
from bandstand_lab.paper.effectiveness.design import (
    ALGORITHMS,
    GREEDY,
    LONG_ONES,
    LONG_PLACE,
    PLACES,
    VARIATIONAL,
)
from bandstand_lab.paper.effectiveness.variants import VARIANTS
from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Drawing
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import mean_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand_lab.paper.effectiveness.design import Place
    from bandstand_lab.paper.effectiveness.outcome import Outcome

_BEST_SHOWN: Final = ("random", "linucb-c", "linucb-cn", "thompson-cn-x")


def drawings(outcome: Outcome) -> tuple[Drawing, ...]:
    """Return all figures of the chapter."""
    return (
        Drawing(
            name="regret",
            caption=_regret_caption(outcome),
            draw=partial(_draw_regret, outcome),
            width=11.0,
            height=8.0,
        ),
        Drawing(
            name="against-greedy",
            caption=_greedy_caption(outcome),
            draw=partial(_draw_against_greedy, outcome),
            width=9.5,
            height=4.6,
        ),
        Drawing(
            name="growth",
            caption=_growth_caption(outcome),
            draw=partial(_draw_growth, outcome),
            width=7.5,
        ),
        Drawing(
            name="causes",
            caption=_causes_caption(outcome),
            draw=partial(_draw_causes, outcome),
            width=9.5,
            height=4.6,
        ),
    )


def _regret_caption(outcome: Outcome) -> str:
    best = [min(ALGORITHMS, key=lambda name: _last(outcome, place, name)) for place in PLACES]
    worst = [max(ALGORITHMS, key=lambda name: _last(outcome, place, name)) for place in PLACES]
    return (
        f"Mean regret of {outcome.design.listeners} listeners with one standard error to both "
        f"sides; lower is better. After {outcome.design.steps} songs the lowest is "
        f"{_counted(best)}, the highest {_counted(worst)}."
    )


def _counted(names: list[str]) -> str:
    """Return each name with the number of worlds it was found in."""
    different = list(dict.fromkeys(names))
    if len(different) == 1:
        return f"{look_of(different[0]).label} in all worlds"
    return ", ".join(f"{look_of(name).label} in {names.count(name)}" for name in different)


def _last(outcome: Outcome, place: Place, name: str) -> float:
    return float(outcome.curves(place, name)[:, -1].mean())


def _draw_regret(outcome: Outcome, figure: Figure) -> None:
    panels = figure.subplots(2, 2, sharex=True).ravel()
    for axes, place in zip(panels, PLACES, strict=True):
        _draw_world(axes, outcome, place)
    for axes in panels[2:]:
        axes.set_xlabel("songs played, n")


def _draw_world(axes: Axes, outcome: Outcome, place: Place) -> None:
    steps = np.arange(1.0, outcome.design.steps + 1)
    for name in figures.in_order(ALGORITHMS):
        curve = mean_curve(outcome.curves(place, name))
        figures.draw_curve(axes, steps, curve.mean, look_of(name), spread=curve.standard_error)
    axes.set_title(place.label)
    axes.set_ylabel("regret")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, len(steps))
    axes.yaxis.set_major_formatter(FuncFormatter(figures.plain))
    axes.grid(axis="y")
    figures.label_ends(axes, {name: _last(outcome, place, name) for name in ALGORITHMS})


def _relative(outcome: Outcome, place: Place, name: str) -> tuple[float, float, float]:
    """Return the regret less greedy's, in percent of greedy's: mean and 95 % interval."""
    ours, greedy = (outcome.curves(place, each)[:, -1] for each in (name, GREEDY))
    difference = paired_difference(ours, greedy)
    low, high = difference.interval()
    unit = float(greedy.mean()) / 100
    return difference.mean / unit, low / unit, high / unit


def _contenders() -> list[str]:
    """Return those that are close enough to greedy to be drawn on one scale with it."""
    others = [name for name in ALGORITHMS if name not in {*_BEST_SHOWN, GREEDY}]
    return [*figures.in_order(others), "thompson-cn-x"]


def _greedy_caption(outcome: Outcome) -> str:
    names = _contenders()
    counts = [
        f"{look_of(name).label} in {sum(_relative(outcome, p, name)[2] < 0 for p in PLACES)}"
        for name in names
    ]
    return (
        f"Regret after {outcome.design.steps} songs against that of Greedy-CN, with 95 % "
        f"intervals over listeners. Worlds with the whole interval below zero, of {len(PLACES)}: "
        f"{', '.join(counts)}."
    )


def _draw_against_greedy(outcome: Outcome, figure: Figure) -> None:
    axes = figure.subplots()
    names = _contenders()
    for place_number, place in enumerate(PLACES):
        for number, name in enumerate(names):
            mean, low, high = _relative(outcome, place, name)
            height = -place_number + 0.32 - 0.64 * number / (len(names) - 1)
            look = look_of(name)
            label = look.label if not place_number else None
            axes.plot([low, high], [height, height], color=look.colour, linewidth=look.width)
            axes.plot(mean, height, look.marker, color=look.colour, label=label, linestyle="none")
    axes.axvline(0, color=figures.MUTED, linewidth=1)
    axes.set_yticks([-number for number in range(len(PLACES))], [p.label for p in PLACES])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"regret after {outcome.design.steps} songs, % more than Greedy-CN")
    axes.grid(axis="x")
    figure.legend(loc="outside upper left", ncols=len(names))


def _growth_caption(outcome: Outcome) -> str:
    slopes = growth.long_slopes(outcome)
    each = ", ".join(f"{look_of(name).label} {slopes[name].mean:.2f}" for name in LONG_ONES)
    return (
        f"Regret on two logarithmic axes ({LONG_PLACE.label}, {outcome.design.listeners} "
        f"listeners). A radio that learns nothing rises with slope 1. Slopes of the second half, "
        f"drawn heavier: {each}."
    )


def _draw_growth(outcome: Outcome, figure: Figure) -> None:
    axes = figure.subplots()
    half = outcome.design.long_steps // 2
    steps = np.arange(1.0, outcome.design.long_steps + 1)
    ends = {}
    for name in figures.in_order(LONG_ONES):
        mean, look = mean_curve(outcome.long_curves(name)).mean, look_of(name)
        axes.plot(steps, mean, color=look.colour, linestyle=look.dashes, linewidth=1)
        axes.plot(steps[half:], mean[half:], color=look.colour, linewidth=3)
        ends[name] = float(mean[-1])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1, outcome.design.long_steps)
    axes.set_xlabel("songs played, n")
    axes.set_ylabel("regret")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(figures.plain))
    axes.grid()
    figures.label_ends(axes, ends)


def _causes_caption(outcome: Outcome) -> str:
    found = [
        (cell, name, place)
        for place in PLACES
        for name, cell in causes.effects(outcome, place).items()
    ]
    best = min(found, key=lambda each: each[0].ratio)
    worst = max(found, key=lambda each: each[0].ratio)
    return (
        f"What one change does to the regret of {look_of(VARIATIONAL).label} after "
        f"{outcome.design.variant_steps} songs ({outcome.design.variant_listeners} listeners, "
        "95 % intervals). The most that is gained is "
        f"{max(0.0, 100 * (1 - best[0].ratio)):.0f} % ({VARIANTS[best[1]].label}; "
        f"{best[2].label}), the most that is lost {max(0.0, 100 * (worst[0].ratio - 1)):.0f} % "
        f"({VARIANTS[worst[1]].label}; {worst[2].label})."
    )


def _draw_causes(outcome: Outcome, figure: Figure) -> None:
    panels = figure.subplots(1, len(PLACES), sharey=True)
    names = list(VARIANTS)
    for axes, place in zip(panels, PLACES, strict=True):
        for number, cell in enumerate(causes.effects(outcome, place).values()):
            low, high = cell.difference.interval()
            unit = cell.upper_mean / 100
            colour = figures.CYCLE[causes.SUSPECTS.index(VARIANTS[names[number]].suspect)]
            axes.plot([low / unit, high / unit], [-number, -number], color=colour)
            axes.plot(cell.difference.mean / unit, -number, "o", color=colour, markersize=5)
        axes.axvline(0, color=figures.MUTED, linewidth=1)
        axes.set_title(place.label.replace(", σ", "\nσ"))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
    panels[0].set_yticks(
        [-number for number in range(len(names))],
        [f"{VARIANTS[name].label}\n({VARIANTS[name].suspect})" for name in names],
    )
    figure.supxlabel("change of regret, %; left is better", fontsize="medium")
