"""The report of an experiment on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.simulation.report import Difference, Report
    from bandstand_lab.statistics.summaries import MeanEstimate

# What is not a screen has no width; the tables need this much.
_WIDTH_OF_FILES: Final = 120
_SMALLEST_P: Final = 1e-4


def print_report(report: Report, console: Console | None = None) -> None:
    """Print regrets with slopes, then the differences from the reference."""
    screen = console or Console(highlight=False)
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDTH_OF_FILES)
    screen.print("Regret: mean ± standard error over listeners, the least at the top", style="bold")
    screen.print(_regret_table(report))
    differences = report.differences()
    if differences:
        title = f"Regret above that of {report.reference}, listener by listener"
        screen.print(title, style="bold")
        screen.print(_difference_table(differences))
    screen.print(_about(report), soft_wrap=True)


def _table() -> Table:
    return Table(box=SIMPLE_HEAD)


def _regret_table(report: Report) -> Table:
    last = report.steps[-1]
    table = _table()
    table.add_column("algorithm", no_wrap=True)
    for step in report.steps:
        table.add_column(f"n = {step:,}", justify="right", no_wrap=True)
    table.add_column("slope [95 %]", justify="right", no_wrap=True)
    order = sorted(report.experiment.algorithms, key=lambda name: report.regret(name, last).mean)
    for name in order:
        cells = [with_error(report.regret(name, step)) for step in report.steps]
        table.add_row(name, *cells, _slope(report.slope(name)))
    return table


def _difference_table(differences: tuple[Difference, ...]) -> Table:
    table = _table()
    table.add_column("algorithm", no_wrap=True)
    for name in ("n", "difference [95 %]", "p", "p, Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in differences:
        low, high = each.estimate.interval()
        mean, least, most = figures(each.estimate.mean, low, high)
        table.add_row(
            each.algorithm,
            f"{each.step:,}",
            rf"{mean} \[{least}, {most}]",
            p_shown(each.estimate.p_value),
            p_shown(each.corrected_p_value),
        )
    return table


def _about(report: Report) -> str:
    """Return what was simulated, and what a slope is."""
    experiment = report.experiment
    text = (
        f"{counted(experiment.runs, 'listener')}, {counted(experiment.steps, 'song')} each, "
        f"seed {experiment.seed}. {in_words(experiment.world.describe())} "
        "Slope: k of regret ~ n^k in the second half; 1 is no learning."
    )
    if experiment.runs == 1:
        text += " One listener has no standard error; --runs N follows more."
    return text


def in_words(world: Mapping[str, Any]) -> str:
    """Return a sentence about a world, from its own description."""
    songs = counted(world["songs"], "song")
    noise = f"noise of standard deviation {world['noise_standard_deviation']:g}."
    if world["kind"] == "taste":
        people = f"listeners from {counted(world['people'], 'person', 'people')}"
        return f"{songs}, each a mixture of {counted(world['genres'], 'genre')}; {people}; {noise}"
    features = counted(world["features"], "feature")
    scale = "of variance 1" if world["scale"] == "entries" else "scaled to a mean squared norm of 1"
    kind = "drawn" if world["kind"] == "gaussian" else "of a catalogue"
    return f"{songs} with {features} {scale}, {kind}; {noise}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number of things in words.

    >>> counted(1, "song"), counted(2_000, "song"), counted(2, "person", "people")
    ('1 song', '2,000 songs', '2 people')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def figures(*values: float) -> list[str]:
    """Return numbers that belong together, with about three digits of the largest.

    >>> figures(1234.5, 61.7), figures(31.42, -3.14), figures(0.1234)
    (['1,234', '62'], ['31.4', '-3.1'], ['0.123'])
    """
    largest = max(map(abs, values))
    digits = 0 if largest >= 100 else 1 if largest >= 10 else 2 if largest >= 1 else 3
    return [f"{value:,.{digits}f}" for value in values]


def with_error(estimate: MeanEstimate) -> str:
    """Return a mean and its standard error, if it has one."""
    if estimate.standard_error is None:
        return figures(estimate.mean)[0]
    return " ± ".join(figures(estimate.mean, estimate.standard_error))


def p_shown(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> p_shown(0.0421), p_shown(3e-9)
    ('0.042', '< 0.0001')
    """
    return f"< {_SMALLEST_P:.4f}" if p_value < _SMALLEST_P else f"{p_value:.2g}"


def _slope(slope: MeanEstimate | None) -> str:
    if slope is None:
        return "none"
    interval = slope.interval()
    shown = f"{slope.mean:.2f}"
    return shown if interval is None else rf"{shown} \[{interval[0]:.2f}, {interval[1]:.2f}]"
