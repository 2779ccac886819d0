"""The figure of the comparison: every rater's error, and the mean of all."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.content.validation import LABELS
from bandstand_lab.report.figures import CYCLE, INK, MUTED, new_figure, png, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand_lab.content.comparison import RaterComparison

COLOURS: Final = {
    "random": CYCLE[6],
    "mean": CYCLE[1],
    "ridge": CYCLE[3],
    "content": CYCLE[0],
    "content-paper": CYCLE[4],
}
# Dots of one predictor are spread over this part of the distance to the next.
_SPREAD: Final = 0.5


def content_picture(comparison: RaterComparison, kind: str) -> bytes:
    """Return the figure as a file of that kind: png, svg or pdf."""
    with style():
        figure = new_figure(8.0, 4.2)
        draw_content(figure, comparison)
        if kind == "png":
            return png(figure)
        content = io.BytesIO()
        figure.savefig(content, format=kind)
        return content.getvalue()


def draw_content(figure: Figure, comparison: RaterComparison) -> None:
    """Draw every rater as a dot and the means with 95 % intervals beside them."""
    axes = figure.subplots()
    names = comparison.predictors[::-1]
    for place, name in enumerate(names):
        _draw_row(axes, place, comparison, name)
    axes.set_yticks(range(len(names)), [LABELS[name] for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(names) - 0.4)
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, 0.0), high + 0.12 * (high - low))  # no error is below 0
    axes.set_xlabel(
        "RMSE in rating points; a dot is a rater, a diamond the mean with its 95 % interval"
    )
    axes.set_title("How far predictions of unseen ratings are off")
    axes.grid(axis="x")


def _draw_row(axes: Axes, place: int, comparison: RaterComparison, name: str) -> None:
    errors, estimate = comparison.errors(name), comparison.estimate(name)
    axes.plot(errors, place + _scatter(len(errors)), "o", color=COLOURS[name], alpha=0.4, ms=4)
    interval = estimate.interval()
    if interval is not None:
        axes.plot(interval, [place, place], color=INK, linewidth=2.2, solid_capstyle="butt")
    axes.plot([estimate.mean], [place], "D", color=COLOURS[name], mec=INK, mew=1.0, ms=6.5)
    axes.annotate(
        f"{estimate.mean:.2f}",
        (max([float(errors.max()), *(interval or ())]), place),
        xytext=(9, 0),
        textcoords="offset points",
        verticalalignment="center",
        color=INK if name == "content" else MUTED,
        fontweight="bold" if name == "content" else "normal",
    )


def _scatter(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return heights that keep neighbours apart, the same ones every time."""
    golden = (np.arange(count) * 0.618_033_988_75) % 1.0
    return np.asarray(_SPREAD * (golden - 0.5))
