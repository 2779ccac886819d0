"""Many listeners taking turns on one PostgreSQL, at two server processes.

    songs, listeners with a past ─ PostgreSQL ┬ server ┐
                                              └ server ┴ listeners, at a rate of turns a second
    every answer ─ one process, from the log alone: is it the same?

    python -m benchmarks.serving < order.json > answer.json        fills the store, or checks it

An event goes to one server and the question for the next song to another, so that every answer
shows whether a server knows of an event at another one (read your own writes).

An answer names the last event that it knew, and the moment for which it was made. From those two
the same song follows, in every process. So each listener's log is written again for a twin with the
same seed, event by event, and a radio that knows nothing else is asked at the same moments. Song
and step must be the same, and the score within rounding.
"""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import update

from bandstand._util.parallel import usable_cores
from bandstand.errors import InvalidInputError
from bandstand.radio.service import Radio
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.database.schema import ACCOUNT
from bandstand.store.events import events
from bandstand.web.security.passwords import hashed
from benchmarks.fixtures.songs import add_listeners, add_songs, stars_by_song
from benchmarks.load import LoadScript, Offered, Outcome, p99
from benchmarks.program import answer_order, child
from benchmarks.server import ServerProcess, server_environment, session_cookie

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bandstand.radio.service import Offer
    from bandstand.store.database.connection import Store
    from benchmarks.program import OnRun

_PASSWORD: Final = "for one benchmark"
_SERVERS: Final = 2
_MEAN_RATINGS: Final = 50  # that a listener has given before
_TURNS_TOGETHER: Final = 8  # while every listener comes once
# A belief that came rating by rating and one that was made at once differ by rounding and by
# where the grid stands: in stars.
SCORE_TOLERANCE: Final = 1e-3
_MAX_EXAMPLES: Final = 10
_FIELDS: Final = ("key", "kind", "song", "stars", "played_ms", "scope", "target", "until")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """All loads, and what the check of their answers needs."""

    names: Sequence[str]  # of the listeners
    loads: Mapping[str, Outcome]  # every listener once, and one for each rate, rising
    expected_events: Sequence[int]  # of each listener, in the log

    @property
    def offered(self) -> list[Offered]:
        """Every answer."""
        return [one for load in self.loads.values() for one in load.offered]


def measure_serving(
    *, songs: int, listeners: int, turns: int, rates: Sequence[float], on_run: OnRun
) -> dict[str, Any]:
    """Return the load at each rate of turns a second, and how many answers were wrong."""
    if not rates or min(rates) <= 0:
        msg = f"rates must be positive numbers of turns a second, got {rates}"
        raise InvalidInputError(msg)
    # Imported here: the check needs no programs of PostgreSQL.
    from benchmarks.fixtures.postgres import PrivatePostgres

    with (
        PrivatePostgres(connections=100) as postgres,
        TemporaryDirectory(prefix="bandstand-bench-") as folder,
    ):
        store, home = postgres.new_schema(), Path(folder)
        order = {"fill": store, "songs": songs, "listeners": listeners}
        served = serve(order, home, turns, sorted(rates), on_run)
        on_run("the same answers by one process")
        return result(served, check_answers(served, store, home))


def result(served: Served, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part for JSON."""
    highest = list(served.loads.values())[-1]
    wrong = found["wrong"] + found["behind"] + found["missing"]
    return {
        "rows": [{"load": name, **load.row()} for name, load in served.loads.items()],
        "figures": {
            "wrong answers": wrong if found["checked"] == len(served.offered) > 0 else None,
            "errors": sum(sum(load.errors.values()) for load in served.loads.values()),
            "p99 at the highest rate": p99(highest.turns),
        },
        "check": dict(found),
        "errors": {name: load.errors for name, load in served.loads.items()},
    }


def serve(
    order: Mapping[str, Any], home: Path, turns: int, rates: Sequence[float], on_run: OnRun
) -> Served:
    """Fill a store, start servers on it, and let listeners take turns."""
    environment = server_environment(home)
    on_run(f"writing {order['songs']:,} songs and {order['listeners']:,} listeners")
    fixture = child("serving", order, environment=environment)
    on_run("starting the servers")
    with ExitStack() as running:
        servers = [ServerProcess(order["fill"], home, f"server-{n}") for n in range(_SERVERS)]
        ports = [running.enter_context(server).port for server in servers]
        cookie = session_cookie(ports[0], fixture["names"][0], _PASSWORD)
        base = LoadScript(
            ports=ports,
            cookies=[f"{cookie}={token}" for token in fixture["tokens"]],
            stars=fixture["stars"],
            prefix="first turns",
            turns=len(fixture["names"]),
        )
        scripts = [replace(base, varied=True, together=_TURNS_TOGETHER)]
        for number, rate in enumerate(rates):
            # Each load begins with the listener after the last one.
            name, first = f"{rate:g} turns a second", number * turns
            scripts.append(replace(base, prefix=name, turns=turns, rate=rate, first=first))
        loads = {}
        for script in scripts:
            on_run(script.prefix)
            outcome = child("load", asdict(script), environment=environment)
            loads[script.prefix] = Outcome.of_json(outcome)
    counts = zip(fixture["ratings"], *(load.acknowledged for load in loads.values()), strict=True)
    return Served(
        names=fixture["names"], loads=loads, expected_events=[sum(each) for each in counts]
    )


def fill(store: str, *, songs: int, listeners: int) -> dict[str, Any]:
    """Write songs and listeners: most have rated few songs, some many (exponential)."""
    counts = np.random.default_rng(17).exponential(_MEAN_RATINGS, listeners).astype(int).tolist()
    with open_store(store) as opened:
        add_songs(opened, songs)
        before = {f"listener {number}": count for number, count in enumerate(counts)}
        tokens = add_listeners(opened, before, password_hash=hashed(_PASSWORD))
        return {
            "names": [*tokens],
            "tokens": [*tokens.values()],
            "ratings": counts,
            "stars": stars_by_song(opened),
        }


# ── The same answers by one process ──────────────────────────────────────────────────────


def check_answers(served: Served, store: str, home: Path) -> dict[str, Any]:
    """Return the check of all answers; each process checks some listeners, alone."""
    processes = min(usable_cores(), len(served.names))

    def checked(number: int) -> dict[str, Any]:
        offered = [one for one in served.offered if one.listener % processes == number]
        expected = {"names": served.names, "expected_events": served.expected_events}
        order = {"check": store, "offered": offered, **expected}
        return child("serving", order, environment=server_environment(home))

    with ThreadPoolExecutor(processes) as pool:
        first, *others = pool.map(checked, range(processes))
    return {name: sum((one[name] for one in others), start=first[name]) for name in first}


@dataclass(slots=True, kw_only=True)
class Check:
    """Answers of all servers beside those of one process."""

    checked: int = 0
    wrong: int = 0  # another song, another step, or another score
    behind: int = 0  # chosen without the event before
    missing: int = 0  # acknowledged events that are not in the log
    by_model: int = 0  # not drawn by lot
    examples: list[Any] = field(default_factory=list)

    def compare(self, said: Offered, expected: Offer) -> None:
        """Compare one answer with the one that should have been given."""
        self.checked += 1
        self.behind += said.seq < said.last_event
        score = expected.why.score
        self.by_model += score is not None
        is_same = (said.song, said.step) == (expected.song.id, expected.step)
        if is_same and _is_near(said.score, score):
            return
        self.wrong += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples.append([said._asdict(), expected.song.id, expected.step, score])


def _is_near(score: float | None, other: float | None) -> bool:
    if score is None or other is None:
        return score is other
    return abs(score - other) <= SCORE_TOLERANCE


def check(
    store: Store, names: Sequence[str], offered: Iterable[Offered], expected_events: Sequence[int]
) -> Check:
    """Return the check of answers; `names` are those of the listeners by number."""
    found, now = Check(), [0]
    radio = Radio(store, clock=lambda: now[0])
    try:
        by_listener = sorted(offered, key=lambda one: (one.listener, one.seq, one.at))
        for number, answers in groupby(by_listener, key=lambda one: one.listener):
            log, twin = _twin(store, names[number])
            found.missing += max(0, expected_events[number] - len(log))
            written = 0
            for said in answers:
                _write(store, twin, log[written : said.seq])
                written, now[0] = said.seq, said.at
                found.compare(said, radio.next(twin))
            radio.drop(twin)
    finally:
        radio.close()
    return found


def _twin(store: Store, name: str) -> tuple[list[events.Event], str]:
    """Return a listener's log, and a new account with the same seed."""
    with store.writing() as connection:
        account = accounts.by_name(connection, name)
        assert account is not None, name
        twin = accounts.create(
            connection,
            name=f"{secrets.token_hex(8)} of {name}",
            role=account.role,
            password_hash=None,
            now=account.created_at,
        )
        same_seed = update(ACCOUNT).where(ACCOUNT.c.id == twin.id).values(seed=account.seed)
        connection.execute(same_seed)
        return list(events.after(connection, account.id)), twin.id


def _write(store: Store, account: str, log: Sequence[events.Event]) -> None:
    with store.writing() as connection:
        for event in log:
            content = {name: getattr(event, name) for name in (*_FIELDS, "retracts")}
            new = events.NewEvent(account=account, **content)
            events.append(connection, new, now=event.at)


def answer(order: dict[str, Any]) -> dict[str, Any]:
    """Fill a store or check answers, as the order says."""
    if "fill" in order:
        return fill(order["fill"], songs=order["songs"], listeners=order["listeners"])
    offered = [Offered(*each) for each in order["offered"]]
    with open_store(order["check"]) as store:
        return asdict(check(store, order["names"], offered, order["expected_events"]))


if __name__ == "__main__":
    answer_order(answer)
