"""`bandstand study report`: the findings of a study as a web page."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.cli._progress import counting
from bandstand.cli.study import named_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.study.records import StudyData


@click.command()
@click.argument("places", nargs=-1, metavar="[FILE] OUT", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "export",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Report on an exported study instead of one in the store.",
)
@click.option(
    "--simulate",
    "people",
    type=click.IntRange(1, 200),
    metavar="PEOPLE",
    help="Of this number of simulated participants; the report says so.",
)
@click.option(
    "--effect",
    "effects",
    multiple=True,
    metavar="NAME=STARS",
    help="With --simulate: how much better an algorithm is; may be given several times.",
)
@store_option
@click.pass_context
def report(
    ctx: click.Context,
    /,
    *,
    places: tuple[Path, ...],
    export: Path | None,
    people: int | None,
    effects: tuple[str, ...],
    store: str | None,
) -> None:
    """Write the report of the study that FILE names into the folder OUT.

    The report is OUT/index.html, which needs nothing else. OUT/export has all ratings, and gives
    the same report again (--from). With --simulate no FILE is needed.
    """
    file, out = _places(places, export=export, people=people)
    if effects and people is None:
        msg = "--effect goes with --simulate, which plants it"
        raise click.UsageError(msg)
    if find_spec("matplotlib") is None:
        msg = "the report needs matplotlib, found none; install bandstand[report]"
        raise click.ClickException(msg)
    from bandstand_lab.user_study.command import check_folder, write_report

    check_folder(out)
    data = _data(file, export=export, people=people, effects=effects, store=store)
    with counting("reporting", lasting=False, of="chapters") as progress:
        written = write_report(data, out, on_done=progress)
    if data.simulated:
        click.echo("The participants are simulated: no person has rated anything.")
    click.echo(written.answer)
    click.echo(f"The report is {out / 'index.html'}")
    for problem in written.problems:
        click.echo(f"Error: {problem}", err=True)
    ctx.exit(1 if written.problems else 0)


def _places(
    places: Sequence[Path], *, export: Path | None, people: int | None
) -> tuple[Path | None, Path]:
    """Return the study's file, where one is asked for, and the folder to write."""
    if export is not None and people is not None:
        msg = "--from and --simulate do not go together"
        raise click.UsageError(msg)
    match list(places):
        case [out] if export is not None or people is not None:
            return None, out
        case [file, out] if export is None:
            return file, out
    expected = "OUT" if export is not None else "FILE and OUT"
    msg = f"expected {expected}, got {', '.join(map(repr, map(str, places))) or 'nothing'}"
    raise click.UsageError(msg)


def _data(
    file: Path | None,
    *,
    export: Path | None,
    people: int | None,
    effects: Sequence[str],
    store: str | None,
) -> StudyData:
    if export is not None:
        from bandstand.study.study_files import read_export

        return read_export(export)
    if people is not None:
        return _simulated(file, people, effects)
    if file is None:  # pragma: no cover  # `_places` asks for one
        msg = "a study's FILE must be given"
        raise click.UsageError(msg)
    from bandstand.study.study_store import study_data

    require_store(store)
    with opened_store(store) as opened:
        return study_data(opened, named_study(opened, file, may_differ=True).id)


def _simulated(file: Path | None, people: int, effects: Sequence[str]) -> StudyData:
    import numpy as np

    from bandstand.study.design import Design, read_design
    from bandstand_lab.user_study.simulated import simulated_study

    design = Design() if file is None else read_design(file)
    return simulated_study(
        design,
        people=people,
        effects=dict(map(_effect, effects)),
        rng=np.random.default_rng(design.seed),
    )


def _effect(given: str) -> tuple[str, float]:
    name, _, size = given.partition("=")
    try:
        return name, float(size)
    except ValueError:
        msg = f"--effect must be NAME=STARS, such as greedy-cn=0.3, got {given!r}"
        raise click.UsageError(msg) from None
