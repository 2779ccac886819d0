"""What is believed before and after, and how often the better song is played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import gammaln

from bandstand_lab.paper.worked_example.example import (
    BAYES_UCB,
    GREEDY,
    NAMES,
    POLICIES,
    TRUTH,
    B,
    C,
)
from bandstand_lab.report.figures import CYCLE, INK, MUTED, draw_curve, look_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.types import Matrix, Vector

_COLOURS: Final = (CYCLE[1], CYCLE[0])
_DASHES: Final = ("--", "-")
_RANGE: Final = (-0.5, 2.95)


def student_density(values: Vector, belief: Mapping[str, Any], song: int) -> Vector:
    """Return p(U) of a song at `values`: a Student t with that mean and standard deviation."""
    freedom = belief["degrees_of_freedom"]
    scale = belief["standard_deviations"][song] * np.sqrt((freedom - 2) / freedom)
    away = (values - belief["means"][song]) / scale
    log_constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2)
    constant = np.exp(log_constant) / (np.sqrt(freedom * np.pi) * scale)
    return np.asarray(constant * (1 + away**2 / freedom) ** (-(freedom + 1) / 2))


def draw_beliefs(figure: Figure, found: Mapping[str, Any], songs: int) -> None:
    """Draw p(U) of both songs: at first, after the greedy policy, after Bayes-UCB."""
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    _belief_panel(panels[0], found[GREEDY]["before"], "Before")
    for axes, policy, name in zip(panels[1:], POLICIES, ("greedy", "Bayes-UCB"), strict=True):
        played = int(np.sum(found[policy]["choices"][0][:songs]))
        title = f"After {songs} songs, {name}: {songs - played} × B, {played} × C"
        _belief_panel(axes, found[policy]["after"], title)
    panels[0].set_ylim(0, 1.12 * panels[0].get_ylim()[1])  # room for names
    panels[0].set_ylabel("density of what the song may be worth")
    panels[1].set_xlabel("expected rating U; dotted: the truth; triangle: the quantile")


def _belief_panel(axes: Axes, belief: Mapping[str, Any], title: str) -> None:
    values = np.linspace(*_RANGE, 600)
    for song in (B, C):
        density = student_density(values, belief, song)
        axes.plot(values, density, color=_COLOURS[song], linestyle=_DASHES[song], linewidth=2)
        axes.fill_between(values, density, color=_COLOURS[song], alpha=0.15, linewidth=0)
        axes.axvline(TRUTH[song], color=_COLOURS[song], linestyle=":", linewidth=1.2)
        axes.plot(belief["quantiles"][song], 0, "^", color=_COLOURS[song], ms=8, clip_on=False)
        mean, left = belief["means"][song], song == np.argmin(belief["means"])
        axes.annotate(
            f"{NAMES[song]}, mean {mean:.1f}",
            (mean, float(student_density(np.array([mean]), belief, song)[0])),
            xytext=(-8 if left else 8, 4),
            textcoords="offset points",
            horizontalalignment="right" if left else "left",
            color=_COLOURS[song],
            fontweight="bold",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )
    axes.set_title(title)
    axes.set_xlim(*_RANGE)
    axes.set_ylim(bottom=0, auto=True)
    axes.grid(axis="x")


def draw_shares(figure: Figure, choices: Mapping[str, Matrix]) -> None:
    """Draw in how many of all runs each policy plays the better song, step by step."""
    axes = figure.subplots()
    axes.axhline(1.0, color=MUTED, linewidth=0.8)
    for policy in (GREEDY, BAYES_UCB):
        table = choices[policy]
        share = table.mean(axis=0)
        error = np.sqrt(share * (1 - share) / len(table))
        draw_curve(axes, range(1, table.shape[1] + 1), share, look_of(policy), spread=error)
    axes.set(xlabel="song number", ylabel="share of runs that play C (± s.e.)", ylim=(-0.04, 1.06))
    axes.set_title("Who finds the better song", color=INK)
    axes.legend(loc="center right")
    axes.grid()
