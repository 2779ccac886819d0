"""The paper's efficiency figure, one online step beside LinUCB's, and the claims in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from bandstand.errors import InvalidInputError
from bandstand_lab.paper.efficiency import efficiency_findings, training_panel
from bandstand_lab.report.figures import (
    BAD,
    GOOD,
    GRID,
    INK,
    MUTED,
    look_of,
    new_figure,
    plain,
    style,
)
from bandstand_lab.report.study import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from bandstand_lab.report.study import Finding
    from bandstand_lab.speed.bench import BenchResult
    from bandstand_lab.speed.step_times import StepTimes

_COLOURS: Final = {
    Verdict.HOLDS: GOOD,
    Verdict.PARTLY: "#8a6100",
    Verdict.FAILS: BAD,
    Verdict.OPEN: MUTED,
}
# Of the words below the panels: letters in a line, and its height in inches.
_LETTERS: Final = 150
_LINE: Final = 0.19
_PANELS: Final = 5.4


def plot(result: BenchResult, file: Path) -> None:
    """Write the figure; the ending of the file's name says in which format."""
    findings = efficiency_findings(result.training)
    words = _LINE * (2 + sum(1 + len(_wrapped(finding)) for finding in findings))
    with style():
        figure = new_figure(12.4, _PANELS + words)
        axes = figure.subplot_mosaic(
            [["training", "step"], ["claims", "claims"]],
            width_ratios=(1.45, 1),
            height_ratios=(_PANELS, words),
        )
        training_panel(axes["training"], result.training)
        _step_panel(axes["step"], result.steps)
        _claims_panel(axes["claims"], findings)
        try:
            figure.savefig(file, dpi=150)
        except ValueError as problem:
            msg = f"the plot must have a name that ends as a picture does (.png), got {file}"
            raise InvalidInputError(msg) from problem


def _claims_panel(axes: Axes, findings: Sequence[Finding]) -> None:
    """Write each claim with its verdict, and below it what was measured."""
    lines = 2 + sum(1 + len(_wrapped(finding)) for finding in findings)
    axes.axis("off")
    axes.set_ylim(lines, 0)
    axes.set_xlim(0, 1)
    axes.set_title("What the paper says of training, and what was measured here")
    row = 0.8
    for finding in findings:
        colour = _COLOURS[finding.verdict]
        axes.text(0.0, row, finding.verdict, color=colour, fontweight="bold", va="center")
        axes.text(0.105, row, finding.paper, va="center", fontweight="bold")
        for number, line in enumerate(_wrapped(finding), start=1):
            axes.text(0.105, row + number, line, va="center", color=INK)
        row += 1 + len(_wrapped(finding)) + 0.15


def _wrapped(finding: Finding) -> list[str]:
    return textwrap.wrap(finding.measured, _LETTERS)


def _step_panel(axes: Axes, steps: tuple[StepTimes, ...]) -> None:
    """Draw the ratio of one online step to LinUCB's in every situation that was measured."""
    names = [f"{step.world}, {step.picks}, {step.ratings:,}" for step in steps]
    axes.set_ylabel("world, who picks the songs, ratings so far")
    places = list(range(len(steps)))[::-1]
    axes.axvline(1.0, color=INK, linewidth=1.0)
    for place, step in zip(places, steps, strict=True):
        ratio = step.ratio()
        colour = look_of("exact").colour if ratio.median <= 1 else BAD
        axes.plot([ratio.lower, ratio.upper], [place, place], color=colour, alpha=0.35, linewidth=5)
        axes.plot([ratio.median], [place], "o", color=colour, markersize=5.5)
        axes.annotate(
            f"{ratio.median:.2f}",
            (ratio.upper, place),
            xytext=(6, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=8.5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )
    axes.set_title("One online step beside LinUCB")
    axes.set_yticks(places, names)
    widest = max(step.ratio().upper for step in steps)
    if widest > 4:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter("")
    axes.set_xlim(None if widest > 4 else 0.0, 1.3 * max(widest, 1.0))
    axes.set_xlabel("times as long as plain LinUCB (median, quartiles)")
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.tick_params(axis="y", length=0)
