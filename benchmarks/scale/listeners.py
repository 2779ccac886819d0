"""Listeners who take turns at several servers, in a process of their own.

    python -m benchmarks.scale.listeners < order.json > outcome.json

They come as people do, each without regard to the others (open loop): the times between two
turns are exponential, and what a listener waits counts from the moment at which it was its turn,
so that a server that falls behind is seen to. Connections are shared, as those of a proxy before
the servers are.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from benchmarks.radio_speed.client import Answer, Connection, get, open_connection, post
from benchmarks.scale.turns import Order, Outcome, Said

if TYPE_CHECKING:
    from collections.abc import Iterator

_CREATED: Final = 201
_OK: Final = 200
_PATIENCE: Final = 60.0  # seconds
_IDLE: Final = 10.0  # seconds after which a connection is not used again: servers hang up
_SKIPPED_AFTER: Final = 20.0
# How often a lively listener does what.
_DEEDS: Final = {"rating": 0.7, "skip": 0.12, "retract": 0.12, "ban": 0.06}


class _Server:
    """One server, and the connections to it that nobody uses now."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[Connection, float]] = []

    async def ask(self, request: bytes) -> Answer:
        """Return the answer to a request."""
        connection = self._kept() or await open_connection("127.0.0.1", self._port)
        try:
            answer = await asyncio.wait_for(connection.ask(request), _PATIENCE)
        except BaseException:
            connection.close()
            raise
        self._idle.append((connection, time.perf_counter()))
        return answer

    def _kept(self) -> Connection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if connection.is_open and time.perf_counter() < since + _IDLE:
                return connection
            connection.close()
        return None

    def close(self) -> None:
        """Hang up."""
        for connection, _ in self._idle:
            connection.close()


class _Listener:
    """One of them: what it tells, and what it notes of the answers."""

    def __init__(self, number: int, order: Order, outcome: Outcome, servers: list[_Server]) -> None:
        self._number, self._order, self._outcome, self._servers = number, order, outcome, servers
        self._name = f"{order.prefix}/{number}"
        self._random = random.Random(self._name)  # noqa: S311
        self._song = ""
        self._artist: str | None = None
        self._rated: int | None = None  # the event that can be taken back
        self._turns = 0
        self._turn = asyncio.Lock()

    async def take_turn(self, due: float) -> None:
        """Tell something of the song that was heard, and ask for the next one."""
        async with self._turn:
            self._turns += 1
            try:
                seq = await self._tell(due)
                if seq is not None:
                    await asyncio.gather(*(self._ask(due, seq, to) for to in self._asked()))
            except (OSError, TimeoutError) as problem:
                self._outcome.fail(type(problem).__name__)

    def _asked(self) -> Iterator[int]:
        """Yield the servers to ask: never first the one that was told."""
        every = self._order.every_server
        asks_all = every is not None and self._number % every == 0
        for place in range(len(self._servers) if asks_all else 1):
            yield (self._number + self._turns + 1 + place) % len(self._servers)

    async def _tell(self, due: float) -> int | None:
        event = {"key": f"{self._name}/{self._turns}", **self._deed()}
        server = self._servers[(self._number + self._turns) % len(self._servers)]
        cookie = self._order.cookies[self._number]
        answer = await server.ask(post("/api/events", event, cookie=cookie))
        if answer.status != _CREATED:
            self._outcome.fail(str(answer.status))
            return None
        self._outcome.telling.append(time.perf_counter() - due)
        self._outcome.told[self._number] += 1
        seq = int(answer.json()["seq"])
        self._rated = seq if event["kind"] == "rating" else None
        return seq

    def _deed(self) -> dict[str, Any]:
        kind = "rating"
        if self._order.is_lively:
            kind = self._random.choices([*_DEEDS], [*_DEEDS.values()])[0]
        song = self._song or self._random.choice([*self._order.stars])
        if kind == "retract" and self._rated is not None:
            return {"kind": kind, "retracts": self._rated}
        if kind == "ban" and self._artist is not None:
            return {"kind": kind, "scope": "artist", "target": self._artist}
        if kind == "skip":
            return {"kind": kind, "song": song, "played_seconds": _SKIPPED_AFTER}
        stars = self._order.stars[song] + self._random.choice((-1, 0, 0, 1))
        return {"kind": "rating", "song": song, "stars": min(max(stars, 1), 5)}

    async def _ask(self, due: float, told: int, server: int) -> None:
        asked = time.perf_counter()
        question = get("/api/next", cookie=self._order.cookies[self._number])
        answer = await self._servers[server].ask(question)
        if answer.status != _OK:
            self._outcome.fail(str(answer.status))
            return
        now = time.perf_counter()
        self._outcome.asking.append(now - asked)
        self._outcome.turns.append(now - due)
        offer = answer.json()
        self._song, self._artist = offer["song"]["id"], offer["song"]["artist"]
        self._outcome.said.append(
            Said(
                listener=self._number,
                server=server,
                told=told,
                seq=offer["seq"],
                at=offer["at"],
                step=offer["step"],
                song=self._song,
                score=offer["why"]["score"],
            )
        )


async def taken(order: Order) -> Outcome:
    """Return what became of an order."""
    count = len(order.cookies)
    outcome = Outcome(told=[0] * count)
    servers = [_Server(port) for port in order.ports]
    listeners = [_Listener(number, order, outcome, servers) for number in range(count)]
    turns = [listeners[(order.first + turn) % count] for turn in range(order.turns)]
    began = time.perf_counter()
    await (_all_together(turns, order) if order.pace is None else _one_by_one(turns, order))
    outcome.seconds = time.perf_counter() - began
    for server in servers:
        server.close()
    return outcome


async def _all_together(turns: list[_Listener], order: Order) -> None:
    left = iter(turns)

    async def go_on() -> None:
        for listener in left:
            await listener.take_turn(time.perf_counter())

    await asyncio.gather(*(go_on() for _ in range(order.together)))


async def _one_by_one(turns: list[_Listener], order: Order) -> None:
    assert order.pace is not None  # noqa: S101
    gaps = random.Random(order.prefix)  # noqa: S311
    due, begun = time.perf_counter(), []
    for listener in turns:
        due += gaps.expovariate(order.pace)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        begun.append(asyncio.create_task(listener.take_turn(due)))
    await asyncio.gather(*begun)


def main() -> None:
    """Read an order, and write what became of it."""
    order = Order(**json.load(sys.stdin))
    json.dump(asdict(asyncio.run(taken(order))), sys.stdout)


if __name__ == "__main__":
    main()
