"""The loads of a crowd upon servers, and the highest rate that they hold.

A rate is held if 99 of 100 turns end within 300 ms of when they were due, without an error. Rates
are tried one after the other with few turns, upwards from one in the middle while they are held
and otherwise downwards. A hundredth of few turns is one or two of them, so the highest rate found
so is then kept up for many turns; where it is not held for so long, the one below is.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from benchmarks.latencies import latencies_of
from benchmarks.scale.children import child
from benchmarks.scale.turns import Order, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.radio_speed.process import RadioProcess
    from benchmarks.scale.serving import ServingRequest

P99_LIMIT: Final = 0.3  # seconds


class Hall:
    """The loads, one after the other; `tried` are the rates so far."""

    def __init__(
        self,
        request: ServingRequest,
        crowd: Mapping[str, Any],
        cookie: str,
        servers: Sequence[RadioProcess],
        home: Path,
        on_run: Callable[[str], None],
    ) -> None:
        self._request, self._crowd, self._servers = request, crowd, servers
        self._home, self._on_run = home, on_run
        self._cookies = [f"{cookie}={token}" for token in crowd["tokens"]]
        self._taken = 0
        self.tried: list[tuple[float, Outcome]] = []

    def first_turns(self) -> Outcome:
        """Let everybody come once."""
        return self._load(
            "everybody's first turn",
            self._request.listeners,
            is_lively=True,
            together=self._request.together,
            every_server=self._request.every_server,
        )

    def highest_rate(self) -> tuple[float, Outcome] | None:
        """Return the highest rate that is held for all turns, with these; None if there is none."""
        rates, place = self._request.rates, highest_held(self._request, self._is_held_shortly)
        while place is not None and place >= 0:
            found = self._rate(rates[place], self._request.turns)
            if is_held(found):
                return rates[place], found
            place -= 1
        return None

    def _is_held_shortly(self, rate: float) -> bool:
        turns = max(round(rate * self._request.seconds), self._request.fewest)
        return is_held(self._rate(rate, turns))

    def _rate(self, rate: float, turns: int) -> Outcome:
        # Keys of events must differ, also where a rate is tried again.
        what = f"{turns:,} turns, {rate:g} in a second"
        outcome = self._load(f"{what} ({len(self.tried) + 1})", turns, pace=rate)
        self.tried.append((rate, outcome))
        return outcome

    def _load(self, what: str, turns: int, **options: Any) -> Outcome:
        self._on_run(what)
        order = Order(
            ports=[server.port for server in self._servers],
            cookies=self._cookies,
            stars=self._crowd["stars"],
            prefix=what,
            turns=turns,
            first=self._taken,
            **options,
        )
        self._taken += turns
        before = self._processor_seconds()
        outcome = Outcome.of_json(child("listeners", asdict(order), self._home))
        after = self._processor_seconds()
        if before is not None and after is not None:
            outcome.processor_seconds = after - before
        return outcome

    def _processor_seconds(self) -> float | None:
        seconds = [server.processor_seconds() for server in self._servers]
        return None if None in seconds else sum(filter(None, seconds))


def highest_held(request: ServingRequest, is_held: Callable[[float], bool]) -> int | None:
    """Return the place of the highest rate that is held, as far as few turns tell."""
    rates = request.rates
    above = [place for place, rate in enumerate(rates) if rate >= request.begin]
    place = begin = above[0] if above else len(rates) - 1
    while place < len(rates) and is_held(rates[place]):
        place += 1
    if place > begin:
        return place - 1
    return next((lower for lower in range(begin - 1, -1, -1) if is_held(rates[lower])), None)


def is_held(outcome: Outcome) -> bool:
    """Return whether the servers kept up: nearly all turns in time, and no error."""
    return bool(
        outcome.turns and not outcome.errors and latencies_of(outcome.turns).p99 < P99_LIMIT
    )


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return the times of a load, and what went wrong."""
    times = {"turn": outcome.turns, "telling": outcome.telling, "asking": outcome.asking}
    turns, work = sum(outcome.told), outcome.processor_seconds
    return {
        **{name: latencies_of(each).as_json() for name, each in times.items() if each},
        "turns": turns,
        "turns_per_second": turns / outcome.seconds,
        "server_processor_ms_per_turn": None if not work or not turns else 1_000 * work / turns,
        "seconds": outcome.seconds,
        "errors": outcome.errors,
        "behind": outcome.behind,
        "is_held": is_held(outcome),
    }
