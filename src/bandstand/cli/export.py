"""`bandstand export`: the store as lines of JSON."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from bandstand.cli._options import named_account, opened_store, require_store, store_option
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGINNING: Final = b'{"type":"header","bandstand":"export"'


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--user", "name", metavar="NAME", help="Only what this account has.")
@store_option
def export(*, file: str, name: str | None, store: str | None) -> None:
    """Write the store to FILE as lines of JSON; - is standard output.

    Songs, files, accounts without their passwords, logs and playlists, as of one moment;
    `bandstand import` reads it into an empty store of either kind. The export of one account
    has no paths, and is for its owner.
    """
    from bandstand.store.transfer.jsonl import export_lines

    require_store(store)
    with opened_store(store) as opened:
        with opened.reading() as connection:
            account = None if name is None else named_account(connection, name).id
        with _written(file) as out:
            for line in export_lines(opened, account=account):
                out.write(line.encode() + b"\n")
    if file != "-":
        click.echo(f"Exported to {file}.")


@contextmanager
def _written(file: str) -> Iterator[BinaryIO]:
    """Yield the file to write to, which appears when it is complete, or standard output."""
    from bandstand.cli._output_files import check_place
    from bandstand.store.database.sqlite_file import written_beside

    check_place(file, option="FILE")
    place = Path(os.path.realpath(file))
    if file == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif place.exists() and not place.is_file():  # a pipe or a device is written to, not replaced
        with place.open("wb") as out:
            yield out
    else:
        _refuse_other_files(place)
        with written_beside(place) as unfinished, unfinished.open("wb") as out:
            yield out
            out.flush()


def _refuse_other_files(place: Path) -> None:
    """Refuse to write over anything but an older export: the store itself is easily named."""
    if not place.exists():
        return
    with place.open("rb") as file:
        start = file.read(len(_BEGINNING))
    if start not in {b"", _BEGINNING}:
        msg = f"FILE must be a new file or an older export, got {str(place)!r}, something else"
        raise InvalidInputError(msg)
