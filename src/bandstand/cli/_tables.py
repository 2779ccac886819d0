"""Tables for people: fitted to a terminal, plain columns everywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_FITTED: Final = 500  # rows; fitting more takes seconds
_TEXT_COLUMNS: Final = 2  # aligned to the left, the others to the right


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, framed: bool) -> None:
    """Print rows below their header; the first two columns are text, the others numbers."""
    if sys.stdout.isatty() and len(rows) <= _MAX_FITTED:
        _print_fitted(header, rows, framed=framed)
    else:
        click.echo(in_columns([header, *rows]))


def in_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows with their columns aligned: text to the left, numbers to the right.

    >>> print(in_columns([("id", "last heard", "mean"), ("b", "never", "12.5")]))
    id  last heard  mean
    b   never       12.5
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [
            cell + gap if place < 2 else gap + cell
            for place, (cell, gap) in enumerate(zip(row, gaps, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _print_fitted(header: Sequence[str], rows: Sequence[Sequence[str]], *, framed: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table() if framed else Table(box=None, pad_edge=False)
    for place, name in enumerate(header):
        table.add_column(
            name,
            justify="left" if place < _TEXT_COLUMNS else "right",
            no_wrap=not framed and place > 0,
            overflow="ellipsis" if framed else "fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
