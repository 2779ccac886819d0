"""Runs the parts of a benchmark, checks their targets, and prints tables or JSON.

Every part returns a dictionary for JSON, with names that are read here:

`rows`      one dictionary for each line of the part's table, with the same keys; further
            tables by title are in `more_rows`, where there are any
`figures`   values by name, which `targets` compares with what was promised
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bandstand.errors import BandstandError
from bandstand_lab.speed.machine import machine
from bandstand_lab.speed.numbers import number
from benchmarks.program import OnRun
from benchmarks.targets import checks

if TYPE_CHECKING:
    from collections.abc import Mapping

Part: TypeAlias = Callable[[OnRun], dict[str, Any]]

# A file has no width of its own; the widest table needs this many letters.
_FILE_WIDTH: Final = 190


def measure_parts(parts: Mapping[str, Part], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of all parts, ready for JSON.

    A part that fails, such as one without PostgreSQL, does not cost the others; the error is
    raised only where nothing at all was measured.
    """
    began, say = time.perf_counter(), _teller()
    found: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    problems: dict[str, Exception] = {}
    for name, part in parts.items():
        start = time.perf_counter()
        try:
            found[name] = part(say)
        except (BandstandError, ImportError, OSError) as problem:
            problems[name] = problem
        seconds[name] = time.perf_counter() - start
    if problems and not found:
        raise next(iter(problems.values()))
    return {
        "request": dict(request),
        "machine": machine(),
        "seconds": {**seconds, "all": time.perf_counter() - began},
        "targets": checks(found),
        "unmeasured": {name: str(problem) for name, problem in problems.items()},
        "parts": found,
    }


def _teller() -> OnRun:
    """Return a function that writes a line with the time to standard error."""
    began = time.perf_counter()

    def say(what: str) -> None:
        sys.stderr.write(f"{time.perf_counter() - began:5.0f} s  {what}\n")
        sys.stderr.flush()

    return say


def write(document: Mapping[str, Any], json_file: str | None) -> None:
    """Print the tables, or with `-` the JSON in their place; write the JSON to a file if asked."""
    text = json.dumps(document, indent=1, allow_nan=False) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
        return
    print_tables(document)
    if json_file:
        Path(json_file).write_text(text, encoding="utf-8")


def print_tables(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the targets, and a table for every part."""
    screen = console or Console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _FILE_WIDTH)
    if document["targets"]:
        screen.print(_table("targets", [_shown(one) for one in document["targets"]]))
    for name, part in document["parts"].items():
        for title, rows in {name: part["rows"], **part.get("more_rows", {})}.items():
            if rows:
                screen.print(_table(title, rows))
    for name, problem in document["unmeasured"].items():
        screen.print(f"[red]{name} could not be measured:[/] {escape(problem)}")
    screen.print(f"{document['seconds']['all']:,.0f} s in all")


def _shown(target: Mapping[str, Any]) -> dict[str, Any]:
    mark = "[green]holds[/]" if target["holds"] else "[red]misses[/]"
    return {**target, "holds": mark}


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for name, value in rows[0].items():
        table.add_column(
            name.replace("_", " "), justify="left" if isinstance(value, str) else "right"
        )
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    return table


def _cell(value: Any) -> str:
    """Return a value as people read it.

    >>> [_cell(value) for value in (1234, 0.8149, 0.0, None, "own")]
    ['1,234', '0.81', '0', '–', 'own']
    """
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return number(value)
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
