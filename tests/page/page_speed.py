"""How quick the page is, beside what was promised of it: `./run page-speed`.

    python -m tests.page.page_speed [--songs N] [--clicks N] [--loads N] [--json FILE]

A real Chromium and the real server share this computer, so every time includes both.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bandstand_lab.speed.machine import machine
from tests.page.latencies import latencies_of
from tests.page.stopwatch import measure

if TYPE_CHECKING:
    from tests.page.stopwatch import Figures


def promises(figures: Figures) -> list[tuple[str, str, str, bool]]:
    """Return what was promised: what, how much, what was measured, and whether it holds."""
    rating = latencies_of(each / 1_000 for each in figures.ratings)
    cold = latencies_of(load.ready / 1_000 for load in figures.cold)
    size = max(load.size for load in figures.cold)
    outside = [each for each in figures.complaints if each.startswith("outside")]
    return [
        (
            "click on a star → next song's title",
            "p95 < 150 ms",
            f"{1_000 * rating.p95:.0f} ms",
            rating.p95 < 0.15,
        ),
        ("first load, over the wire", "< 200 kB", f"{size / 1_000:.1f} kB", size < 200_000),
        (
            "first load, until it can be used",
            "p95 < 1 s",
            f"{1_000 * cold.p95:.0f} ms",
            cold.p95 < 1,
        ),
        ("requests to anywhere else", "0", str(len(outside)), not outside),
        (
            "errors and warnings of the page",
            "0",
            str(len(figures.complaints)),
            not figures.complaints,
        ),
    ]


def document(figures: Figures) -> dict[str, Any]:
    """Return everything, ready for JSON."""
    times = {
        "star_to_next_title": figures.ratings,
        "next_to_new_title": figures.skips,
        "cold_load": [load.ready for load in figures.cold],
        "warm_load": [load.ready for load in figures.warm],
    }
    loads = {"cold": figures.cold[-1], "warm": figures.warm[-1], "all_pages": figures.everything}
    return {
        "songs": figures.songs,
        "times": {
            name: latencies_of(each / 1_000 for each in some).as_json()
            for name, some in times.items()
        },
        "loads": {
            name: {"requests": load.requests, "bytes": load.size, "sound_bytes": load.sound}
            for name, load in loads.items()
        },
        "complaints": figures.complaints,
        "promises": [
            {"what": what, "asked": asked, "measured": measured, "holds": holds}
            for what, asked, measured, holds in promises(figures)
        ],
        "machine": machine(),
    }


def print_tables(report: dict[str, Any]) -> None:
    """Print what was promised, and everything else that was measured."""
    screen = Console()
    if not screen.is_terminal:
        screen.width = 110
    table = Table("figure", "promised", "measured", "", box=SIMPLE_HEAD)
    for each in report["promises"]:
        mark = "[green]holds[/]" if each["holds"] else "[red]misses[/]"
        table.add_row(each["what"], each["asked"], each["measured"], mark)
    screen.print(table)
    times = Table("milliseconds", "median", "p95", "slowest", "of", box=SIMPLE_HEAD)
    for name, each in report["times"].items():
        values = (f"{each[key]:.0f}" for key in ("median_ms", "p95_ms", "slowest_ms"))
        times.add_row(name.replace("_", " "), *values, str(each["count"]))
    screen.print(times)
    for name, each in report["loads"].items():
        screen.print(
            f"{name.replace('_', ' ')}: {each['requests']} requests, {each['bytes'] / 1_000:.1f} kB"
        )


def main() -> None:
    """Measure, print, and fail where a promise is not kept."""
    parser = argparse.ArgumentParser(description="How quick the page is.")
    parser.add_argument("--songs", type=int, default=10_000)
    parser.add_argument("--ratings", type=int, default=300, help="that the listener has given")
    parser.add_argument("--clicks", type=int, default=120)
    parser.add_argument("--loads", type=int, default=10)
    parser.add_argument("--json", type=Path, help="write everything to this file as well")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bandstand-") as home:
        figures = measure(
            Path(home),
            songs=asked.songs,
            ratings=asked.ratings,
            clicks=asked.clicks,
            loads=asked.loads,
        )
    report = document(figures)
    print_tables(report)
    if asked.json is not None:
        asked.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    sys.exit(not all(each["holds"] for each in report["promises"]))


if __name__ == "__main__":
    main()
