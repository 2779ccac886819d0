"""A ranking as a table for people: framed on a terminal, plain columns everywhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from bandstand._util.words import duration
from bandstand.types import MONTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.cli._ranking import RankedItem, Ranking
    from bandstand.core.engines.engine import Summary

_HEADER: Final = ("id", "last heard", "mean", "sd", "quantile", "score")
# A longer table takes a frame seconds to draw, and nobody reads it on a terminal.
_LONGEST_FRAMED: Final = 500


def show(ranking: Ranking) -> None:
    """Print the ranking, then what was learnt about the listener."""
    rows = [_cells(item) for item in ranking.items]
    if sys.stdout.isatty() and len(rows) <= _LONGEST_FRAMED:
        _print_framed(rows)
    else:
        click.echo(in_columns([_HEADER, *rows]))
    click.echo(f"\n{described(ranking)}")


def described(ranking: Ranking) -> str:
    """Return how the ranking came about, and the posterior in words."""
    has_quantile = any(item.quantile is not None for item in ranking.items)
    level = f", quantile at level {ranking.level:.6g}" if has_quantile else ""
    made = f"{ranking.algorithm}, step {ranking.step}, seed {ranking.seed}{level}"
    return f"{made}\n{_learnt(ranking.posterior)}"


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


def elapsed_in_words(minutes: float) -> str:
    """Return a length of time as people say it.

    >>> [elapsed_in_words(minutes) for minutes in (0, 0.5, 59.7, 200, 3_000, 43_200)]
    ['now', '30 s', '1 h 0 min', '3 h 20 min', '2 days 2 h', '30 days or more']
    """
    if minutes >= MONTH:
        return "30 days or more"
    return duration(minutes) if round(minutes * 60) else "now"


def _print_framed(rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for place, name in enumerate(_HEADER):
        table.add_column(name, justify="left" if place < 2 else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _cells(item: RankedItem) -> tuple[str, ...]:
    when = elapsed_in_words(item.elapsed_minutes) if item.heard else "never"
    numbers = (item.mean, item.sd, item.quantile, item.score)
    return (_printable(item.id), when, *(_number(value) for value in numbers))


def _learnt(posterior: Summary) -> str:
    mean, spread = posterior.recovery_time_mean, posterior.recovery_time_sd
    recovery = "unknown" if mean is None else f"{mean:.4g} minutes"
    if mean is not None and spread is not None:
        recovery = f"{mean:.4g} ± {spread:.4g} minutes"
    noise = "unknown" if posterior.noise_sd is None else f"{posterior.noise_sd:.3g}"
    return f"Recovery time {recovery}; noise of a rating {noise}."


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"


def _printable(text: str) -> str:
    """Return the text with what would move the cursor written as escapes."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )
