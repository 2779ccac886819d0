"""`bandstand import`: an export into an empty store."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from bandstand.cli._options import opened_store, store_option
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command("import")
@click.argument("file", type=click.Path(allow_dash=True))
@store_option
def import_(*, file: str, store: str | None) -> None:
    """Read an export in FILE into a store that is empty; - is standard input.

    All of it is read, or nothing. The accounts have no passwords: `bandstand user password`
    sets them.
    """
    from bandstand.store.transfer.jsonl import import_lines

    with _opened(file) as lines, opened_store(store) as opened:
        counts = import_lines(opened, lines)
    names = ("song", "account", "event", "playlist")
    click.echo(f"Imported {', '.join(f'{counts[name]:,} {name}s' for name in names)}.")
    if counts["account"]:
        click.echo("No account has a password yet; `bandstand user password NAME` sets one.")


@contextmanager
def _opened(file: str) -> Iterator[TextIO]:
    try:
        if file == "-":
            with open(sys.stdin.fileno(), encoding="utf-8", newline="\n", closefd=False) as lines:
                yield lines
        else:
            with open(file, encoding="utf-8", newline="\n") as lines:  # as given
                yield lines
    except UnicodeDecodeError as problem:
        msg = f"an export must be text in UTF-8, got other bytes: {problem.reason}"
        raise InvalidInputError(msg) from problem
    except OSError as problem:
        msg = f"an export must be a file that can be read, got {file!r}: {problem.strerror}"
        raise InvalidInputError(msg) from problem
