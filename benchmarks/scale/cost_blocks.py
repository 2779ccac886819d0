"""What things cost, as tables of docs/scale.md: the disk, the constants, and whole services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.speed.asked import number
from benchmarks.scale.estimate import (
    Computer,
    Service,
    constants_of,
    estimate,
    served_turn,
)
from benchmarks.scale.words import duration, size, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    Document = Mapping[str, Any]

_SERVICES: Final = {
    "a town": Service(listeners=10_000, songs=1_000_000),
    "a country": Service(listeners=1_000_000, songs=10_000_000),
    "the world": Service(),
}


def disk(document: Document) -> str:
    """Return what songs and ratings take at three sizes each."""
    part = document["parts"]["costs"]
    rows = [
        [f"{one['songs']:,} songs", size(one["store"]), size(one["matrix"]), "", ""]
        for one in part["songs"]
    ]
    rows += [
        [
            f"one listener, {one['ratings']:,} ratings",
            size(one["log"]),
            "",
            size(one["snapshot"]),
            f"{size(one['held'])}, of which belief {size(one['belief'])}",
        ]
        for one in part["ratings"]
    ]
    each = part["each"]
    rows.append(
        ["**each song**", size(each["song_in_store"]), size(each["song_in_matrix"]), "", ""]
    )
    rows.append(
        [
            "**each rating**",
            size(each["rating_in_log"]),
            "",
            size(each["rating_in_snapshot"]),
            size(each["rating_in_memory"]),
        ]
    )
    rows.append(["**each account**", size(each["listener_in_store"]), "", "", ""])
    return table(
        ("", "store (SQLite)", "matrix file", "snapshot", "in memory while listening"), rows
    )


def constants(document: Document) -> str:
    """Return the constants of the formulas, each with whom it was measured for."""
    found = constants_of(document)
    rows = (
        *_time_rows(document),
        ("c_song", "a song in memory, beside the matrix", size(found.song_bytes_kept)),
        ("c_stored", "a song on the disk, matrix included", size(found.song_bytes_stored)),
        ("belief + shortlist", "a listener who is here", size(found.listener_bytes_here)),
        ("c_history", "a rating in memory, of one who is here", size(found.rating_bytes_here)),
        ("c_account", "a listener on the disk", size(found.listener_bytes_stored)),
        ("c_event + c_snapshot", "a rating on the disk", size(found.rating_bytes_stored)),
    )
    return table(("constant", "meaning", "measured"), rows)


def _time_rows(document: Document) -> list[tuple[str, str, str]]:
    found, parts = constants_of(document), document["parts"]
    known = f"{parts['step']['situations'][0]['ratings']:,} ratings"
    newcomer = min(parts["growth"]["ratings"], key=lambda one: int(one["ratings"]))
    new = f"{newcomer['ratings']:,} ratings"
    return [
        ("t_around", _around(document), duration(found.around_seconds)),
        (
            "t_step",
            f"the engine with its upkeep, {known}, slowest situation",
            duration(found.step_seconds),
        ),
        ("passes", "whole passes per turn, same situation", number(found.passes_per_turn)),
        ("t_pass", f"a first choice, {known}, per song", duration(found.pass_seconds_per_song)),
        (
            "t_new",
            f"a choice with its upkeep, {new}, per song",
            duration(found.newcomer_seconds_per_song),
        ),
        (
            "passes_new",
            f"passes per turn or ahead of it, {new}",
            number(found.newcomer_passes_per_turn),
        ),
        (
            "t_cold",
            "a usable belief from snapshot and tail, without a choice",
            duration(found.cold_seconds),
        ),
    ]


def _around(document: Document) -> str:
    """Return what the servers' work around a step is, and whose turns they were."""
    turn = served_turn(document["parts"])
    if turn is None:
        return "no servers were measured: nothing is counted"
    whom = f"{turn.songs:,} songs, {turn.ratings} ratings in the mean, {turn.rate:g} turns/s"
    if turn.engine is None:
        return f"a whole turn of the servers, newcomers' choices with it: {whom}"
    return (
        f"a turn of the servers ({duration(turn.seconds)}) less learning and choosing "
        f"({duration(turn.engine)}): {whom}"
    )


def services(document: Document) -> str:
    """Return what services of three sizes would take, if all listeners are known."""
    found, computer = constants_of(document), Computer()
    columns = [estimate(service, found, computer) for service in _SERVICES.values()]
    plans = list(_SERVICES.values())
    rows = [
        ["listeners", *(f"{plan.listeners:,}" for plan in plans)],
        ["songs", *(f"{plan.songs:,}" for plan in plans)],
        ["turns in a second", *(number(one.turns_per_second) for one in columns)],
        ["arrivals in a second", *(number(one.arrivals_per_second) for one in columns)],
        ["whole passes in a second", *(number(one.passes_per_second) for one in columns)],
        ["matrix", *(size(one.matrix_bytes) for one in columns)],
        ["shared in each computer", *(size(one.shared_bytes) for one in columns)],
        ["memory of all who are here", *(size(one.listeners_bytes) for one in columns)],
        ["disk", *(size(one.disk_bytes) for one in columns)],
        ["cores busy", *(number(one.cores) for one in columns)],
        ["– with turns", *(number(one.cores_for_turns) for one in columns)],
        ["– with arrivals", *(number(one.cores_for_arrivals) for one in columns)],
        ["reading memory", *(f"{size(one.reading_bytes_per_second)}/s" for one in columns)],
        ["cache of each process", *(size(one.cache_bytes) for one in columns)],
        ["**computers**", *(f"{one.computers:,} (by {one.limit})" for one in columns)],
        ["per 1 % of turns by newcomers: cores", *(number(one.newcomer_cores) for one in columns)],
        ["– reading memory", *(f"{size(one.newcomer_reading)}/s" for one in columns)],
    ]
    return table(("", *_SERVICES), rows)
