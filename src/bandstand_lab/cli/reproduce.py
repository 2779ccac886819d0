"""`bandstand reproduce OUT`: every claim of the paper run again, in one report."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bandstand.cli._progress import counting

if TYPE_CHECKING:
    from bandstand_lab.report.page import ReproductionReport

_DATA = click.Path(exists=True, dir_okay=False, readable=True, resolve_path=True, path_type=Path)


@click.command()
@click.argument("out", metavar="OUT", type=click.Path(file_okay=False, path_type=Path))
@click.option("--quick", is_flag=True, help="Small samples, in minutes instead of hours.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of all random draws.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="STUDY",
    help="Run this study only; may be given several times.",
)
@click.option(
    "--history",
    "histories",
    multiple=True,
    type=_DATA,
    metavar="FILE",
    help="A listening history, as `bandstand history` reads it; may be given several times.",
)
@click.option("--items", type=_DATA, metavar="CSV", help="With --ratings: features of the items.")
@click.option("--ratings", type=_DATA, metavar="CSV", help="With --items: who rated which how.")
@click.option(
    "--workers", type=click.IntRange(1, 1024), help="Processes; as many as cores unless given."
)
@click.pass_context
def reproduce(
    ctx: click.Context,
    /,
    *,
    out: Path,
    quick: bool,
    seed: int,
    histories: tuple[Path, ...],
    items: Path | None,
    ratings: Path | None,
    **how: Any,
) -> None:
    """Run every claim of the paper again, and write one report into the folder OUT.

    The report is OUT/index.html, which needs nothing else; raw numbers are beside it. If a
    run was interrupted, the same command continues it.
    """
    if (items is None) != (ratings is None):
        msg = "--items and --ratings go together"
        raise click.UsageError(msg)
    if find_spec("matplotlib") is None:
        msg = "the report needs matplotlib, found none; install bandstand[report]"
        raise click.ClickException(msg)
    # Imported here: they take a while, and other commands do without.
    from bandstand_lab.paper.reproduce import STUDIES
    from bandstand_lab.paper.reproduce import reproduce as run
    from bandstand_lab.report.study import Plan

    plan = Plan(
        size="quick" if quick else "full",
        seed=seed,
        histories=histories,
        content=None if items is None or ratings is None else (items, ratings),
    )
    try:
        with counting("reproducing", lasting=False, of="jobs") as progress:
            report = run(out, plan, STUDIES, on_done=progress, **how)
    except KeyboardInterrupt:
        click.echo("Interrupted; the same command continues it.", err=True)
        raise
    _print_verdicts(out, report)
    ctx.exit(1 if report.problems else 0)


def _print_verdicts(out: Path, report: ReproductionReport) -> None:
    """Print the verdicts, and where to read more; what failed goes to standard error."""
    from bandstand_lab.report.page import tally

    for chapter in report.chapters:
        click.echo(chapter.title)
        for finding in chapter.findings:
            click.echo(f"  {finding.verdict}: {finding.paper}")
    counts = tally(report.chapters)
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    click.echo(f"Claims: {verdicts or 'none'}.")
    click.echo(f"The report is {out / 'index.html'}")
    for problem in report.problems:
        click.echo(f"Error: {problem}", err=True)
