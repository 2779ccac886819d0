"""The report of an experiment as a figure: regret by step, and differences at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand_lab.report.figures import (
    INK,
    draw_regret,
    file_of,
    look_of,
    new_figure,
    plain,
    style,
)
from bandstand_lab.simulation.report import counted, figures, with_error
from bandstand_lab.statistics.paired import p_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand_lab.simulation.report import Difference, ExperimentReport


def draw(report: ExperimentReport) -> Figure:
    """Return the figure; the second panel needs two algorithms and two listeners."""
    compared = [each for each in report.differences() if each.step == report.steps[-1]]
    with style():
        height = max(4.8, 1.4 + 0.44 * len(compared))
        figure = new_figure(12.4 if compared else 8.0, height)
        figure.suptitle(headline(report), x=0.01, horizontalalignment="left", fontsize=12)
        widths = (1.5, 1) if compared else (1,)
        panels = figure.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
        regrets = {name: report.outcome.regret(name) for name in report.experiment.algorithms}
        draw_regret(panels[0], regrets, "Regret, in units of ratings; one standard error shaded")
        if compared:
            _difference_panel(panels[1], report, compared)
        return figure


def picture(report: ExperimentReport, kind: str) -> bytes:
    """Return the figure as a file of that kind: png, svg or pdf."""
    return file_of(draw(report), kind)


def headline(report: ExperimentReport) -> str:
    """Return the least regret, in one line."""
    last, runs = report.experiment.steps, report.experiment.runs
    best = report.by_regret(last)[0]
    regret = f"{with_error(report.regret(best, last))}, {counted(runs, 'listener')}"
    return f"Least regret after {counted(last, 'song')}: {look_of(best).label}, {regret}"


def _difference_panel(axes: Axes, report: ExperimentReport, compared: list[Difference]) -> None:
    found = sorted(compared, key=lambda each: each.estimate.mean)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for place, each in enumerate(found):
        look = look_of(each.algorithm)
        axes.plot(each.estimate.interval(), [place, place], color=look.colour, lw=5, alpha=0.35)
        axes.plot([each.estimate.mean], [place], look.marker, color=look.colour, markersize=6)
    axes.set_yticks(range(len(found)), [_in_words(each) for each in found])
    axes.set_ylim(-0.6, len(found) - 0.4)
    axes.set_title(f"More regret than {look_of(report.reference).label}")
    when = f"after {counted(report.steps[-1], 'song')}"
    axes.set_xlabel(f"paired difference {when},\n95 % intervals, p by Holm")
    axes.xaxis.set_major_formatter(plain)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)


def _in_words(difference: Difference) -> str:
    """Return the algorithm with its numbers: one large difference makes others look like none."""
    mean, low, high = figures(difference.estimate.mean, *difference.estimate.interval())
    p_value = p_words(difference.corrected_p_value)
    return f"{look_of(difference.algorithm).label}\n{mean} [{low}, {high}], {p_value}"
