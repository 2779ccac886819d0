"""The figure of the comparison: every rater's error, and the mean of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.content.validation import LABELS
from bandstand_lab.report.figures import CYCLE, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bandstand_lab.content.comparison import RaterComparison

_COLOURS: Final = dict(zip(LABELS, (CYCLE[6], CYCLE[1], CYCLE[3], CYCLE[0], CYCLE[4]), strict=True))
# Dots of one predictor are spread over this part of the distance to the next.
_SPREAD: Final = 0.5


def draw_content(figure: Figure, comparison: RaterComparison) -> None:
    """Draw every rater as a dot and the means with 95 % intervals beside them."""
    axes = figure.subplots()
    names = comparison.predictors[::-1]
    for place, name in enumerate(names):
        errors, estimate = comparison.errors(name), comparison.estimate(name)
        # Heights that keep neighbours apart, the same ones every time.
        heights = place + _SPREAD * ((np.arange(len(errors)) * 0.618_033_988_75) % 1.0 - 0.5)
        colour = _COLOURS[name]
        axes.plot(errors, heights, "o", color=colour, alpha=0.4, ms=4)
        ends = estimate.interval() or (estimate.mean, estimate.mean)
        axes.plot(ends, [place, place], color=INK, linewidth=2.2, solid_capstyle="butt")
        axes.plot([estimate.mean], [place], "D", color=colour, mec=INK, mew=1.0, ms=6.5)
    labels = [f"{LABELS[name]}\n{comparison.estimate(name).mean:.2f}" for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=max(axes.get_xlim()[0], 0.0))  # no error is below 0
    axes.set_xlabel(
        "RMSE in rating points; a dot is a rater, a diamond the mean with its 95 % interval"
    )
    axes.set_title("How far predictions of unseen ratings are off")
    axes.grid(axis="x")
