"""What a run has measured, as tables of docs/scale.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.speed.asked import number
from benchmarks.scale.cost_blocks import constants, disk, services
from benchmarks.scale.words import duration, size, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Document = Mapping[str, Any]


def asked(document: Document) -> str:
    """Return every promise with what was measured."""
    rows = (
        (line["what"], line["asked"], line["measured"], "holds" if line["holds"] else "**misses**")
        for line in document["asked"]
    )
    return table(("figure", "promised", "measured", ""), rows)


def machine(document: Document) -> str:
    """Return what it was measured on."""
    told, minutes = document["machine"], document["seconds"]["all"] / 60
    return (
        f"Measured in {minutes:.0f} minutes on {told['cores']} cores "
        f"({told['processor']}, {told['system']}) with Python {told['python']} and NumPy "
        f"{told['numpy']}, one thread for linear algebra."
    )


def steps(document: Document) -> str:
    """Return the consecutive steps over all songs, by who listens to what."""
    titles = (
        "listener, picks",
        "steps",
        "median",
        "p99",
        "slowest",
        "/ stream",
        "read all",
        "grid moved within",
        "after",
        "upkeep, mean",
    )
    rows = (_steps_row(one) for one in document["parts"]["step"]["situations"])
    return table(titles, rows)


def _steps_row(one: Mapping[str, Any]) -> list[str]:
    step = one["seconds"]["step"]
    return [
        f"{one['world']}, {one['picks']}",
        f"{one['steps']}",
        *(duration(step[name]) for name in ("median", "p99", "maximum")),
        f"{number(one['ratios']['step / stream']['median'])} ×",
        f"{one['steps_with_a_pass']}",
        f"{one['grid_moves_within_steps']}",
        f"{one['grid_moves_after_steps']}",
        duration(one["seconds"]["upkeep"]["mean"]),
    ]


def playlists(document: Document) -> str:
    """Return playlists beside steps, by who listens to what."""
    titles = ("listener, picks", "playlist", "one step", "/ step", "/ step that reads all")
    rows = (
        [
            f"{one['world']}, {one['picks']}",
            duration(one["seconds"]["median"]),
            duration(one["step_seconds"]),
            *(
                f"{number(one[name]['median'])} ×"
                for name in ("in_steps", "in_whole_steps", "in_streams")
            ),
            f"{one['passes']} in {one['playlists']}",
        ]
        for one in document["parts"]["playlist"]["situations"]
    )
    return table((*titles, "/ stream", "read all"), rows)


def growth(document: Document) -> str:
    """Return the time of a step at three sizes each, and of newcomers over all songs."""
    part = document["parts"]["growth"]
    steps = sorted(part["songs"], key=lambda one: one["songs"])
    steps += sorted(part["ratings"], key=lambda one: one["ratings"])
    steps += sorted(part["newcomers"], key=lambda one: one["ratings"])
    titles = (
        "songs",
        "ratings",
        "learn",
        "choose",
        "step",
        "/ stream",
        "first choice",
        "fit from all ratings",
        "steps that read all",
        "read ahead",
        "upkeep, mean",
    )
    return table(titles, (_growth_row(one) for one in steps))


def _growth_row(one: Mapping[str, Any]) -> list[str]:
    seconds = one["seconds"]
    return [
        f"{one['songs']:,}",
        f"{one['ratings']:,}",
        *(duration(seconds[name]["median"]) for name in ("learn", "choose", "step")),
        f"{number(one['ratios']['step / stream']['median'])} ×",
        duration(seconds["first_choice"]),
        duration(seconds["fit"]),
        f"{one['steps_with_a_pass']} of {one['steps']}",
        f"{one['passes_ahead']}",
        duration(seconds["upkeep"]["mean"]),
    ]


def memory(document: Document) -> str:
    """Return what processes hold, and what it is made of."""
    part = document["parts"]["memory"]
    titles = ("songs", "a whole radio", "an engine", "of that: program", "matrix")
    more = ("per song beside it", "belief", "shortlist", "opening the radio")
    rows = []
    for one, radio in zip(part["sizes"], part["radios"], strict=True):
        parts = one["parts"]
        sizes = (radio["peak"], one["peak"], parts["program"], parts["matrix"])
        rows.append(
            [
                f"{one['songs']:,}",
                *(_known(each) for each in sizes),
                f"{parts['shared_by_listeners'] / one['songs']:.0f} B",
                *(size(parts[name]) for name in ("belief", "shortlist")),
                duration(radio["opening_seconds"]),
            ]
        )
    return table((*titles, *more), rows)


def _known(count: float | None) -> str:
    return "–" if count is None else size(count)


BLOCKS: Final[dict[str, Callable[[Document], str]]] = {
    "asked": asked,
    "machine": machine,
    "steps": steps,
    "playlists": playlists,
    "growth": growth,
    "memory": memory,
    "disk": disk,
    "constants": constants,
    "services": services,
}
