"""The time of one step as songs grow, and as answers grow, beside the references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand.errors import InvalidInputError
from bandstand_lab.report.figures import GRID, INK, new_figure, plain, spaced, style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

_LABEL_DISTANCE: Final = 0.062  # of the height of a panel


class _Line(NamedTuple):
    """How the times of one thing are drawn."""

    key: str
    label: str
    colour: str
    dashes: str
    marker: str
    width: float


_STEP: Final = _Line("step", "one step", "#14418f", "-", "o", 2.4)
_REFERENCES: Final = (
    _Line("linucb-product", "LinUCB, whole product", "#b84a00", "--", "^", 1.6),
    _Line("linucb-widths", "LinUCB, rank-one widths", "#cc8000", "-.", "v", 1.6),
    _Line("stream", "reading the matrix once", "#6b7280", ":", "s", 1.6),
)


def plot(document: Mapping[str, Any], file: Path) -> None:
    """Write the figure; the ending of the file's name says in which format."""
    growth = document["parts"].get("growth")
    if growth is None:
        msg = "the figure shows the part growth, got a run without it"
        raise InvalidInputError(msg)
    with style():
        figure = new_figure(12.4, 4.9)
        left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
        ratings = growth["songs"][0]["ratings"]
        _panel(left, growth["songs"], "songs", (_STEP, *_REFERENCES))
        left.set_title(f"As songs grow: a listener with {ratings:,} ratings")
        songs = growth["ratings"][0]["songs"]
        _panel(right, growth["ratings"], "ratings", (_STEP, _REFERENCES[-1]))
        right.set_title(f"As ratings grow: {songs:,} songs")
        features = document["request"]["features"]
        figure.suptitle(
            f"One rating in, the best of all songs out: {features} features, exact quantile, "
            "one thread",
            x=0.01,
            ha="left",
            fontweight="bold",
        )
        figure.savefig(file, dpi=150)


def _panel(axes: Axes, steps: Sequence[Mapping[str, Any]], by: str, lines: Sequence[_Line]) -> None:
    found = sorted(steps, key=lambda one: one[by])
    sizes = [one[by] for one in found]
    axes.set(xscale="log", yscale="log")
    for line in lines:
        spreads = [one["seconds"][line.key] for one in found]
        _draw(axes, sizes, spreads, line)
    times = [one["seconds"][line.key]["median"] for one in found for line in lines]
    axes.set_ylim(500 * min(times), 3_000 * max(times))
    axes.set(xlabel=by, ylabel="processor time of a step (median; quartiles shaded)")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(lambda value, place: f"{plain(value, place)} ms")
    axes.minorticks_off()
    axes.grid(color=GRID, linewidth=0.7)
    _label_ends(axes, {line: found[-1]["seconds"][line.key]["median"] for line in lines})


def _draw(
    axes: Axes, sizes: Sequence[int], spreads: Sequence[Mapping[str, float]], line: _Line
) -> None:
    low, high = (
        [1_000 * each[name] for each in spreads] for name in ("lower_quartile", "upper_quartile")
    )
    axes.fill_between(sizes, low, high, color=line.colour, alpha=0.15, linewidth=0)
    axes.plot(
        sizes,
        [1_000 * each["median"] for each in spreads],
        color=line.colour,
        linestyle=line.dashes,
        linewidth=line.width,
        marker=line.marker,
        markersize=5,
    )


def _label_ends(axes: Axes, last: Mapping[_Line, float]) -> None:
    """Write each line's name right of the panel, where it ends."""
    to_panel = axes.transScale + axes.transLimits
    right = axes.get_xlim()[1]
    order = sorted(last, key=lambda line: last[line])
    heights = [float(to_panel.transform((right, 1_000 * last[line]))[1]) for line in order]
    for line, height in zip(order, spaced(heights, _LABEL_DISTANCE), strict=True):
        axes.text(
            1.015,
            height,
            line.label,
            transform=axes.transAxes,
            color=line.colour if line is not _STEP else INK,
            verticalalignment="center",
            fontweight="bold" if line is _STEP else "normal",
        )
