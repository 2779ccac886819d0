"""`bandstand study`: people compare algorithms blindly, and a report says what they found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import click

from bandstand.cli._lazy_group import Command, LazyGroup
from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.cli._study_invite import invite
from bandstand.cli._study_store import named_study, same_study
from bandstand.cli.serve import run_server, server_options
from bandstand.errors import InvalidInputError

_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.group(
    cls=LazyGroup,
    homes={
        "report": Command(
            "bandstand_lab.cli.study_report:report", "Write what a study has found, as one page."
        )
    },
)
def study() -> None:
    """Compare algorithms blindly with people, and report what they found.

    FILE describes a study: who is asked what. It names the study in the store by its title.
    """


study.add_command(invite)


@study.command()
@click.argument("file", type=_FILE)
def new(*, file: Path) -> None:
    """Write a study's FILE with the paper's numbers, to be read and changed."""
    from bandstand.study.design import template

    try:
        with file.open("x", encoding="utf-8") as made:
            made.write(template())
    except FileExistsError:
        msg = f"a file that is not there yet was expected, got {str(file)!r}, which is"
        raise InvalidInputError(msg) from None
    except OSError as problem:
        msg = f"a file that can be written was expected, got {str(file)!r}: {problem.strerror}"
        raise InvalidInputError(msg) from problem
    click.echo(f"Wrote {file}. Read it, change what you like, then: bandstand study run {file} DIR")


@study.command()
@click.argument("file", type=_FILE)
@click.argument("folders", nargs=-1, metavar="DIR…")
@server_options
@click.pass_context
def run(ctx: click.Context, /, *, file: Path, config: str | None, **options: Any) -> None:
    """Open the study, or go on with it, and serve it to its participants.

    The first time the music below the folders is analysed, and the songs are fixed for the whole
    study; without a folder those that the store has. Later starts take the same FILE; one that
    says something else is refused.
    """
    from bandstand.cli._study_opening import opened_for
    from bandstand.settings import load_settings
    from bandstand.study.design import read_design

    design = read_design(file)
    settings = load_settings(options=options, environment=os.environ, config=config)
    click.echo(opened_for(ctx, settings, design))
    run_server(settings)


@study.command()
@click.argument("file", type=_FILE)
@store_option
def status(*, file: Path, store: str | None) -> None:
    """Say how far everybody is; participants have numbers here, not names."""
    from bandstand.cli._study_status import status_lines

    require_store(store)
    with opened_store(store) as opened, opened.reading() as connection:
        for line in status_lines(connection, named_study(opened, file)):
            click.echo(line)


@study.command()
@click.argument("file", type=_FILE)
@click.option("--yes", is_flag=True, help="Without asking.")
@store_option
def close(*, file: Path, yes: bool, store: str | None) -> None:
    """End the study: nobody can rate any more, everything is kept."""
    from bandstand._util.clock import system_clock
    from bandstand.store import studies

    require_store(store)
    with opened_store(store) as opened:
        row = same_study(opened, file)
        if row.closed_at is not None:
            msg = f"a study that is open was expected, got {row.title!r}, which is closed"
            raise InvalidInputError(msg)
        if not yes:
            question = f"Close {row.title!r} for good? Nobody can rate in it any more."
            click.confirm(question, abort=True, err=True)
        with opened.writing() as connection:
            studies.close(connection, row.id, system_clock())
    click.echo(f"Closed {row.title!r}; `bandstand study report {file} OUT` tells what was found.")
