"""Benchmarks as programs: parts are measured, targets checked, tables printed or JSON written.

Every part returns a dictionary for JSON, with names that are read here:

`rows`      one dictionary for each line of the part's table, with the same keys; further
            tables by title are in `more_rows`, where there are any
`figures`   values by name, which are compared with the targets. A target whose figure could
            not be measured does not hold
"""

from __future__ import annotations

import json
import operator
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.report.machine import machine
from bandstand_lab.speed.timing import number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

OnRun: TypeAlias = Callable[[str], None]
Part: TypeAlias = Callable[[OnRun], dict[str, Any]]

_CHECKOUT: Final = Path(__file__).parents[1]
# A file has no width of its own; the widest table needs this many letters.
_FILE_WIDTH: Final = 210


# ── Targets ──────────────────────────────────────────────────────────────────────────────

_RELATIONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "≤": operator.le,
    "<": operator.lt,
    "≥": operator.ge,
    ">": operator.gt,
    "=": operator.eq,
}


class Target(NamedTuple):
    """One promised figure."""

    part: str
    name: str  # of the part's figure
    relation: str
    bound: float
    unit: str = ""

    def check(self, value: float | None) -> dict[str, Any]:
        """Return the target beside a measured value, ready for JSON.

        >>> Target("step", "median", "≤", 3, "× stream").check(0.5)["holds"]
        True
        """
        return {
            "part": self.part,
            "name": self.name,
            "target": f"{self.relation} {self.bound:g} {self.unit}".strip(),
            "measured": None if value is None else float(value),
            "holds": value is not None and _RELATIONS[self.relation](value, self.bound),
        }


TARGETS: Final = (
    # bandstand bench --scale
    Target("step", "median step, 100 ratings or more", "≤", 0.5, "× stream"),
    Target("step", "median step, fewer ratings", "≤", 5, "× stream"),
    Target("step", "slowest step", "≤", 8, "× stream"),
    Target("step", "mean work behind an answer", "≤", 1, "× stream"),
    Target("step", "choices unlike brute force", "=", 0),
    Target("small", "median step, fewest songs", "≤", 1.0, "× LinUCB"),
    Target("small", "median step, most songs", "≤", 0.5, "× LinUCB"),
    Target("small", "choices unlike brute force", "=", 0),
    Target("playlist", "playlist", "≤", 10, "× stream"),
    Target("memory", "engine beyond 150 MB", "≤", 1.3, "× matrix"),
    Target("memory", "radio beyond 150 MB", "≤", 1.3, "× matrix"),
    Target("memory", "a listener with most ratings", "≤", 3, "MB"),
    Target("serving", "wrong answers", "=", 0),
    Target("serving", "errors", "=", 0),
    Target("serving", "p99 at the highest rate", "<", 0.3, "s"),
    # bandstand bench --radio
    Target("radio", "p99 of rating and next song, one listener", "<", 0.06, "s"),
    Target("radio", "p99 of a rating, all listeners at once", "<", 0.5, "s"),
    Target("radio", "ratings a second, all listeners at once", "≥", 300, "1/s"),
    Target("radio", "songs a second, all new listeners at once", "≥", 150, "1/s"),
    Target("radio", "p99 of rating and next song, all new listeners at once", "<", 0.8, "s"),
    Target("radio", "p99 of a rating, 10 a second", "<", 0.15, "s"),
    Target("radio", "songs chosen without the rating before", "=", 0),
    Target("radio", "errors", "=", 0),
    Target("radio", "acknowledged ratings that are not stored", "=", 0),
    Target("radio", "memory after the start", "<", 300, "MB"),
    Target("radio", "restart after kill -9", "<", 5, "s"),
)


def checks(parts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every target of the parts that were measured, with its figure."""
    return [
        target.check(parts[target.part]["figures"].get(target.name))
        for target in TARGETS
        if target.part in parts
    ]


# ── Programs ─────────────────────────────────────────────────────────────────────────────


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
    # Imported here: processes that only answer orders print nothing.
    from rich.console import Console
    from rich.markup import escape

    screen = console or Console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _FILE_WIDTH)
    if document["targets"]:
        marks = {True: "[green]holds[/]", False: "[red]misses[/]"}
        rows = [{**one, "holds": marks[one["holds"]]} for one in document["targets"]]
        screen.print(_table("targets", rows))
    for name, part in document["parts"].items():
        tables = {name: part["rows"], **part.get("more_rows", {})}
        for title, rows in tables.items():
            screen.print(_table(title, rows))
    for name, problem in document["unmeasured"].items():
        screen.print(f"[red]{name} could not be measured:[/] {escape(problem)}")
    screen.print(f"{document['seconds']['all']:,.0f} s in all")


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for name, value in rows[0].items():
        heading = name.replace("_", " ")
        table.add_column(heading, justify="left" if isinstance(value, str) else "right")
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


def child(
    module: str, order: Mapping[str, Any], *, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the answer of `python -m benchmarks.MODULE`: JSON in, JSON out."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}"],
        env={**(environment or os.environ), "PYTHONPATH": str(_CHECKOUT)},
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        msg = f"the process {module} must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def answer_order(answer: Callable[[dict[str, Any]], Any]) -> None:
    """Read an order from standard input and write its answer: the other side of `child`."""
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


def run_as_program(measure: Callable[..., dict[str, Any]]) -> None:
    """Measure what the order (JSON) on the command line asks for; an error is one sentence."""
    order: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(sys.argv[1]).items()
    }
    json_file = order.pop("json", None)
    try:
        write(measure(**order), json_file)
    except (BandstandError, OSError) as problem:
        sys.stderr.write(f"Error: {problem}\n")
        sys.exit(2 if isinstance(problem, InvalidInputError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)


def require_at_least(values: Mapping[str, float], least: Mapping[str, float]) -> None:
    """Refuse settings that cannot be measured."""
    for name, lowest in least.items():
        if values[name] < lowest:
            msg = f"{name} must be at least {lowest}, got {values[name]}"
            raise InvalidInputError(msg)
