"""`bandstand history FILE`: repetition and novelty in exports of listening histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bandstand.cli._output_files import check_output, json_option, replace_file
from bandstand.cli._progress import counting
from bandstand.cli._tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_lab.histories.findings import AllFindings
    from bandstand_lab.histories.plays import Histories

_MAX_ROWS: Final = 20  # of a table


@click.command("analyse", short_help="Measure how often songs come back in listening histories.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--each-file", is_flag=True, help="Every FILE is the history of another listener.")
@json_option
def analyse(*, files: tuple[Path, ...], each_file: bool, json_file: str | None) -> None:
    """Measure how often songs come back in listening histories.

    FILE is an export of Spotify (both kinds), Last.fm or ListenBrainz, or a CSV file with a
    column for the song and one for the time; also compressed (.gz), or an archive (.zip). The
    format is found by its content. Nothing leaves this computer.
    """
    check_output(files, json_file)
    from bandstand_lab.histories.findings import examine
    from bandstand_lab.histories.plays import read

    with counting("reading", lasting=False) as progress:
        begun = 0

        def on_file(_: str) -> None:
            nonlocal begun
            progress(begun, None)
            begun += 1

        found = read(files, apart=each_file, on_file=on_file)
    with counting("examining", lasting=False, of="listeners") as progress:
        findings = examine(found, on_listener=progress)
    if json_file is not None:
        from bandstand_lab.histories.words import document

        text = json.dumps(document(found, findings), allow_nan=False, indent=2)
        replace_file(json_file, f"{text}\n".encode())
    if json_file != "-":
        _print(found, findings)


def _print(found: Histories, findings: AllFindings) -> None:
    """Print what was read and what is in it; of many files or listeners the first."""
    from bandstand_lab.histories import words

    _print_table(words.SOURCE_COLUMNS, [words.source_row(each) for each in found.sources])
    click.echo("\n".join([*words.source_lines(found)[:_MAX_ROWS], ""]))
    rows = [words.listener_row(each) for each in findings.listeners]
    last = [words.listener_row(findings.together)] if len(rows) > 1 else []
    _print_table(words.LISTENER_COLUMNS, rows, last)
    click.echo(f"\n{words.LEGEND}")
    forecasts = words.forecast_rows(findings)
    if forecasts:
        click.echo()
        _print_table(words.FORECAST_COLUMNS, forecasts)
        click.echo(f"\n{words.FORECAST_LEGEND}")


def _print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], last: Sequence[Sequence[str]] = ()
) -> None:
    print_table(header, [*rows[:_MAX_ROWS], *last], framed=False)
    if len(rows) > _MAX_ROWS:
        click.echo(f"(and {len(rows) - _MAX_ROWS:,} more)")


@click.command("warm-start", short_help="Measure what a radio that imports a history gains by it.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
def warm_start_(*, files: tuple[Path, ...]) -> None:
    """Measure what a radio that imports a history gains by it.

    The first half of each listener's plays is imported; the 50 songs that the radio would play
    first are judged by the second half, beside those of a newcomer, which are drawn.
    """
    from bandstand_lab.histories import warm_start
    from bandstand_lab.histories.plays import read

    found = [
        each for history in read(files) if (each := warm_start.warm_start(history)) is not None
    ]
    if not found:
        click.echo("No listener has enough plays to be judged.")
        return
    _print_table(warm_start.COLUMNS, warm_start.rows(found))
