"""The load generator: listeners at one or more servers, in a process of their own.

    python -m benchmarks.load < script.json > outcome.json

A turn is a rating, and the question for the next song where the script asks. With a rate, turns
begin at random times whether those before were answered or not (open loop), and a listener's wait
counts from the moment at which the turn was due. Without a rate each begins when one before it has
ended (closed loop). The HTTP client is small, since the load shares the processors with the
servers. Connections are shared, as those of a proxy are.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks.program import answer_order

_CREATED: Final = 201
_OK: Final = 200
_TIMEOUT: Final = 60.0  # seconds
_IDLE: Final = 10.0  # seconds after which a connection is not used again: servers hang up
_SKIPPED_AFTER: Final = 20.0  # seconds
# How often listeners of a varied script send each kind of event.
_EVENTS: Final = {"rating": 0.7, "skip": 0.12, "retract": 0.12, "ban": 0.06}


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadScript:
    """The listeners, and the turns that they take."""

    ports: Sequence[int]  # of the servers: an event goes to one, the question to the next
    cookies: Sequence[str]  # of the listeners
    stars: Mapping[str, int]  # that each song gets
    prefix: str  # of the keys of the events: no two scripts may have the same
    turns: int | None = None  # of all listeners together; None: as many as fit into `seconds`
    seconds: float | None = None
    rate: float | None = None  # turns begun in a second; None: closed loop
    # Turns at a time in a closed loop; None: each listener goes on as soon as it was answered.
    together: int | None = None
    first: int = 0  # the listener who begins
    asks: bool = True  # whether a question follows each event
    follows: bool = True  # whether the offered song is rated next, or any song
    varied: bool = False  # skips, retracted ratings and bans, and other stars now and then


class Offered(NamedTuple):
    """A song that a server offered to a listener."""

    listener: int
    server: int  # which of the ports
    last_event: int  # the last event that was acknowledged before the question
    seq: int  # the last event that the choice takes into account
    at: int  # the moment for which it was made, in milliseconds
    step: int
    song: str
    score: float | None


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What was measured; times are seconds."""

    events: list[float] = field(default_factory=list)  # until the event was acknowledged
    questions: list[float] = field(default_factory=list)  # from the question to the song
    turns: list[float] = field(default_factory=list)  # from when the turn was due to the song
    offered: list[Offered] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)  # events of each listener
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Outcome:
        """Return an outcome that came as JSON."""
        return cls(**{**content, "offered": [Offered(*each) for each in content["offered"]]})

    @property
    def behind(self) -> int:
        """How many songs were chosen without the event before."""
        return sum(one.seq < one.last_event for one in self.offered)

    def count_error(self, name: str) -> None:
        """Count an error by its name."""
        self.errors[name] = self.errors.get(name, 0) + 1

    def row(self) -> dict[str, Any]:
        """Return the figures of a load."""
        acknowledged = sum(self.acknowledged)
        times = {"event": self.events, "question": self.questions, "turn": self.turns}
        return {
            "turns": acknowledged,
            "a_second": acknowledged / self.seconds if self.seconds else 0.0,
            **{
                f"{name}_{title}_ms": None if not some else 1e3 * float(np.quantile(some, level))
                for name, some in times.items()
                for title, level in (("median", 0.5), ("p99", 0.99))
            },
            "errors": sum(self.errors.values()),
            "behind": self.behind,
        }


def p99(seconds: Sequence[float]) -> float | None:
    """Return what 99 of 100 times stay below; None without any."""
    return float(np.quantile(seconds, 0.99)) if seconds else None


# ── HTTP ─────────────────────────────────────────────────────────────────────────────────


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes


class _Connection(NamedTuple):
    """A connection that is kept alive, for one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> Reply:
        self.writer.write(request)
        return await read_reply(self.reader)


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """Return the next reply of a connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        _, _, length = head.lower().partition(b"\r\ncontent-length: ")
        body = await reader.readexactly(int(length.split(b"\r\n", 1)[0] or 0))
    except asyncio.IncompleteReadError as problem:
        msg = "the server has hung up"
        raise ConnectionError(msg) from problem
    return Reply(int(head.split(b" ", 2)[1]), body)


def _request(method: str, path: str, cookie: str, content: Any = None) -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n"
    if content is None:
        return f"{head}\r\n".encode()
    body = json.dumps(content)
    kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}{kind}\r\n{body}".encode()


class _Server:
    """One server, and the connections to it that are not in use, each with its last use."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[_Connection, float]] = []

    async def ask(self, request: bytes) -> Reply:
        """Return the reply to a request."""
        connection = self._kept()
        if connection is None:
            connection = _Connection(*await asyncio.open_connection("127.0.0.1", self._port))
        try:
            reply = await asyncio.wait_for(connection.ask(request), _TIMEOUT)
        except BaseException:
            connection.writer.close()
            raise
        self._idle.append((connection, time.perf_counter()))
        return reply

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection, used_at = self._idle.pop()
            if not connection.reader.at_eof() and time.perf_counter() < used_at + _IDLE:
                return connection
            connection.writer.close()
        return None

    def close(self) -> None:
        """Hang up."""
        for connection, _ in self._idle:
            connection.writer.close()


# ── Listeners ────────────────────────────────────────────────────────────────────────────


class _Listener:
    """One listener: the events that it sends, and notes of the replies."""

    def __init__(
        self, number: int, script: LoadScript, outcome: Outcome, servers: list[_Server]
    ) -> None:
        self._number, self._script, self._outcome = number, script, outcome
        self._servers, self._cookie = servers, script.cookies[number]
        self._name = f"{script.prefix}/{number}"
        self._random = random.Random(self._name)
        self._offered: dict[str, Any] | None = None
        self._rated: int | None = None  # the event that can be retracted
        self._turns = 0
        self._turn = asyncio.Lock()

    async def take_turn(self, songs: Sequence[str], due: float) -> None:
        """Send an event about a song, and ask for the next one if the script says so."""
        async with self._turn:
            self._turns += 1
            try:
                seq = await self._send(self._event(songs), due)
                if seq is not None and self._script.asks:
                    await self._ask(due, seq)
            except (OSError, TimeoutError) as problem:
                self._outcome.count_error(type(problem).__name__)

    async def _send(self, event: dict[str, Any], due: float) -> int | None:
        server = self._servers[(self._number + self._turns) % len(self._servers)]
        content = {"key": f"{self._name}/{self._turns}", **event}
        reply = await server.ask(_request("POST", "/api/events", self._cookie, content))
        if reply.status != _CREATED:
            self._outcome.count_error(str(reply.status))
            return None
        self._outcome.events.append(time.perf_counter() - due)
        self._outcome.acknowledged[self._number] += 1
        seq = int(json.loads(reply.body)["seq"])
        self._rated = seq if event["kind"] == "rating" else None
        return seq

    def _event(self, songs: Sequence[str]) -> dict[str, Any]:
        song, artist = self._song(songs), (self._offered or {}).get("artist")
        stars, kind = self._script.stars[song], "rating"
        if self._script.varied:
            kind = self._random.choices([*_EVENTS], [*_EVENTS.values()])[0]
            stars = min(max(stars + self._random.choice((-1, 0, 0, 1)), 1), 5)
        if kind == "retract" and self._rated is not None:
            return {"kind": kind, "retracts": self._rated}
        if kind == "ban" and artist is not None:
            return {"kind": kind, "scope": "artist", "target": artist}
        if kind == "skip":
            return {"kind": kind, "song": song, "played_seconds": _SKIPPED_AFTER}
        return {"kind": "rating", "song": song, "stars": stars}

    def _song(self, songs: Sequence[str]) -> str:
        if self._script.follows and self._offered is not None:
            return str(self._offered["id"])
        # One after the other, each listener from another place: none is soon heard again.
        return songs[(self._number * 7_919 + self._turns) % len(songs)]

    async def _ask(self, due: float, last_event: int) -> None:
        # Not the server that got the event.
        asked, server = time.perf_counter(), (self._number + self._turns + 1) % len(self._servers)
        reply = await self._servers[server].ask(_request("GET", "/api/next", self._cookie))
        if reply.status != _OK:
            self._outcome.count_error(str(reply.status))
            return
        now, offer = time.perf_counter(), json.loads(reply.body)
        self._outcome.questions.append(now - asked)
        self._outcome.turns.append(now - due)
        self._offered = offer["song"]
        self._outcome.offered.append(
            Offered(
                listener=self._number,
                server=server,
                last_event=last_event,
                seq=offer["seq"],
                at=offer["at"],
                step=offer["step"],
                song=offer["song"]["id"],
                score=offer["why"]["score"],
            )
        )


async def load(script: LoadScript) -> Outcome:
    """Return the outcome of a script."""
    count = len(script.cookies)
    outcome = Outcome(acknowledged=[0] * count)
    servers = [_Server(port) for port in script.ports]
    listeners = [_Listener(number, script, outcome, servers) for number in range(count)]
    began = time.perf_counter()
    await (_closed_loop if script.rate is None else _open_loop)(script, listeners)
    outcome.seconds = time.perf_counter() - began
    for server in servers:
        server.close()
    return outcome


def _turns(script: LoadScript, listeners: Sequence[_Listener]) -> Iterator[_Listener]:
    """Yield the listener of each turn until there were enough."""
    until = None if script.seconds is None else time.perf_counter() + script.seconds
    number = script.first
    while script.turns is None or number < script.first + script.turns:
        if until is not None and time.perf_counter() >= until:
            return
        yield listeners[number % len(listeners)]
        number += 1


async def _closed_loop(script: LoadScript, listeners: Sequence[_Listener]) -> None:
    turns, songs = _turns(script, listeners), list(script.stars)

    async def go_on(own: _Listener | None) -> None:
        for listener in turns:
            await (own or listener).take_turn(songs, time.perf_counter())

    owners = listeners if script.together is None else [None] * script.together
    await asyncio.gather(*map(go_on, owners))


async def _open_loop(script: LoadScript, listeners: Sequence[_Listener]) -> None:
    assert script.rate is not None
    gaps, songs = random.Random(script.prefix), list(script.stars)
    due, begun = time.perf_counter(), []
    for listener in _turns(script, listeners):
        due += gaps.expovariate(script.rate)
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        begun.append(asyncio.create_task(listener.take_turn(songs, due)))
    await asyncio.gather(*begun)


def run_script(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome of a script that came as JSON."""
    return asdict(asyncio.run(load(LoadScript(**order))))


if __name__ == "__main__":
    answer_order(run_script)
