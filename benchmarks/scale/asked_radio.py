"""What is promised of a whole radio and its servers, beside what was measured: fields of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bandstand_lab.speed.asked import number
from benchmarks.scale.words import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Part = Mapping[str, Any]


def cold_lines(part: Part) -> Iterator[dict[str, Any]]:
    """Yield what is promised of a listener whom the radio does not know."""
    for name, words, limit in (
        ("from_snapshot", "snapshot + tail", 0.1),
        ("from_log", "the log alone", 1.0),
    ):
        for size in part["sizes"]:
            times = size[name]
            usable, first, whole = (
                times[each]["wall_seconds"]["median"] for each in ("usable", "first_choice", "next")
            )
            where = f"{part['ratings']:,} ratings, {size['songs']:,} songs"
            then = f"then {milliseconds([first])} for the first choice"
            yield {
                "what": f"cold belief, {where}, from {words}",
                "asked": f"usable ≤ {1_000 * limit:,.0f} ms",
                "measured": f"{milliseconds([usable])} ms, {then}; "
                f"`next` {milliseconds([whole])} in all",
                "value": usable,
                "holds": usable <= limit,
            }


def changing_lines(part: Part) -> Iterator[dict[str, Any]]:
    """Yield what is promised while songs come and go."""
    wrong, answers, during = part["offered_though_gone"], part["answers_after"], part["all"]
    longest, usual = (number(during[name]) for name in ("slowest_ms", "median_ms"))
    yield {
        "what": f"songs come and go, {part['songs']:,} songs: offered though gone",
        "asked": "0",
        "measured": f"{wrong} of {answers:,} answers; longest {longest} ms, median {usual} ms",
        "value": float(wrong),
        # Songs that nobody would have been offered prove nothing.
        "holds": not wrong
        and part["offered_before"] == part["changes"] > 0
        and part["new_on_shelf"] == part["new"],
    }


def serving_lines(part: Part) -> Iterator[dict[str, Any]]:
    """Yield what is promised of many listeners at several servers."""
    request, verdict, rate = part["request"], part["verdict"], part["highest_rate_held"]
    everybody = f"{request['listeners']:,} listeners, {request['songs']:,} songs"
    wrong = verdict["wrong"] + verdict["behind"] + verdict["missing"]
    loads = (part["first_turns"], *part["rates"])
    errors = sum(sum(load["errors"].values()) for load in loads)
    failed = f"; {errors:,} errors" if errors else ""
    checked, forced = verdict["checked"], verdict["by_force"]
    is_whole = checked == verdict["intended"] > 0 and forced > 0
    yield {
        "what": f"{everybody}: wrong answers",
        "asked": "0",
        "measured": f"{wrong} ({checked:,} of {verdict['answers']:,} checked, {forced:,} by force"
        f"{failed})",
        "value": float(wrong),
        "holds": not wrong and not errors and is_whole,
    }
    there = f"{number(part['p99_ms_there'])} ms at {rate:g} turns/s" if rate else "none"
    yield {
        "what": f"{everybody}: p99 at the highest rate held",
        "asked": f"< {part['p99_ms_asked']:g} ms",
        "measured": f"{there}, of {part['turns_there']:,} turns{failed}",
        "value": part["p99_ms_there"],
        "holds": rate > 0 and not errors,
    }
