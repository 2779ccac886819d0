"""The benchmark of large catalogues on a screen: what was asked, and the steps in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bandstand_lab.speed.asked import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What is not a screen has no width; the tables need this much.
_WIDTH_OF_FILES: Final = 170


def print_tables(document: Mapping[str, Any], console: Console | None = None) -> None:
    """Print every promise with what was measured, and every situation of the steps."""
    screen = console or Console()
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDTH_OF_FILES)
    if document["asked"]:
        screen.print(_asked_table(document))
    steps = list(situations(document))
    if steps:
        screen.print(_steps_table(steps))
    for part, why in document["unmeasured"].items():
        screen.print(f"[red]{part} could not be measured:[/] {escape(why)}")
    took, features = document["seconds"]["all"], document["request"]["features"]
    screen.print(
        f"One thread, {features} features, {took:,.0f} s in all. Steps are processor time; the "
        "stream is NumPy's sum over the same matrix in single precision, measured between them."
    )


def situations(document: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Yield every situation in which steps were measured."""
    parts = document["parts"]
    yield from parts.get("step", {}).get("situations", ())
    yield from parts.get("small", {}).get("situations", ())
    for by in ("songs", "ratings", "newcomers"):
        yield from parts.get("growth", {}).get(by, ())


def _asked_table(document: Mapping[str, Any]) -> Table:
    table = _table("What was promised")
    for name in ("figure", "promised", "measured", ""):
        table.add_column(name)
    for line in document["asked"]:
        mark = "[green]holds[/]" if line["holds"] else "[red]misses[/]"
        table.add_row(line["what"], line["asked"], line["measured"], mark)
    return table


def _steps_table(found: Iterable[Mapping[str, Any]]) -> Table:
    table = _table("Steps: an answer in, the best of all songs out; medians, in ms and as ratios")
    table.add_column("listener, picks", no_wrap=True)
    titles = ("songs", "ratings", "nodes", "learn", "choose", "slowest", "/ stream")
    linucb = ("/ LinUCB\nproduct", "/ LinUCB\nwidths")
    searched = ("first\nchoice", "read\nall", "close\nlooks", "right")
    for title in (*titles, *linucb, *searched):
        table.add_column(title, justify="right", no_wrap=True)
    for one in found:
        table.add_row(*_cells(one))
    return table


def _cells(one: Mapping[str, Any]) -> Iterable[str]:
    seconds, ratios, brute = one["seconds"], one["ratios"], one["brute_force"]
    kind = {"single": ", float32"}.get(one.get("linucb_precision", ""), "")
    yield f"{one['world']}, {one['picks']}{kind}"
    yield from (f"{one[name]:,}" for name in ("songs", "ratings", "grid_nodes"))
    yield from (_ms(seconds[name]["median"]) for name in ("learn", "choose"))
    yield _ms(seconds["step"]["maximum"])
    for name in ("stream", "linucb-product", "linucb-widths"):
        yield number(ratios[f"step / {name}"]["median"])
    yield _ms(seconds["first_choice"])
    yield f"{one['steps_with_a_pass']}/{one['steps']}"
    yield f"{one['songs_looked_at']['median']:,.0f}"
    yield f"{brute['agreed']}/{brute['checked']}" if brute["checked"] else "–"


def _ms(seconds: float) -> str:
    return number(1_000 * seconds)


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
