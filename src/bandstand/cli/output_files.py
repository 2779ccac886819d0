"""Options that name a file to write, refused before the work for it begins."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand.cli.replacing import check_place
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
