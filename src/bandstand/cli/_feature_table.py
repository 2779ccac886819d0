"""Descriptors of files: all of them as CSV, or what they say in a table for people."""

from __future__ import annotations

import csv
import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Final

import click

from bandstand.cli._ranking_table import in_columns
from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.library.walk import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import Analysis

_HEADER: Final = (
    "file",
    "strongest",
    "length",
    "tempo",
    "centroid",
    "roll-off",
    "MFCC1",
    "MFCC2",
    "MFCC3",
)
_MEANING: Final = """
Harmony: the strongest pitch classes. Tempo: beats per minute. Brightness:
spectral centroid and 90 % roll-off, in hertz. Timbre: means of MFCC.
--csv OUT writes all 159 numbers."""
_TOP: Final = 257 * 31.25  # hertz, at which centroid and roll-off are 1
_PITCH: Final = "mean_Chroma_"


def as_csv(rows: Sequence[tuple[str, Analysis]]) -> bytes:
    """Return all descriptors with a header, digits enough to read each number back exactly.

    A name that is not UTF-8 keeps its bytes.
    """
    text = StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["file", *NAMES])
    for name, analysis in rows:
        table.writerow([name, *map(repr, analysis.descriptors.tolist())])
    return text.getvalue().encode("utf-8", "surrogateescape")


def show(rows: Sequence[tuple[str, Analysis]]) -> None:
    """Print a line for each file: timbre, harmony, brightness and tempo."""
    cells = [_cells(name, analysis) for name, analysis in rows]
    if sys.stdout.isatty():
        _print_fitted(cells)
    else:
        click.echo(in_columns([_HEADER, *cells]))
    click.echo(_MEANING)


def _cells(name: str, analysis: Analysis) -> tuple[str, ...]:
    value = dict(zip(NAMES, analysis.descriptors.tolist(), strict=True))
    pitches = sorted(
        (column for column in NAMES if column.startswith(_PITCH) and "Ratio" not in column),
        key=lambda column: -value[column],
    )
    minutes, seconds = divmod(round(analysis.duration), 60)
    return (
        shown(os.fsencode(name)),
        " ".join(column.removeprefix(_PITCH) for column in pitches[:3]),
        f"{minutes}:{seconds:02}",
        f"{value['tempo_bpm']:.0f}" if value["tempo_bpm"] else "none",
        f"{value['mean_Centroid'] * _TOP:,.0f}",
        f"{value['mean_Rolloff'] * _TOP:,.0f}",
        *(f"{value[f'mean_MFCC{number}']:.2f}" for number in (1, 2, 3)),
    )


def _print_fitted(rows: Sequence[tuple[str, ...]]) -> None:
    """Print the table so that it fits the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(_HEADER):
        table.add_column(
            heading,
            justify="left" if place < 2 else "right",
            no_wrap=place > 0,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
