"""`bandstand bench` and `bandstand bench --scale`: steps, many songs and many listeners, by parts.

python -m benchmarks.scale '{"only": ["step"], "json": "-"}'
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from benchmarks import steps
from benchmarks.memory import measure_memory
from benchmarks.program import OnRun, measure_parts, require_at_least, run_as_program
from benchmarks.serving import measure_serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PARTS: Final[tuple[str, ...]] = ("step", "small", "playlist", "memory", "serving")
_KNOWN_RATINGS: Final = 100  # from here on a listener is no newcomer


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleRequest:
    """Sizes of all parts; `quick_request` makes them small."""

    only: tuple[str, ...] = PARTS
    songs: int = 1_000_000
    features: int = 91
    seed: int = 1
    ratings: tuple[int, ...] = (5, 20, 100, 500, 5_000)  # of the listeners who take steps
    steps: int = 200  # of each kind of listening and number of ratings
    small_songs: tuple[int, ...] = (10_000, 100_000)
    small_steps: int = 60
    playlist: int = 50
    playlist_ratings: tuple[int, ...] = (500,)
    memory_ratings: tuple[int, ...] = (5, 1_000)
    serving_songs: int = 100_000
    listeners: int = 1_000
    turns: int = 1_000  # at each rate
    rate: tuple[float, ...] = (32.0, 100.0)  # turns a second

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        unknown = [part for part in self.only if part not in PARTS]
        if unknown or not self.only:
            msg = f"a part must be one of {', '.join(PARTS)}, got {', '.join(unknown) or 'none'}"
            raise InvalidInputError(msg)
        least = {"songs": 50, "features": 2, "steps": 4, "small_steps": 4, "seed": 0}
        require_at_least(asdict(self), least)


_QUICK: Final[Mapping[str, Any]] = {
    "songs": 20_000,
    "steps": 20,
    "small_songs": (2_000,),
    "small_steps": 20,
    "playlist": 10,
    "serving_songs": 1_000,
    "listeners": 10,
    "turns": 40,
    "rate": (10.0,),
}


def request_of(*, quick: bool = False, **changes: Any) -> ScaleRequest:
    """Return a request; no catalogue is larger than `songs`, if that is among the changes.

    >>> request_of(songs=50_000).small_songs, request_of(songs=50_000).serving_songs
    ((10000, 50000), 50000)
    """
    whole = replace(ScaleRequest(), **(_QUICK if quick else {}))
    limit = changes.get("songs", whole.songs)
    less = {
        "small_songs": tuple(sorted({min(each, limit) for each in whole.small_songs})),
        "serving_songs": min(whole.serving_songs, limit),
    }
    return replace(whole, **{**less, **changes})


def step(request: ScaleRequest, on_run: OnRun) -> dict[str, Any]:
    """Return steps over all songs beside the stream."""
    rows = steps.measure_steps(_plan(request), on_run)
    known = [row for row in rows if row["ratings"] >= _KNOWN_RATINGS]
    newcomers = [row for row in rows if row["ratings"] < _KNOWN_RATINGS]
    figures = {
        "median step, 100 ratings or more": steps.worst(known, "median_streams"),
        "median step, fewer ratings": steps.worst(newcomers, "median_streams"),
        "slowest step": steps.worst(rows, "slowest_streams"),
        "mean work behind an answer": steps.worst(rows, "behind_streams"),
        "choices unlike brute force": steps.wrong_choices(rows),
    }
    return {"rows": rows, "figures": figures}


def small(request: ScaleRequest, on_run: OnRun) -> dict[str, Any]:
    """Return steps over fewer songs beside LinUCB, in both precisions."""
    rows = []
    for songs in request.small_songs:
        linucb = {**steps.DOUBLE, **steps.SINGLE}
        plan = _plan(request, songs=songs, steps=request.small_steps, linucb=linucb)
        rows += steps.measure_steps(plan, on_run)
    fewest, most = (
        [row for row in rows if row["songs"] == songs]
        for songs in (request.small_songs[0], request.small_songs[-1])
    )
    figures = {
        "median step, fewest songs": steps.worst(fewest, "per_linucb"),
        "median step, most songs": steps.worst(most, "per_linucb"),
        "choices unlike brute force": steps.wrong_choices(rows),
    }
    return {"rows": rows, "figures": figures}


def playlist(request: ScaleRequest, on_run: OnRun) -> dict[str, Any]:
    """Return playlists of all kinds of listening."""
    plan = _plan(request, ratings=request.playlist_ratings)
    return steps.measure_playlists(plan, request.playlist, on_run)


def _plan(request: ScaleRequest, **changes: Any) -> steps.StepPlan:
    plan = steps.StepPlan(
        songs=request.songs,
        features=request.features,
        seed=request.seed,
        ratings=request.ratings,
        steps=request.steps,
    )
    return replace(plan, **changes)


_MEASURES: Final[Mapping[str, Callable[[ScaleRequest, OnRun], dict[str, Any]]]] = {
    "step": step,
    "small": small,
    "playlist": playlist,
    "memory": lambda request, on_run: measure_memory(
        songs=request.songs,
        columns=request.features,
        ratings=request.memory_ratings,
        seed=request.seed,
        on_run=on_run,
    ),
    "serving": lambda request, on_run: measure_serving(
        songs=request.serving_songs,
        listeners=request.listeners,
        turns=request.turns,
        rates=request.rate,
        on_run=on_run,
    ),
}


def measure(request: ScaleRequest) -> dict[str, Any]:
    """Return all parts of a request, ready for JSON."""
    wanted = {name: partial(_MEASURES[name], request) for name in PARTS if name in request.only}
    return measure_parts(wanted, asdict(request))


if __name__ == "__main__":
    run_as_program(lambda **order: measure(request_of(**order)))
