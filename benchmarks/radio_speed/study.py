"""The radio under load: the real server as a process, listeners in another one, a store to lose.

What is measured is wall-clock time at the listeners' end. Server and load share this computer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.radio.passwords import hashed
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from benchmarks.invented import add_listeners, add_songs, stars_by_song
from benchmarks.latencies import latencies_of
from benchmarks.radio_speed.load import Order, Outcome
from benchmarks.radio_speed.process import RadioProcess, session_cookie

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.radio_speed.process import Memory

_ONE: Final = "one"
_PASSWORD: Final = "nobody's for an afternoon"  # noqa: S105  (of a store that is thrown away)
_RATINGS_PACE: Final = 10.0  # in a second
_SONGS_PACE: Final = 2.0  # as a hundred listeners who hear fifty seconds of each song


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioRequest:
    """What to measure."""

    songs: int = 10_000
    ratings: int = 1_000  # of the one listener
    steps: int = 500  # of the one listener
    listeners: int = 100
    seconds: float = 20.0  # of each load

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        for name, least in (("songs", 50), ("ratings", 1), ("steps", 1), ("listeners", 1)):
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}"
                raise InvalidInputError(msg)


def quick_request(**changes: Any) -> RadioRequest:
    """Return a request that takes less than half a minute; `changes` replace its settings."""
    small = {"songs": 1_000, "ratings": 100, "steps": 50, "listeners": 10, "seconds": 2.0}
    return RadioRequest(**{**small, **changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioResult:
    """Everything that was measured."""

    request: RadioRequest
    start_seconds: float
    restart_seconds: float
    one: Outcome  # rating and next song of one listener with many ratings
    rating: Outcome  # all listeners at once, each as fast as it is answered
    rating_paced: Outcome  # ten ratings in a second
    first_songs: Outcome  # of everybody at once: all models are made
    songs: Outcome  # rating and next song, everybody at once
    songs_paced: Outcome  # the same, two in a second
    stored: int  # events that the store has of all that the listeners were told are stored
    memory_at_start: Memory
    memory_in_use: Memory

    @property
    def loads(self) -> dict[str, Outcome]:
        """Every load by name."""
        names = ("one", "rating", "rating_paced", "first_songs", "songs", "songs_paced")
        return {name: getattr(self, name) for name in names}

    @property
    def acknowledged(self) -> int:
        """How many ratings the listeners were told are stored."""
        return sum(outcome.acknowledged for outcome in self.loads.values())

    def as_json(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "request": asdict(self.request),
            "loads": {name: outcome_json(outcome) for name, outcome in self.loads.items()},
            "acknowledged": self.acknowledged,
            "stored": self.stored,
            "memory_at_start": self.memory_at_start._asdict(),
            "memory_in_use": self.memory_in_use._asdict(),
            "start_seconds": self.start_seconds,
            "restart_seconds": self.restart_seconds,
        }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return what became of a load."""
    times = {"rating": outcome.ratings, "song": outcome.songs, "step": outcome.steps}
    return {
        **{name: latencies_of(each).as_json() for name, each in times.items() if each},
        "per_second": outcome.acknowledged / outcome.seconds,
        "seconds": outcome.seconds,
        "errors": outcome.errors,
        "behind": outcome.behind,
    }


def measure(request: RadioRequest, on_run: Callable[[str], None]) -> RadioResult:
    """Return what was measured; `on_run` hears of every part as it begins."""
    with TemporaryDirectory(prefix="bandstand-bench-") as folder:
        home = Path(folder)
        place = str(home / "radio.db")
        on_run("inventing songs and listeners")
        tokens, stars = _filled(place, request)
        on_run("starting the server")
        with RadioProcess(place, home) as server:
            cookie = session_cookie(server.port, _ONE, _PASSWORD)
            cookies = {name: f"{cookie}={token}" for name, token in tokens.items()}
            with _loads(server, stars, on_run) as load:
                return _measured(request, server, place, cookies, load)


def _measured(
    request: RadioRequest,
    server: RadioProcess,
    place: str,
    cookies: dict[str, str],
    load: Callable[..., Outcome],
) -> RadioResult:
    one = (cookies.pop(_ONE),)
    many = tuple(cookies.values())
    at_start, before = server.memory(), _count(place)
    seconds, everybody = request.seconds, request.listeners
    # Warm: the model is there, and the disk has seen the store.
    warm = load("warming up", one, count=20, asks=True, follows=True)
    alone = load("one listener", one, count=request.steps, asks=True, follows=True)
    rating = load("everybody rates", many, seconds=seconds, asks=False)
    paced = load("ten ratings in a second", many, seconds=seconds, asks=False, pace=_RATINGS_PACE)
    first = load("everybody's first song", many, count=everybody, asks=True)
    songs = load("everybody's next song", many, seconds=seconds, asks=True)
    songs_paced = load("two songs in a second", many, seconds=seconds, asks=True, pace=_SONGS_PACE)
    in_use = server.memory()
    server.kill()
    return RadioResult(
        request=request,
        start_seconds=server.start_seconds,
        restart_seconds=server.start(),
        one=alone,
        rating=rating,
        rating_paced=paced,
        first_songs=first,
        songs=songs,
        songs_paced=songs_paced,
        stored=_count(place) - before - warm.acknowledged,
        memory_at_start=at_start,
        memory_in_use=in_use,
    )


def _filled(place: str, request: RadioRequest) -> tuple[dict[str, str], dict[str, int]]:
    ratings = {f"listener {number}": 0 for number in range(request.listeners)}
    with open_store(place) as store:
        add_songs(store, request.songs)
        everybody = {_ONE: request.ratings, **ratings}
        return add_listeners(store, everybody, password_hash=hashed(_PASSWORD)), stars_by_song(
            store
        )


@contextmanager
def _loads(
    server: RadioProcess, stars: dict[str, int], on_run: Callable[[str], None]
) -> Iterator[Callable[..., Outcome]]:
    """Give a function that puts one load after the other on a server."""
    number = 0

    def load(what: str, cookies: tuple[str, ...], **options: Any) -> Outcome:
        nonlocal number
        number += 1
        on_run(what)
        return _run(
            Order(
                port=server.port,
                cookies=cookies,
                stars=stars,
                prefix=f"load {number}",
                **options,
            )
        )

    yield load


def _run(order: Order) -> Outcome:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.radio_speed.load"],
        input=json.dumps(asdict(order)),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        msg = f"the process of the listeners must end with code 0, got {done.returncode}"
        raise BandstandError(msg)
    return Outcome(**json.loads(done.stdout))


def _count(place: str) -> int:
    """Return how many events a store has."""
    with open_store(place) as store, store.reading() as connection:
        everybody = accounts.all_accounts(connection)
        return sum(events.end(connection, account.id).seq for account in everybody)
