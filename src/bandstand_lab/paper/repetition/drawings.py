"""The figures of the playlist study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from matplotlib import colormaps

from bandstand_lab.paper.repetition.measures import distance_to_people
from bandstand_lab.paper.repetition.settings import EXACT, KNOWN
from bandstand_lab.paper.repetition.tables import label
from bandstand_lab.report.figures import (
    BAD,
    GOOD,
    INK,
    MUTED,
    TRUTH,
    Look,
    in_order,
    look_of,
    plain,
)
from bandstand_lab.report.spoken import spoken
from bandstand_lab.report.study import Drawing
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.types import Vector
    from bandstand_lab.paper.repetition.measures import Measures, Played
    from bandstand_lab.paper.repetition.people import Person

_MOST_COLUMNS: Final = 5
_FEW_PLAYS: Final = 12  # up to here an axis of decades would have a single mark
_FEWEST_SHOWN: Final = 5.5  # so that lines of single plays do not look like mountains
_PEOPLE_COLOUR: Final = "#c9cdd5"
_BEHIND: Final = Look(label="", colour=_PEOPLE_COLOUR, width=0.7)
_SHAPE_COLOURS: Final = {Shape.ZIPF: GOOD, Shape.OTHER: BAD, Shape.OPEN: MUTED}


def rank_frequency(results: Mapping[str, Played], people: Sequence[Person]) -> Drawing:
    """Return plays over rank, a panel for each algorithm, with people behind."""
    names = in_order(results)
    rows = _rows(len(names))
    follow = [_spoken(name) for name in names if results[name].shape is Shape.ZIPF]
    behind = " Grey: real people, the same number of plays." if people else ""
    return Drawing(
        name="repetition-rank-frequency",
        caption=(
            "Plays of a song over its rank, both axes logarithmic, one line for each listener. "
            f"Zipf's law is a straight line: by likelihood {_listed(follow)} it than to an "
            f"exponential fall and to equal plays.{behind}"
        ),
        draw=lambda figure: _panels(figure, [results[name] for name in names], people),
        width=12.0,
        height=0.6 + 2.7 * rows,
    )


def _spoken(name: str) -> str:
    return label(name) if name == KNOWN else spoken(name)


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no algorithm is nearer to"
    if len(names) == 1:
        return f"only {names[0]} is nearer to"
    return f"{', '.join(names[:-1])} and {names[-1]} are nearer to"


def _panels(figure: Figure, results: Sequence[Played], people: Sequence[Person]) -> None:
    rows = _rows(len(results))
    columns = -(-len(results) // rows)  # as many in each row, as far as possible
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, played in zip(grid.flat, results, strict=False):
        for person in people:
            _draw(axes, person.stretches[0], _BEHIND)
        for run in played.runs:
            _draw(axes, run.plays_by_rank, _look(played.algorithm))
        _name(axes, played)
    _scale(grid[0, 0], _most([*_runs_plays(results), *(each.stretches[0] for each in people)]))
    for axes in list(grid.flat)[len(results) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("plays")
    for place in range(len(results)):
        if place + columns >= len(results):
            axes = grid.flat[place]
            axes.set_xlabel("rank of the song")
            axes.tick_params(labelbottom=True)


def _rows(panels: int) -> int:
    return -(-panels // _MOST_COLUMNS)


def _draw(axes: Axes, plays_by_rank: Vector, look: Look) -> None:
    axes.plot(
        np.arange(1, len(plays_by_rank) + 1),
        plays_by_rank,
        color=look.colour,
        linewidth=min(look.width, 1.4),
        alpha=0.9,
    )


def _scale(axes: Axes, most: int) -> None:
    """Fix the plays that all panels show: their axes are one, so the largest of all counts."""
    if most < _FEW_PLAYS:
        axes.set_yticks([1, 2, 3, 5, 10])
    axes.set_ylim(0.9, max(1.3 * most, _FEWEST_SHOWN))


def _name(axes: Axes, played: Played) -> None:
    """Write above the panel, where no line goes: its name, the line's numbers, the verdict."""
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)
    axes.grid(which="major")
    axes.minorticks_off()
    axes.set_title(label(played.algorithm), fontsize=9.5, pad=28)
    slope, fit = played.mean("slope"), played.mean("r_squared")
    line = "no slope: all equally often"
    if slope is not None and fit is not None:
        line = f"slope {slope.mean:.2f}, R² {fit.mean:.2f}"
    _above(axes, 15, line.replace("-", "−"), INK)
    _above(axes, 4, _shape_said(played), _SHAPE_COLOURS[played.shape])


def _above(axes: Axes, points: float, words: str, colour: str) -> None:
    axes.annotate(
        words,
        (0.0, 1.0),
        xycoords="axes fraction",
        xytext=(0, points),
        textcoords="offset points",
        fontsize=8.5,
        color=colour,
    )


def _shape_said(played: Played) -> str:
    runs = len(played.runs)
    if runs == 1:
        return str(played.shape)
    return f"Zipf for {played.shapes[Shape.ZIPF]} of {runs}"


def _look(name: str) -> Look:
    return Look(label="Taste known", colour=TRUTH) if name == KNOWN else look_of(name)


def distances(
    results: Mapping[str, Played], between: Mapping[str, Sequence[float]]
) -> tuple[Drawing, ...]:
    """Return how far each algorithm is from people; nothing where there are no people."""
    if not between:
        return ()
    said = " ".join(_nearest(results, source, far) for source, far in between.items())
    return (
        Drawing(
            name="repetition-distance",
            caption=(
                f"How far each algorithm's repetition is from real people's. {said} Pale dots: "
                "listeners; diamonds: their mean with one standard error; dashed: people from each "
                "other."
            ),
            draw=lambda figure: _distance_panels(figure, results, between),
            width=4.6 + 3.2 * len(between),
            height=1.0 + 0.31 * len(results),
        ),
    )


def _nearest(results: Mapping[str, Played], source: str, between: Sequence[float]) -> str:
    means = {name: mean_estimate(each.distances[source]).mean for name, each in results.items()}
    near, far = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    among = f"; they are {mean_estimate(between).mean:.2f} from each other" if between else ""
    return (
        f"Nearest to the people of {source} is {_spoken(near)} ({means[near]:.2f}), farthest "
        f"{_spoken(far)} ({means[far]:.2f}){among}."
    )


def _distance_panels(
    figure: Figure, results: Mapping[str, Played], between: Mapping[str, Sequence[float]]
) -> None:
    names = in_order(results)[::-1]
    panels = figure.subplots(1, len(between), sharey=True, squeeze=False)[0]
    for axes, (source, far) in zip(panels, between.items(), strict=True):
        for place, name in enumerate(names):
            _distance_line(axes, place, results[name].distances[source], _look(name).colour)
        if far:
            axes.axvline(mean_estimate(far).mean, color=INK, linestyle="--", linewidth=1.0)
        axes.set_title(source, fontsize=9.5)
        axes.set_xlim(0, 1)
        axes.grid(axis="x")
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), [label(name) for name in names])
    figure.supxlabel("distance: share of plays that would have to go to other songs", fontsize=9.5)


def _distance_line(axes: Axes, place: int, values: Sequence[float], colour: str) -> None:
    estimate = mean_estimate(values)
    axes.plot(values, [place] * len(values), "o", color=colour, alpha=0.3, markersize=4)
    error = estimate.standard_error or 0.0
    axes.errorbar(*([estimate.mean], [place]), xerr=[error], fmt="D", color=colour, markersize=5.5)


def recovery_times(sweep: Mapping[float, Measures], people: Sequence[Person]) -> Drawing:
    """Return what a known taste plays for several recovery times."""
    follow = sum(each.shape is Shape.ZIPF for each in sweep.values())
    behind = " Grey: real people." if people else ""
    return Drawing(
        name="repetition-recovery-times",
        caption=(
            "Why: what is played when the taste is known and the song of largest Uc · Un is always "
            "next. The longer novelty takes to recover, the more songs take turns, but the curve "
            f"stays round and ends suddenly: nearest to Zipf's law for {follow} of {len(sweep)} "
            f"recovery times.{behind}{_closest(sweep, people)}"
        ),
        draw=lambda figure: _recovery_panel(figure, sweep, people),
    )


def _closest(sweep: Mapping[float, Measures], people: Sequence[Person]) -> str:
    """Return at which recovery time a known taste repeats songs most as people do."""
    far = {
        minutes: distance
        for minutes, each in sweep.items()
        if (distance := distance_to_people(each.plays_by_rank, people)) is not None
    }
    if not far:
        return ""
    near = min(far, key=far.__getitem__)
    return f" It comes nearest to them at s = {_time(near)} (distance {far[near]:.2f})."


def _recovery_panel(
    figure: Figure, sweep: Mapping[float, Measures], people: Sequence[Person]
) -> None:
    axes = figure.subplots()
    for person in people:
        _draw(axes, person.stretches[0], _BEHIND)
    shades = np.linspace(0.25, 0.95, len(sweep))
    for shade, (minutes, each) in zip(shades, sweep.items(), strict=True):
        colour = colormaps["viridis_r"](shade)
        ranks = np.arange(1, each.songs + 1)
        axes.plot(ranks, each.plays_by_rank, color=colour, linewidth=1.8, label=_time(minutes))
    axes.set(xscale="log", yscale="log", xlabel="rank of the song", ylabel="plays")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_formatter(plain)
    axes.minorticks_off()
    axes.grid()
    axes.legend(title="recovery time s", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _time(minutes: float) -> str:
    hours = minutes / 60
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.0f} days"


def pooled(results: Mapping[str, Played], listeners: int) -> Drawing:
    """Return plays over rank at the paper's length, all listeners in one list."""
    names = in_order(results)
    follow = [_spoken(name) for name in names if results[name].shape is Shape.ZIPF]
    return Drawing(
        name="repetition-paper-length",
        caption=(
            f"As long as the paper's subjects listened: {listeners} listeners in one list. "
            f"No song comes more than {_most(_runs_plays(results.values()))} times, and under "
            f"exact Bayes-UCB {results[EXACT].runs[0].repeat_share:.1%} of the plays are repeats; "
            f"by likelihood {_listed(follow)} Zipf's law than to the other two."
        ),
        draw=lambda figure: _panels(figure, [results[name] for name in names], ()),
        width=12.0,
        height=6.0,
    )


def _runs_plays(results: Iterable[Played]) -> list[Vector]:
    return [run.plays_by_rank for played in results for run in played.runs]


def _most(plays_by_rank: Iterable[Vector]) -> int:
    """Return how often the most played song of all was played."""
    return max(int(plays[0]) for plays in plays_by_rank)
