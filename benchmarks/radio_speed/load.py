"""Listeners at their radios, in a process of their own.

    python -m benchmarks.radio_speed.load < order.json > outcome.json

Each listener has a connection of its own. Without a pace each asks again as soon as it is
answered (closed loop). With a pace so many begin in each second, whether those before them were
answered or not (open loop), and what a listener waits counts from the moment at which it was its
turn.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks.radio_speed.client import Answer, Connection, get, open_connection, post

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CREATED: Final = 201
_OK: Final = 200
_PATIENCE: Final = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who does what, and for how long."""

    port: int
    cookies: Sequence[str]  # of the listeners
    stars: Mapping[str, int]  # that each song gets
    prefix: str  # of the keys of the events: no two loads may have the same
    asks: bool  # whether each rating is followed by a question for the next song
    follows: bool = False  # whether the song that was named is the one that is rated next
    seconds: float | None = None
    count: int | None = None  # of steps, of all listeners together
    pace: float | None = None  # of steps begun in a second, by all listeners together


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of it; times are seconds until the answer."""

    ratings: list[float] = field(default_factory=list)
    songs: list[float] = field(default_factory=list)  # the question alone
    steps: list[float] = field(default_factory=list)  # rating and question
    errors: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    behind: int = 0  # answers that did not know of the rating before them
    seconds: float = 0.0

    def fail(self, what: str) -> None:
        """Note an error."""
        self.errors[what] = self.errors.get(what, 0) + 1


class _Listener:
    """One of them: what it sends, and what it notes of the answers."""

    def __init__(self, number: int, order: Order, outcome: Outcome) -> None:
        self._cookie = order.cookies[number]
        self._name = f"{order.prefix}/{number}"
        self._order, self._outcome = order, outcome
        songs = list(order.stars)
        random.Random(self._name).shuffle(songs)  # noqa: S311
        # Nobody hears the same song again within a minute.
        self._songs = itertools.cycle(songs)
        self._song = next(self._songs)
        self._connection: Connection | None = None
        self._steps = 0
        self._turn = asyncio.Lock()

    async def step(self, began: float | None = None) -> None:
        """Rate a song, and ask for the next one if that is the order."""
        async with self._turn:
            await self._step(time.perf_counter() if began is None else began)

    async def _step(self, began: float) -> None:
        try:
            seq = await self._rate(began)
            if seq is not None and self._order.asks:
                await self._ask(began, seq)
        except (OSError, TimeoutError) as problem:
            self._outcome.fail(type(problem).__name__)
            self.close()

    async def _rate(self, began: float) -> int | None:
        self._steps += 1
        rating = {
            "key": f"{self._name}/{self._steps}",
            "kind": "rating",
            "song": self._song,
            "stars": self._order.stars[self._song],
        }
        answer = await self._answer(post("/api/events", rating, cookie=self._cookie))
        if answer.status != _CREATED:
            self._outcome.fail(str(answer.status))
            return None
        self._outcome.ratings.append(time.perf_counter() - began)
        self._outcome.acknowledged += 1
        self._song = next(self._songs)
        return int(answer.json()["seq"])

    async def _ask(self, began: float, seq: int) -> None:
        asked = time.perf_counter()
        answer = await self._answer(get("/api/next", cookie=self._cookie))
        if answer.status != _OK:
            self._outcome.fail(str(answer.status))
            return
        now = time.perf_counter()
        self._outcome.songs.append(now - asked)
        self._outcome.steps.append(now - began)
        offer = answer.json()
        self._outcome.behind += offer["seq"] < seq
        if self._order.follows:
            self._song = offer["song"]["id"]

    async def _answer(self, request: bytes) -> Answer:
        if self._connection is None or not self._connection.is_open:
            self._connection = await open_connection("127.0.0.1", self._order.port)
        return await asyncio.wait_for(self._connection.ask(request), _PATIENCE)

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Turns:
    """How many steps may still begin, and until when."""

    def __init__(self, order: Order) -> None:
        self._left = order.count
        self._until = None if order.seconds is None else time.perf_counter() + order.seconds

    def take(self) -> bool:
        """Return whether another step may begin."""
        if self._until is not None and time.perf_counter() >= self._until:
            return False
        if self._left is not None:
            self._left -= 1
            return self._left >= 0
        return True


async def load(order: Order) -> Outcome:
    """Return what became of an order."""
    outcome = Outcome()
    listeners = [_Listener(number, order, outcome) for number in range(len(order.cookies))]
    began = time.perf_counter()
    await (_closed if order.pace is None else _open)(listeners, order)
    outcome.seconds = time.perf_counter() - began
    for listener in listeners:
        listener.close()
    return outcome


async def _closed(listeners: list[_Listener], order: Order) -> None:
    turns = _Turns(order)

    async def go_on(listener: _Listener) -> None:
        while turns.take():
            await listener.step()

    await asyncio.gather(*map(go_on, listeners))


async def _open(listeners: list[_Listener], order: Order) -> None:
    assert order.pace is not None  # noqa: S101
    turns, begun = _Turns(order), []
    began, number = time.perf_counter(), 0
    while turns.take():
        due = began + number / order.pace
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        begun.append(asyncio.create_task(listeners[number % len(listeners)].step(due)))
        number += 1
    await asyncio.gather(*begun)


def main() -> None:
    """Read an order, and write what became of it."""
    asked: dict[str, Any] = json.load(sys.stdin)
    order = Order(**asked)
    json.dump(asdict(asyncio.run(load(order))), sys.stdout)


if __name__ == "__main__":
    main()
