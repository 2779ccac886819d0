"""The parts of the benchmark, each of which gives the JSON of what it has measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand_lab.speed.world import PAPER, STARS
from benchmarks.scale.memory import measure_memory
from benchmarks.scale.playlists import MANY_STEPS, WARM_STEPS, measure_playlists
from benchmarks.scale.sitting import Library, drawn_features
from benchmarks.scale.steps import PICKS, Situation, measure_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand_lab.speed.world import World
    from benchmarks.scale.request import ScaleRequest

    OnRun = Callable[[str], None]


class Libraries:
    """Catalogues of one request; only the one asked for last is kept."""

    def __init__(self, request: ScaleRequest) -> None:
        self._request = request
        self._last: tuple[tuple[str, int], Library] | None = None

    def of(self, world: World, songs: int) -> Library:
        """Return a catalogue of so many songs."""
        wanted = (world.name, songs)
        if self._last is None or self._last[0] != wanted:
            self._last = None
            rng = np.random.default_rng([self._request.seed, songs])
            features = drawn_features(world, songs, self._request.features, rng)
            self._last = (wanted, Library.of(features))
        return self._last[1]

    def forget(self) -> None:
        """Keep none."""
        self._last = None


def step(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return consecutive steps over all songs, of both kinds of listeners and of listening."""
    every = max(1, request.steps // request.linucb_runs)
    situations = _situations(request, steps=request.steps, every=every)
    found = []
    for situation in situations:
        on_run(f"{request.steps} steps, {request.songs:,} songs, {_named(situation)}")
        library = libraries.of(situation.world, request.songs)
        found.append(measure_steps(situation, library).as_json())
    return {"situations": found}


def small(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return the same over few songs, beside LinUCB at each step, in both precisions."""
    found = []
    for double in (True, False):
        for situation in _situations(request, steps=request.small_steps, every=1, double=double):
            kind = "double" if double else "single"
            on_run(f"{request.small_songs:,} songs, {_named(situation)}, LinUCB in {kind}")
            library = libraries.of(situation.world, request.small_songs)
            steps = measure_steps(situation, library).as_json()
            found.append({**steps, "linucb_precision": kind})
    return {"situations": found}


def growth(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return steps as songs grow and as answers grow, and over all songs with few answers."""

    def steps(songs: int, ratings: int) -> dict[str, Any]:
        on_run(f"{songs:,} songs, {ratings:,} ratings")
        situation = Situation(
            world=STARS,
            picks="own",
            ratings=ratings,
            steps=request.growth_steps,
            seed=request.seed,
            linucb_every=request.growth_steps,
            checks=0,
        )
        return measure_steps(situation, libraries.of(STARS, songs)).as_json()

    return {
        "ratings": [steps(request.growth_songs, ratings) for ratings in request.rating_sizes],
        "songs": [steps(songs, request.ratings) for songs in request.song_sizes],
        "newcomers": [steps(request.songs, ratings) for ratings in request.newcomers],
    }


def playlist(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return the time of playlists beside that of steps, in every situation."""
    found = []
    for situation in _situations(request, steps=WARM_STEPS, every=MANY_STEPS, checks=0):
        on_run(f"playlists of {request.playlist}, {request.songs:,} songs, {_named(situation)}")
        library = libraries.of(situation.world, request.songs)
        found.append(measure_playlists(situation, library, request.playlist))
    return {"songs": request.songs, "length": request.playlist, "situations": found}


def memory(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return what processes with so many songs hold: an engine alone, and a whole radio."""
    from benchmarks.scale.radio_memory import measure_radio  # noqa: PLC0415

    del libraries
    engines, radios = [], []
    for songs in request.memory_sizes:
        on_run(f"memory of an engine with {songs:,} songs")
        engines.append(
            measure_memory(
                songs=songs, columns=request.features, ratings=request.ratings, seed=request.seed
            )
        )
        on_run(f"memory of a radio with {songs:,} songs, which are invented first")
        radios.append(measure_radio(songs=songs, ratings=request.ratings))
    return {"sizes": engines, "radios": radios}


def cold(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return how long somebody waits whom the radio does not know."""
    from benchmarks.scale.cold import measure_cold  # noqa: PLC0415  (only where wanted)

    libraries.forget()  # the store of as many songs needs the room
    return measure_cold(
        sizes=request.cold_sizes,
        ratings=request.cold_ratings,
        rounds=request.rounds,
        on_run=on_run,
    )


def changing(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return how long answers take while songs come and go."""
    from benchmarks.scale.changing import measure_changing  # noqa: PLC0415

    libraries.forget()
    return measure_changing(songs=request.changing_songs, ratings=request.ratings, on_run=on_run)


def correctness(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return how many choices were those of brute force."""
    from benchmarks.scale.correctness import measure_correctness  # noqa: PLC0415

    del libraries
    return measure_correctness(cases=request.cases, seed=request.seed, on_run=on_run)


def costs(request: ScaleRequest, libraries: Libraries, on_run: OnRun) -> dict[str, Any]:
    """Return bytes per song, listener and rating."""
    from benchmarks.scale.costs import measure_costs  # noqa: PLC0415

    del libraries
    return measure_costs(songs=request.stored_songs, ratings=request.stored_ratings, on_run=on_run)


def _situations(
    request: ScaleRequest, *, steps: int, every: int, **options: Any
) -> Iterator[Situation]:
    for world in (STARS, PAPER):
        for picks in PICKS:
            yield Situation(
                world=world,
                picks=picks,
                ratings=request.ratings,
                steps=steps,
                seed=request.seed,
                stream_every=min(4, every),
                linucb_every=every,
                **options,
            )


def _named(situation: Situation) -> str:
    return f"{situation.world.name}, {situation.picks} picks"
