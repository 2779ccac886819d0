"""Files that commands write: refused before the work begins, written whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bandstand._util.atomic_files import replacing
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json FILE`, given to the command as `json_file`."""
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        callback=_checked_json,
        help="Write all numbers there; - is standard output, in place of the tables.",
    )(command)


def check_output(inputs: Iterable[Path], json_file: str | None) -> None:
    """Refuse to write over what is read."""
    if json_file is not None and any(_same(Path(json_file), read) for read in inputs):
        msg = f"results must not be written over what is read, got {json_file!r} for both"
        raise InvalidInputError(msg)


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (
        one.is_file() and other.is_file() and one.samefile(other)
    )


def _checked_json(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    del ctx, param
    if value is not None:
        check_place(value, option="--json")
    return value


def check_place(name: str, *, option: str) -> None:
    """Refuse a file that could not be written, before the work for it begins."""
    try:
        place = Path(name).resolve()
        is_device = _is_device(place)
    except (OSError, RuntimeError, ValueError) as problem:  # a link in a circle, for instance
        msg = f"{option} must name a file that can be written, got {name!r}: {problem}"
        raise InvalidInputError(msg) from problem
    if name == "-" or is_device:
        return
    if name == "" or place.is_dir():
        msg = f"{option} must name a file, got {name!r}, which is a folder"
        raise InvalidInputError(msg)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        msg = f"{option} must name a file in a folder that can be written to, got {name!r}"
        raise InvalidInputError(msg)


def replace_file(name: str, content: bytes) -> None:
    """Put `content` in place of what a file held, at once; `-` is standard output.

    If that fails, or is interrupted, the file is what it was. A link stays one: what it leads
    to is replaced.
    """
    place = Path(name).resolve()
    if name == "-":
        _print(content)
    elif _is_device(place):
        place.write_bytes(content)
    else:
        with replacing(place) as file:
            file.write(content)


def _is_device(place: Path) -> bool:
    """Return whether the file is written to, not replaced: a pipe, a terminal."""
    return place.exists() and not place.is_file() and not place.is_dir()


def _print(content: bytes) -> None:
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a replaced standard output that takes text
        sys.stdout.write(content.decode("utf-8", "backslashreplace"))
    else:
        binary.write(content)
        binary.flush()
