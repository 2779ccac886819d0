"""Files that commands write: refused before the work begins, written whole or not at all."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand._util.atomic_files import replacing
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_PICTURES: Final = (".png", ".svg", ".pdf")


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json FILE`, given to the command as `json_file`."""
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        callback=_checked_json,
        help="Write all numbers there; - is standard output, in place of the tables.",
    )(command)


def plot_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--plot FILE.png`, given to the command as `plot_file`."""
    return click.option(
        "--plot",
        "plot_file",
        metavar="FILE.png",
        callback=_checked_plot,
        help="Draw the figure there; also .svg and .pdf.",
    )(command)


def check_outputs(
    inputs: Iterable[Path | None], *, json_file: str | None, plot_file: Path | None
) -> None:
    """Refuse to write over what is read, or one result over the other."""
    outputs = [Path(name) for name in (json_file, plot_file) if name is not None]
    for output in outputs:
        for read in inputs:
            if read is not None and _same(output, read):
                msg = f"results must not be written over what is read, got {str(output)!r} for both"
                raise InvalidInputError(msg)
    if len(outputs) == 2 and _same(*outputs):
        msg = f"--json and --plot must name different files, got {str(outputs[0])!r} for both"
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


def _checked_plot(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    if value is None:
        return None
    if Path(value).suffix.lower() not in _PICTURES:
        msg = f"expected a name that ends in .png, .svg or .pdf, got {value!r}"
        raise click.BadParameter(msg, ctx, param)
    check_place(value, option="--plot")
    if find_spec("matplotlib") is None:
        msg = "a figure needs matplotlib, found none; install bandstand[report]"
        raise click.BadParameter(msg, ctx, param)
    return Path(value)


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
