"""The benchmark on a screen: what was asked, training times, one online step."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from bandstand_lab.paper.efficiency import efficiency_findings
from bandstand_lab.report.study import Verdict
from bandstand_lab.speed.asked import asked_figures, number
from bandstand_lab.speed.evidence import in_order_of_time
from bandstand_lab.speed.training import LABELS, LARGE, asked_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand_lab.speed.bench import BenchResult
    from bandstand_lab.speed.step_times import StepTimes, WholeRun
    from bandstand_lab.speed.timing import Spread
    from bandstand_lab.speed.training import TrainingStudy

# What is not a screen has no width; the tables need this much.
_WIDTH_OF_FILES: Final = 120
_COLOURS: Final = {
    Verdict.HOLDS: "green",
    Verdict.PARTLY: "yellow",
    Verdict.FAILS: "red",
    Verdict.OPEN: "dim",
}


@contextmanager
def progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error; call what comes back as each part begins."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    begun = 0

    def on_run(what: str) -> None:
        nonlocal begun
        bar.update(task, description=what, completed=begun)
        begun += 1

    with bar:
        task = bar.add_task("starting", total=total)
        yield on_run


def print_tables(result: BenchResult, console: Console | None = None) -> None:
    """Print the whole result, medians with quartiles in brackets."""
    screen = console or Console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDTH_OF_FILES)
    screen.print(_asked_table(result))
    screen.print(_claims_table(result.training))
    screen.print(_training_table(result.training))
    screen.print(_order_table(result.training))
    screen.print(_step_table(result.steps))
    for run in result.runs:
        screen.print(_run_line(run))
    most = max(step.bytes_kept / step.bytes_of_catalogue for step in result.steps)
    screen.print(f"What is kept between steps takes up to {number(most)} × the catalogue's memory.")
    screen.print(
        f"One thread, {result.request.features} features, {result.request.songs:,} songs, "
        f"seed {result.request.seed}; measured in {result.seconds:.0f} s. Medians of processor "
        "time, quartiles in brackets or below; every run is in the JSON."
    )


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(x) for x in (0.00081, 0.0473, 2.351)]
    ['0.81 ms', '47.3 ms', '2.35 s']
    """
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(1_000 * seconds)} ms"


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def _asked_table(result: BenchResult) -> Table:
    table = _table("What was asked")
    for name in ("figure", "world", "asked", "measured", ""):
        table.add_column(name)
    for figure in asked_figures(result):
        mark = "[green]holds[/]" if figure.holds else "[red]misses[/]"
        table.add_row(figure.what, figure.world or "", figure.asked, figure.shown(), mark)
    return table


def _claims_table(study: TrainingStudy) -> Table:
    table = _table("What the paper says of training, and what was measured here")
    table.add_column("claim", ratio=2)
    table.add_column("measured", ratio=3)
    table.add_column("why", ratio=4)
    table.add_column("verdict", no_wrap=True)
    for finding in efficiency_findings(study):
        mark = f"[{_COLOURS[finding.verdict]}]{finding.verdict}[/]"
        table.add_row(finding.paper, finding.measured, f"[dim]{finding.why}[/]", mark)
        table.add_section()
    return table


def _order_table(study: TrainingStudy) -> Table:
    size = asked_size(study.sizes)
    table = _table(f"What is faster than what, with {size:,} ratings (95 % intervals)")
    table.add_column("method", no_wrap=True)
    for name in ("median", "times as long as\nthe one above", "times as long as\nvariational"):
        table.add_column(name, justify="right")
    for row in in_order_of_time(study, size):
        above = "" if row.over_faster is None else row.over_faster.shown()
        table.add_row(LABELS[row.method], duration(row.median), above, row.over_variational.shown())
    return table


def _training_table(study: TrainingStudy) -> Table:
    table = _table("Training time by number of ratings")
    table.add_column("method", no_wrap=True)
    for size in study.sizes:
        table.add_column(f"{size:,}", justify="right")
    table.add_column(f"growth\nfrom {LARGE}", justify="right")
    for method in study.methods:
        cells = [_stacked(study.seconds(method, size)) for size in study.sizes]
        growth = study.growth(method, LARGE)
        label = LABELS[method]
        if any(time.is_scaled for time in study.times if time.method == method):
            label += " (scaled)"
        table.add_row(label, *cells, "" if growth is None else f"N^{growth:.2f}")
    return table


def _stacked(spread: Spread) -> str:
    """Return the median, and the quartiles below it in the same unit."""
    unit = 1 if spread.median >= 1 else 1_000
    low, high = number(unit * spread.lower), number(unit * spread.upper)
    return f"{duration(spread.median)}\n[dim]{low}–{high}[/]"


def _step_table(steps: tuple[StepTimes, ...]) -> Table:
    table = _table("One online step: learn an answer, choose among all songs")
    for name in ("world", "songs"):
        table.add_column(name)
    for name in ("ratings", "nodes", "learn +\nchoose, ms", "LinUCB", "exact /\nLinUCB"):
        table.add_column(name, justify="right")
    for name in ("exact / rank-\none LinUCB", "recommender\n/ LinUCB", "grid\nmoves", "agreed"):
        table.add_column(name, justify="right")
    for step in steps:
        table.add_row(*_step_cells(step))
    return table


def _step_cells(step: StepTimes) -> list[str]:
    moves = 0 if step.grid.moved is None else len(step.grid.moved.runs)
    learn, choose = (number(1_000 * each.median) for each in (step.absorbing, step.choosing))
    return [
        step.world,
        step.picks,
        f"{step.ratings:,}",
        str(step.nodes),
        f"{learn} + {choose}",
        duration(step.seconds("linucb").median),
        _ratio(step.ratio()),
        _ratio(step.ratio("exact", "linucb-rank-one")),
        _ratio(step.ratio("recommender")),
        f"{moves}/{step.grid.steps}",
        f"{step.agreed}/{step.checked}",
    ]


def _ratio(spread: Spread) -> str:
    return f"{number(spread.median)}\n[dim]{number(spread.lower)}–{number(spread.upper)}[/]"


def _run_line(run: WholeRun) -> str:
    moved, others = run.grid.moved, run.grid.others
    text = f"{run.world}: of {run.grid.steps} steps from the first song on "
    if moved is None or others is None:
        return text + "none had to move the grid."
    return (
        f"{text}{len(moved.runs)} moved the grid, which made a step take "
        f"{duration(moved.median)} instead of {duration(others.median)}; "
        f"the mean of all steps is {number(run.mean_ratio)} × LinUCB's."
    )
