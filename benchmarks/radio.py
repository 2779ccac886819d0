"""`bandstand bench --radio`: the real server under load, with a store that is thrown away.

    python -m benchmarks.radio '{"json": "-"}'

Times are those of the wall clock at the listeners' end. Server and load share this computer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.web.security.passwords import hashed
from benchmarks.fixtures.songs import add_listeners, add_songs, stars_by_song
from benchmarks.load import LoadScript, Outcome, p99
from benchmarks.program import child, measure_parts, require_at_least, run_as_program
from benchmarks.server import ServerProcess, session_cookie

if TYPE_CHECKING:
    from benchmarks.program import OnRun

_KNOWN: Final = "known listener"
_PASSWORD: Final = "for one benchmark"
_RATING_RATE: Final = 10.0  # in a second
_SONG_RATE: Final = 2.0  # as a hundred listeners who hear fifty seconds of each song
_WARM_UP_TURNS: Final = 20
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioRequest:
    """What to measure."""

    songs: int = 10_000
    ratings: int = 1_000  # of the known listener
    steps: int = 500  # of the known listener
    listeners: int = 100  # new ones
    seconds: float = 20.0  # of each load

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        require_at_least(asdict(self), {"songs": 50, "ratings": 1, "steps": 1, "listeners": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioResult:
    """Everything that was measured."""

    loads: dict[str, Outcome]
    stored: int  # events of the loads that the store has
    start_bytes: int
    restart_seconds: float

    def figures(self) -> dict[str, float | None]:
        """Return the figures of which targets exist."""
        loads, all_loads = self.loads, self.loads.values()
        acknowledged = sum(sum(load.acknowledged) for load in all_loads)
        return {
            "p99 of rating and next song, one listener": p99(loads["one listener"].turns),
            "p99 of a rating, all listeners at once": p99(loads["all rate"].events),
            "ratings a second, all listeners at once": loads["all rate"].row()["a_second"],
            "songs a second, all new listeners at once": loads["all rate and ask"].row()[
                "a_second"
            ],
            "p99 of rating and next song, all new listeners at once": p99(
                loads["all rate and ask"].turns
            ),
            "p99 of a rating, 10 a second": p99(loads["10 ratings a second"].events),
            "songs chosen without the rating before": sum(load.behind for load in all_loads),
            "errors": sum(sum(load.errors.values()) for load in all_loads),
            "acknowledged ratings that are not stored": acknowledged - self.stored,
            "memory after the start": self.start_bytes / _MEGABYTE,
            "restart after kill -9": self.restart_seconds,
        }

    def as_json(self) -> dict[str, Any]:
        """Return the part for JSON."""
        rows = [{"load": name, **load.row()} for name, load in self.loads.items()]
        errors = {name: load.errors for name, load in self.loads.items()}
        return {"rows": rows, "figures": self.figures(), "errors": errors}


def measure(request: RadioRequest, on_run: OnRun) -> RadioResult:
    """Return the outcome of all loads, one after the other."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        home = Path(folder)
        place = str(home / "radio.db")
        on_run("writing songs and listeners")
        tokens, stars = _filled(place, request)
        on_run("starting the server")
        with ServerProcess(place, home) as server:
            cookie = session_cookie(server.port, _KNOWN, _PASSWORD)
            known, *new = (f"{cookie}={token}" for token in tokens)
            start_bytes, before = server.resident_bytes(), _count_events(place)

            def run(name: str, cookies: list[str], **options: Any) -> Outcome:
                on_run(name)
                script = LoadScript(
                    ports=[server.port], cookies=cookies, stars=stars, prefix=name, **options
                )
                return Outcome.of_json(child("load", asdict(script)))

            # Warm: the model is there, and the disk has seen the store.
            warm_up = run("warming up", [known], turns=_WARM_UP_TURNS)
            loads = {"one listener": run("one listener", [known], turns=request.steps)}
            loads |= _new_listeners(partial(run, cookies=new), request)
            server.kill()
            return RadioResult(
                loads=loads,
                stored=_count_events(place) - before - sum(warm_up.acknowledged),
                start_bytes=start_bytes,
                restart_seconds=server.start(),
            )


def _new_listeners(run: Any, request: RadioRequest) -> dict[str, Outcome]:
    """Return the loads of all new listeners, who rate songs in any order."""
    seconds, count = {"seconds": request.seconds}, {"turns": request.listeners}
    options: dict[str, dict[str, Any]] = {
        "all rate": {**seconds, "asks": False},
        "10 ratings a second": {**seconds, "asks": False, "rate": _RATING_RATE},
        "all rate and ask, first song": count,
        "all rate and ask": seconds,
        "2 turns a second": {**seconds, "rate": _SONG_RATE},
    }
    return {name: run(name, follows=False, **each) for name, each in options.items()}


def _filled(place: str, request: RadioRequest) -> tuple[list[str], dict[str, int]]:
    """Return the tokens of all listeners, the known one first, and the stars of all songs."""
    new = {f"listener {number}": 0 for number in range(request.listeners)}
    with open_store(place) as store:
        add_songs(store, request.songs)
        ratings = {_KNOWN: request.ratings, **new}
        tokens = add_listeners(store, ratings, password_hash=hashed(_PASSWORD))
        return [*tokens.values()], stars_by_song(store)


def _count_events(place: str) -> int:
    """Return how many events a store has."""
    with open_store(place) as store, store.reading() as connection:
        everyone = accounts.all_accounts(connection)
        return sum(events.end(connection, account.id).seq for account in everyone)


def measure_radio(*, quick: bool = False, **changes: Any) -> dict[str, Any]:
    """Return the whole benchmark, ready for JSON; a `quick` one takes half a minute."""
    small = RadioRequest(songs=1_000, ratings=100, steps=50, listeners=10, seconds=2.0)
    request = replace(small if quick else RadioRequest(), **changes)
    return measure_parts({"radio": lambda say: measure(request, say).as_json()}, asdict(request))


if __name__ == "__main__":
    run_as_program(measure_radio)
