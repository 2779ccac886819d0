"""A run of `bandstand bench --scale` that nobody has made: parts in which every promise holds."""

from __future__ import annotations

from typing import Any


def a_step(**changes: Any) -> dict[str, Any]:
    names = ("median", "mean", "lower_quartile", "upper_quartile", "p99", "maximum")
    spread = dict.fromkeys(names, 0.01)
    ratios = {"step / stream": 0.5, "step / linucb-product": 0.1, "step / linucb-widths": 2.0}
    timed = {"step": spread, "learn": spread, "choose": spread, "stream": spread}
    return {
        "world": "stars",
        "picks": "own",
        "songs": 1_000,
        "ratings": 500,
        "steps": 200,
        "seconds": {**timed, "upkeep": {"mean": 0.002}, "first_choice": 0.1, "fit": 0.02},
        "ratios": {name: {"median": value} for name, value in ratios.items()},
        "slower_than_5_streams": 1,
        "passes": 2,
        "passes_ahead": 1,
        "steps_with_a_pass": 2,
        "grid_moves_within_steps": 1,
        "grid_moves_after_steps": 5,
        "bytes_of_belief": 1_500_000,
        "bytes_of_memory": 500_000,
        "linucb_precision": "double",
        "brute_force": {"checked": 3, "agreed": 3},
        **changes,
    }


def a_memory(songs: int, peak: int) -> dict[str, Any]:
    matrix = 364 * songs
    parts = {"program": 60_000_000, "matrix": matrix, "shared_by_listeners": 12 * songs}
    engine = {"songs": songs, "peak": peak, "parts": {**parts, "belief": 1, "shortlist": 2}}
    radio = {"songs": songs, "peak": peak, "matrix": matrix, "opening_seconds": 1.0}
    small = {**radio, "songs": songs // 10, "matrix": matrix // 10, "peak": 80_000_000}
    return {"sizes": [engine, engine], "radios": [small, radio]}


def some_costs() -> dict[str, Any]:
    names = ("song_in_store", "song_in_matrix", "rating_in_log", "rating_in_snapshot")
    each = dict.fromkeys((*names, "rating_in_memory", "listener_in_store"), 100.0)
    return {
        "songs": [{"songs": 10, "store": 1, "matrix": 2}],
        "ratings": [
            {"ratings": 10, "log": 1, "snapshot": 2, "held": 9, "belief": 3, "shortlist": 1}
        ],
        "each": each,
    }


def a_cold_size(songs: int, usable: float) -> dict[str, Any]:
    seconds = {"usable": usable, "first_choice": 0.2, "next": usable + 0.25}
    times = {
        name: {"wall_seconds": {"median": each}, "processor_seconds": {"median": each / 2}}
        for name, each in seconds.items()
    }
    return {"songs": songs, "from_log": times, "from_snapshot": times}


def a_playlist(in_steps: float, **changes: Any) -> dict[str, Any]:
    return {
        "world": "stars",
        "picks": "own",
        "playlists": 3,
        "passes": 1,
        "different_songs": [50, 49, 50],
        "seconds": {"median": 0.2},
        "step_seconds": 0.01,
        "in_steps": {"median": in_steps},
        "in_whole_steps": {"median": in_steps / 2},
        "in_streams": {"median": 0.75 * in_steps},
        **changes,
    }


def a_change(**changes: int) -> dict[str, Any]:
    """Return a part in which songs came and went, and nobody was offered one that was gone."""
    counts = {"songs": 1_000, "changes": 5, "offered_before": 5, "new": 50, "new_on_shelf": 50}
    times = {"slowest_ms": 80.0, "median_ms": 20.0}
    return {**counts, "all": times, "answers_after": 90, "offered_though_gone": 0, **changes}


def some_cases(**changes: int) -> dict[str, int]:
    return {"cases": 10, "wrong": 0, "songs_outside": 8, "without_a_pass": 5, **changes}


def a_rate(rate: float, work: float | None, *, is_held: bool = True) -> dict[str, Any]:
    return {
        "rate": rate,
        "server_processor_ms_per_turn": work,
        "is_held": is_held,
        "errors": {},
    }


def a_verdict(**changes: int) -> dict[str, Any]:
    counts = {"wrong": 0, "behind": 0, "missing": 0, "checked": 10, "intended": 10, "answers": 12}
    return {**counts, "by_force": 4, "engine_ms_per_turn": None, **changes}


def invented_parts() -> dict[str, Any]:
    """Return parts of a run in which every promise holds, as far as they have one."""
    return {
        "step": {"situations": [a_step()]},
        "playlist": {
            "length": 50,
            "songs": 1_000,
            "situations": [a_playlist(1.0), a_playlist(4.0), a_playlist(2.0)],
        },
        "small": {"situations": [a_step()]},
        "growth": {
            "songs": [a_step(songs=songs) for songs in (100, 1_000)],
            "ratings": [a_step(ratings=ratings) for ratings in (100, 1_000)],
            "newcomers": [a_step(ratings=ratings) for ratings in (5, 20)],
        },
        "memory": a_memory(1_000_000, 700_000_000),
        "cold": {
            "ratings": 1_000,
            "sizes": [a_cold_size(10_000, 0.05), a_cold_size(1_000_000, 0.06)],
        },
        "changing": a_change(),
        "correctness": {"exact": some_cases(), "variational": some_cases()},
        "costs": some_costs(),
        "scan": {"files": 240, "times_as_fast_median": 1.8},
        "serving": {
            "request": {"listeners": 1_000, "songs": 100_000, "ratings": 50},
            "verdict": a_verdict(),
            "first_turns": a_rate(0.0, 99.0, is_held=False),
            "rates": [a_rate(1.0, 90.0), a_rate(30.0, 80.0), a_rate(40.0, 70.0, is_held=False)],
            "highest_rate_held": 30.0,
            "turns_there": 1_000,
            "p99_ms_there": 120.0,
            "p99_ms_asked": 300.0,
        },
    }
