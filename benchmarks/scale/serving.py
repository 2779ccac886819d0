"""Many listeners taking turns on one PostgreSQL, at several server processes.

    songs, listeners with a past ─ PostgreSQL ┬ server ┐
                                              └ server ┴ listeners, ever more of them in a second
    every answer ─ one process, from the log alone: is it the same?

What a listener tells goes to one server, the question for the next song to another, so that
every answer shows whether a server knows what was told to another one (read your own writes).
The highest rate that is held is looked for with few turns each, and then kept up for long enough
to say what 99 of 100 turns stay below (`hall`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from benchmarks.latencies import latencies_of
from benchmarks.radio_speed.process import RadioProcess, session_cookie
from benchmarks.scale.children import child
from benchmarks.scale.hall import P99_LIMIT, Hall, outcome_json
from benchmarks.scale.verdicts import evidence, verdict_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.radio_speed.process import Memory
    from benchmarks.scale.turns import Outcome

_PASSWORD: Final = "nobody's for an afternoon"  # noqa: S105  (of a store that is thrown away)
_MEGABYTE: Final = 1_000_000
# In a second. A listener hears about four minutes of each song, so that 1,000 of them take 4.
RATES: Final = (1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingRequest:
    """What to measure; `SMALL` are the settings of a small run."""

    songs: int = 100_000
    listeners: int = 1_000
    ratings: int = 50  # that a listener has given before, in the mean
    servers: int = 2
    rates: tuple[float, ...] = RATES  # turns in a second, rising
    begin: float = 8.0  # the rate tried first, or the lowest above; higher if held, or else lower
    seconds: float = 10.0  # of each rate tried, or longer where those are too few turns
    fewest: int = 100  # turns of each rate tried: a hundredth of fewer is nothing
    turns: int = 1_000  # at the highest rate held, at least: the hundredth of them are ten
    cache_mb: int = 256  # of each server, for what it knows of listeners: the setting's default
    together: int = 8  # turns at a time while everybody comes once
    every_server: int = 4  # of those, every so manieth listener asks all servers, others one
    check_every: int = 1  # answers to every so manieth listener are made again by one process
    by_force: int = 48  # answers that are looked for by force, among many songs
    among_all: int = 8  # of those: among all songs, which takes long
    store: str | None = None  # an empty PostgreSQL schema; a private server unless given

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        least_of = {"songs": 50, "ratings": 0, "by_force": 0, "among_all": 0}
        ones = ("listeners", "servers", "together", "every_server", "check_every", "turns")
        for name, least in {**least_of, **dict.fromkeys(ones, 1)}.items():
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}"
                raise InvalidInputError(msg)
        if not self.rates or min(self.rates) <= 0 or list(self.rates) != sorted(self.rates):
            msg = f"rates must be positive and rise, got {self.rates}"
            raise InvalidInputError(msg)


# What takes some seconds only.
SMALL: Final[Mapping[str, Any]] = {
    "songs": 1_000,
    "listeners": 10,
    "ratings": 10,
    "rates": (10.0,),
    "seconds": 2.0,
    "fewest": 20,
    "turns": 40,
    "every_server": 1,
    "by_force": 4,
    "among_all": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Everything that was measured."""

    request: ServingRequest
    crowd: Mapping[str, Any]
    start_seconds: Sequence[float]  # of each server
    memory: Sequence[Memory]  # of each server after all of it
    first: Outcome  # everybody's first turn: all beliefs are made
    rates: Sequence[tuple[float, Outcome]]  # as they were tried
    held: tuple[float, Outcome] | None  # the highest, with all its turns
    verdict: Mapping[str, Any]  # of the one process

    def as_json(self) -> dict[str, Any]:
        """Return the figures."""
        rate, best = self.held or (0.0, None)
        store = "private" if self.request.store is None else "given"
        return {
            "request": {**asdict(self.request), "store": store},
            "shortened": shortened(self.request),
            "filling": {name: self.crowd[name] for name in ("song_seconds", "rating_seconds")},
            "start_seconds": list(self.start_seconds),
            "memory": [_megabytes(each) for each in self.memory],
            "first_turns": outcome_json(self.first),
            "rates": [{"rate": each, **outcome_json(outcome)} for each, outcome in self.rates],
            "highest_rate_held": rate,
            "turns_there": 0 if best is None else len(best.turns),
            "p99_ms_there": None if best is None else 1_000 * latencies_of(best.turns).p99,
            "p99_ms_asked": 1_000 * P99_LIMIT,
            "verdict": dict(self.verdict),
        }


def measure(*, on_run: Callable[[str], None] = lambda _: None, **settings: Any) -> dict[str, Any]:
    """Return what was measured, ready for JSON.

    `settings` are those of `ServingRequest`; `on_run` hears of every part as it begins.
    """
    return served(ServingRequest(**settings), on_run).as_json()


def served(request: ServingRequest, on_run: Callable[[str], None]) -> Served:
    """Return what was measured, with every answer."""
    with ExitStack() as parts:
        home = Path(parts.enter_context(TemporaryDirectory(prefix="bandstand-bench-")))
        store = request.store or _private_store(parts)
        on_run("inventing songs and listeners")
        crowd = child("crowd", _crowd_order(request, store), home)
        on_run("starting the servers")
        with ExitStack() as running:
            servers = _started(request, store, home, running)
            cookie = session_cookie(servers[0].port, crowd["names"][0], _PASSWORD)
            hall = Hall(request, crowd, cookie, servers, home, on_run)
            first, held = hall.first_turns(), hall.highest_rate()
            memory = [server.memory() for server in servers]
        on_run("the same answers by one process")
        outcomes = [first, *(outcome for _, outcome in hall.tried)]
        verdict = verdict_on(request, store, evidence(crowd, outcomes), home)
    return Served(
        request=request,
        crowd=crowd,
        start_seconds=[server.start_seconds for server in servers],
        memory=memory,
        first=first,
        rates=hall.tried,
        held=held,
        verdict=verdict,
    )


def shortened(request: ServingRequest) -> list[str]:
    """Return what is done less often than it could be, in words."""
    told = ["rates rise until the first that is not held; higher ones are not tried"]
    few, many = request.fewest, request.turns
    if few < many:
        told.append(f"a rate is tried with {few} turns or more, the highest one held with {many:,}")
    if request.every_server > 1:
        every = request.every_server
        told.append(f"at first every listener of {every} asks all servers, the others one each")
    if request.check_every > 1:
        told.append(f"only answers to every listener of {request.check_every} are made again")
    if request.by_force:
        forced, whole = request.by_force, request.among_all
        told.append(f"{forced} answers are looked for by force, {whole} of them among all songs")
    return told


def _private_store(parts: ExitStack) -> str:
    # Imported here: who names a database needs no programs of PostgreSQL.
    from benchmarks.private_postgres import PrivatePostgres  # noqa: PLC0415

    return parts.enter_context(PrivatePostgres(connections=100)).new_schema()


def _started(
    request: ServingRequest, store: str, home: Path, running: ExitStack
) -> list[RadioProcess]:
    settings = {"BANDSTAND_LISTENER_CACHE_MB": str(request.cache_mb)}
    names = (f"server-{number}" for number in range(1, request.servers + 1))
    return [
        running.enter_context(RadioProcess(store, home, name=name, settings=settings))
        for name in names
    ]


def _crowd_order(request: ServingRequest, store: str) -> dict[str, Any]:
    return {
        "store": store,
        "songs": request.songs,
        "listeners": request.listeners,
        "ratings": request.ratings,
        "password": _PASSWORD,
    }


def _megabytes(memory: Memory) -> dict[str, float | None]:
    alone = memory.proportional
    return {
        "resident_mb": memory.resident / _MEGABYTE,
        "proportional_mb": None if alone is None else alone / _MEGABYTE,
    }
