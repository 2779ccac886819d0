"""Clients who take nothing of what they asked for, and too many of them at once."""

import asyncio
import socket
from pathlib import Path

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from bandstand.web.http.timeouts import TimeoutProtocol
from tests.fixtures.web.servers import serving

BLOCK = b"x" * (1 << 20)
SOON = 1.0  # seconds; of patience the protocol has a fifth of that


class Steady(asyncio.SelectorEventLoop):
    """A loop whose time passes with its turns: nothing is late because the computer is slow."""

    passed = 0.0

    def time(self) -> float:
        self.passed += 0.001
        return self.passed


class Hasty(TimeoutProtocol):
    """A protocol whose patience is over soon."""

    stalled_seconds = SOON / 5


class Endless(TimeoutProtocol):
    """The twin: one that waits for ever."""

    stalled_seconds = 1e9


async def endless(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while True:
        await send({"type": "http.response.body", "body": BLOCK, "more_body": True})
        await asyncio.sleep(0)


async def connections_left(kind: type[TimeoutProtocol], *, takes: bool) -> int:
    """Return how many connections there are some time after one has asked for something."""
    state = ServerState()
    config = uvicorn.Config(endless, log_config=None, access_log=False, lifespan="off")
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: kind(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    until = loop.time() + SOON
    while loop.time() < until:
        if takes:
            await reader.read(1 << 22)
        await asyncio.sleep(0)
    left = len(state.connections)
    writer.transport.abort()
    for task in state.tasks:
        task.cancel()
    await asyncio.gather(*state.tasks, return_exceptions=True)
    server.close()
    await server.wait_closed()
    return left


@pytest.mark.parametrize(
    ("kind", "takes", "left"), [(Hasty, False, 0), (Hasty, True, 1), (Endless, False, 1)]
)
def test_who_takes_nothing_for_long_is_hung_up_on(
    kind: type[TimeoutProtocol],
    takes: bool,
    left: int,
) -> None:
    with asyncio.Runner(loop_factory=Steady) as runner:
        assert runner.run(connections_left(kind, takes=takes)) == left


def test_too_many_connections_are_told_to_come_back_in_the_one_shape(tmp_path: Path) -> None:
    with serving(tmp_path, invented=1, variables={"BANDSTAND_MAX_CONNECTIONS": "10"}) as server:
        host, port = server.address.removeprefix("http://").split(":")
        others = [socket.create_connection((host, int(port)), timeout=30) for _ in range(10)]
        try:
            answer = server.client().get("/health")
        finally:
            for other in others:
                other.close()
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "busy"
        assert answer.headers["retry-after"] == "2"
        assert answer.headers["connection"] == "close"
