"""Errors of all predictors against how much of the taste lies in the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.content.plot import COLOURS
from bandstand_lab.content.predictors import LABELS
from bandstand_lab.content.simulated import PAPER_CONTENT_RMSE, PAPER_RANDOM_RMSE
from bandstand_lab.report.figures import MUTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from bandstand_lab.content.comparison import Comparison

_LOOKS: Final = {
    "random": (":", "."),
    "mean": ("--", "s"),
    "ridge": ("-", "^"),
    "content": ("-", "o"),
    "content-paper": ("-.", "v"),
}


def draw_shares(figure: Figure, by_share: Mapping[float, Comparison]) -> None:
    """Draw the mean error of each predictor with 95 % intervals, and the paper's two numbers."""
    axes = figure.subplots()
    places = sorted(by_share)
    for paper, name in ((PAPER_RANDOM_RMSE, "random"), (PAPER_CONTENT_RMSE, "content")):
        axes.axhline(paper, color=MUTED, linewidth=0.9)
        axes.text(
            97 * places[-1],
            paper - 0.032,
            f"the paper's {name}: {paper:.2f}",
            color=MUTED,
            verticalalignment="top",
            horizontalalignment="right",
        )
    for name, (dashes, marker) in _LOOKS.items():
        estimates = [by_share[share].estimate(name) for share in places]
        margins = [
            0.0 if interval is None else (interval[1] - interval[0]) / 2
            for interval in (estimate.interval() for estimate in estimates)
        ]
        axes.errorbar(
            [100 * share for share in places],
            [estimate.mean for estimate in estimates],
            yerr=margins,
            color=COLOURS[name],
            linestyle=dashes,
            marker=marker,
            markersize=5,
            capsize=2.5,
            label=LABELS[name],
        )
    axes.set(xlabel="share of a rater's feeling that lies in the features, %")
    axes.set_ylabel("RMSE in stars (mean over raters, 95 %)")
    axes.set_title("What it takes to predict stars: simulated raters")
    axes.legend(loc="lower left")
    axes.grid()
