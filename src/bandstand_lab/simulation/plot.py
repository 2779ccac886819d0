"""The report of an experiment as a figure: regret by step, and differences at the end."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from bandstand_lab.report.figures import (
    INK,
    draw_curve,
    in_order,
    label_ends,
    look_of,
    new_figure,
    plain,
    style,
)
from bandstand_lab.simulation.report import counted, figures, p_shown, with_error
from bandstand_lab.statistics.summaries import mean_curve

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
        if not compared:
            _regret_panel(figure.subplots(), report)
            return figure
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        _regret_panel(left, report)
        _difference_panel(right, report, compared)
        return figure


def picture(report: ExperimentReport, kind: str) -> bytes:
    """Return the figure as a file of that kind: png, svg or pdf."""
    content = io.BytesIO()
    with style():
        draw(report).savefig(content, format=kind, dpi=150)
    return content.getvalue()


def headline(report: ExperimentReport) -> str:
    """Return the least regret, in one line."""
    last, runs, best = report.experiment.steps, report.experiment.runs, report.best
    regret = f"{with_error(report.regret(best, last))}, {counted(runs, 'listener')}"
    return f"Least regret after {counted(last, 'song')}: {look_of(best).label}, {regret}"


def _regret_panel(axes: Axes, report: ExperimentReport) -> None:
    steps = np.arange(1.0, report.experiment.steps + 1)
    ends = {}
    for name in in_order(report.experiment.algorithms):
        curve = mean_curve(report.outcome.regret(name))
        draw_curve(axes, steps, curve.mean, look_of(name), spread=curve.standard_error)
        ends[name] = float(curve.mean[-1])
    axes.set_xlim(0, len(steps))
    axes.set_ylim(bottom=0)
    axes.set_title("Regret, in units of ratings")
    axes.set(xlabel="songs played, n")
    axes.set_ylabel("mean over listeners, standard error shaded")
    axes.yaxis.set_major_formatter(plain)
    axes.xaxis.set_major_formatter(plain)
    axes.grid()
    label_ends(axes, ends)


def _difference_panel(axes: Axes, report: ExperimentReport, compared: list[Difference]) -> None:
    found = sorted(compared, key=lambda each: each.estimate.mean)
    axes.axvline(0.0, color=INK, linewidth=1.0)
    for place, each in enumerate(found):
        look, (low, high) = look_of(each.algorithm), each.estimate.interval()
        axes.plot(
            *([low, high], [place, place]),
            color=look.colour,
            linewidth=5,
            alpha=0.35,
            solid_capstyle="butt",
        )
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
    p_value = p_shown(difference.corrected_p_value)
    equals = "" if p_value.startswith("<") else "= "
    return f"{look_of(difference.algorithm).label}\n{mean} [{low}, {high}], p {equals}{p_value}"
