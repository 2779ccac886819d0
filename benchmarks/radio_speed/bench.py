"""`bandstand bench --radio`: the real server under load, beside what was promised of it.

    python -m benchmarks.radio_speed.bench '{"json": "-"}'

`bandstand bench` starts it so.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bandstand_lab.speed.machine import machine
from bandstand_lab.speed.table import progress
from benchmarks.latencies import latencies_of
from benchmarks.program import run_as_program
from benchmarks.radio_speed.study import RadioRequest, RadioResult, measure, quick_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.radio_speed.load import Outcome

PARTS: Final = 9  # of which a run tells
_MEGABYTE: Final = 1_000_000
_LOADS: Final = {
    "one": "one listener: rating, next song",
    "rating": "everybody at once: rating",
    "rating_paced": "10 in a second: rating",
    "first_songs": "everybody at once: rating, first song",
    "songs": "everybody at once: rating, next song",
    "songs_paced": "2 in a second: rating, next song",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One promise and its measurement."""

    what: str
    asked: str
    measured: str
    holds: bool

    def as_json(self) -> dict[str, Any]:
        """Return the promise and the measurement."""
        return {
            "what": self.what,
            "asked": self.asked,
            "measured": self.measured,
            "holds": self.holds,
        }


def promises(result: RadioResult) -> list[Promise]:
    """Return what was promised of the radio, with what was measured."""
    return [
        *_promises_of_one(result),
        *_promises_of_all(result),
        _megabytes("memory after the start", result.memory_at_start.resident),
        Promise(
            what="restart after kill -9",
            asked="< 5 s",
            measured=f"{result.restart_seconds:.2f} s",
            holds=result.restart_seconds < 5,
        ),
    ]


def _promises_of_one(result: RadioResult) -> Iterable[Promise]:
    one, ratings = result.one, f"{result.request.ratings:,} ratings"
    behind = sum(load.behind for load in result.loads.values())
    yield _p99(f"rating → next song, {ratings}", one.steps, limit=0.06)
    yield Promise(
        what="songs chosen without the rating before",
        asked="0",
        measured=str(behind),
        holds=not behind,
    )


def _promises_of_all(result: RadioResult) -> Iterable[Promise]:
    rate = result.rating.acknowledged / result.rating.seconds
    errors = sum(sum(load.errors.values()) for load in result.loads.values())
    everybody = f"{result.request.listeners} listeners at once"
    yield _p99(f"a rating, {everybody}", result.rating.ratings, limit=0.5)
    yield Promise(
        what=f"ratings stored, {everybody}",
        asked="≥ 300 / s",
        measured=f"{rate:,.0f} / s",
        holds=rate >= 300,
    )
    yield _p99("a rating, 10 in a second", result.rating_paced.ratings, limit=0.15)
    yield Promise(what="errors", asked="0", measured=str(errors), holds=not errors)
    lost = result.acknowledged - result.stored
    yield Promise(
        what="acknowledged, but not in the store", asked="0", measured=str(lost), holds=not lost
    )


def _p99(what: str, seconds: list[float], *, limit: float) -> Promise:
    asked = f"p99 < {1_000 * limit:.0f} ms"
    if not seconds:
        return Promise(what=what, asked=asked, measured="no answer", holds=False)
    p99 = latencies_of(seconds).p99
    return Promise(what=what, asked=asked, measured=f"{1_000 * p99:.1f} ms", holds=p99 < limit)


def _megabytes(what: str, size: int) -> Promise:
    return Promise(
        what=what,
        asked="< 300 MB",
        measured=f"{size / _MEGABYTE:.0f} MB",
        holds=size < 300 * _MEGABYTE,
    )


def print_tables(result: RadioResult, console: Console | None = None) -> None:
    """Print the promises, and every load."""
    screen = console or Console()
    if not screen.is_terminal:
        screen.width = max(screen.width, 120)
    screen.print(_promises_table(result))
    screen.print(_loads_table(result))
    memory = result.memory_in_use
    shared = (
        f", {memory.proportional / _MEGABYTE:.0f} MB of it alone" if memory.proportional else ""
    )
    screen.print(
        f"{result.request.songs:,} songs. The server took {result.start_seconds:.2f} s to start, "
        f"and {memory.resident / _MEGABYTE:.0f} MB after all of this{shared}. Times are those of "
        "the wall clock at the listeners' end; they share this computer with the server."
    )


def _promises_table(result: RadioResult) -> Table:
    table = _table("What was promised", "figure", "promised", "measured", "")
    for promise in promises(result):
        mark = "[green]holds[/]" if promise.holds else "[red]misses[/]"
        table.add_row(promise.what, promise.asked, promise.measured, mark)
    return table


def _loads_table(result: RadioResult) -> Table:
    titles = ("load", "in a second", "rating", "song", "both", "errors")
    table = _table("Every load: median / p95 / p99", *titles)
    for name, outcome in result.loads.items():
        table.add_row(_LOADS[name], *_cells(outcome))
    return table


def _cells(outcome: Outcome) -> Iterable[str]:
    yield f"{outcome.acknowledged / outcome.seconds:,.1f}"
    for times in (outcome.ratings, outcome.songs, outcome.steps):
        yield latencies_of(times).shown() if times else ""
    yield ", ".join(f"{count} × {what}" for what, count in outcome.errors.items()) or "0"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column)
    return table


def main(order: str) -> None:
    """Measure, and print or write what the order (JSON) asks for."""
    asked = json.loads(order)
    json_file = asked.pop("json", None)
    request = (quick_request if asked.pop("quick", False) else RadioRequest)(**asked)
    with progress(PARTS) as on_run:
        result = measure(request, on_run)
    document = {
        **result.as_json(),
        "machine": machine(),
        "asked": [promise.as_json() for promise in promises(result)],
    }
    text = json.dumps(document, indent=2) + "\n"
    if json_file == "-":
        sys.stdout.write(text)
        return
    if json_file:
        Path(json_file).write_text(text, encoding="utf-8")
    print_tables(result)


if __name__ == "__main__":
    run_as_program(main)
