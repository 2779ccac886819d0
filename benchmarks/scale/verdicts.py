"""What single processes say of the answers that several servers gave.

The answers are made again by as many processes as there are cores, each alone with its listeners:
all answers to a listener are checked by one process, from the log alone. Where `check_every` is
k > 1, those to listeners 0, k, 2k, … are, which is settled before anybody has come.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bandstand._util.parallel import usable_cores
from benchmarks.scale.children import child

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.scale.serving import ServingRequest
    from benchmarks.scale.turns import Outcome


def evidence(crowd: Mapping[str, Any], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what was said to whom, and how many events everybody's log must have."""
    told = [crowd["ratings"], *(outcome.told for outcome in outcomes)]
    return {
        "names": crowd["names"],
        "said": [said for outcome in outcomes for said in outcome.said],
        "told": [sum(counts) for counts in zip(*told, strict=True)],
    }


def verdict_on(
    request: ServingRequest, store: str, kept: Mapping[str, Any], home: Path
) -> dict[str, Any]:
    """Return what single processes say, each of the answers to its own listeners."""
    chosen = [said for said in kept["said"] if said.listener % request.check_every == 0]
    processes = min(usable_cores(), max(1, len(kept["names"]) // request.check_every))
    orders = []
    for number in range(processes):
        some = [s for s in chosen if s.listener // request.check_every % processes == number]
        forced = {
            "by_force": _shared(request.by_force, processes, number),
            "whole": _shared(request.among_all, processes, number),
        }
        orders.append({**kept, "store": store, "said": some, **forced})
    with ThreadPoolExecutor(processes) as pool:
        verdicts = list(pool.map(lambda order: child("replay", order, home), orders))
    counts = {"answers": len(kept["said"]), "intended": len(chosen), "processes": processes}
    return {**counts, **_engine_json(merged(verdicts))}


def _shared(count: int, processes: int, number: int) -> int:
    """Return how many the process of that number does; the first take what is not shared evenly."""
    return (count + processes - 1 - number) // processes


def _engine_json(verdict: dict[str, Any]) -> dict[str, Any]:
    """Return a verdict with the mean of what turns took in place of all of them."""
    turns = verdict.pop("engine_seconds")
    mean = 1_000 * sum(turns) / len(turns) if turns else None
    return {**verdict, "turns_timed": len(turns), "engine_ms_per_turn": mean}


def merged(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return several verdicts as one.

    >>> merged([{"wrong": 1, "examples": ["a"], "seconds": 2.0}] * 2)
    {'wrong': 2, 'examples': ['a', 'a'], 'seconds': 2.0}
    """
    return {
        name: max(each[name] for each in verdicts)
        if isinstance(verdicts[0][name], float)
        else sum((each[name] for each in verdicts), start=type(verdicts[0][name])())
        for name in verdicts[0]
    }
