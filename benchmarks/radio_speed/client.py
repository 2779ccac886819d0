"""As little of an HTTP client as a load needs: one connection, kept alive, one request at a time.

The load and the server share the processors, so what the load needs is taken from the server.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final, NamedTuple

_END_OF_HEAD: Final = b"\r\n\r\n"
_LENGTH: Final = b"\r\ncontent-length: "


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Return the body as it is meant."""
        return json.loads(self.body)


class Connection(asyncio.Protocol):
    """A connection to a server; `open_connection` makes one."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[Answer] | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take what came, and answer whoever asked once it is whole."""
        self._received += data
        answer = whole_answer(self._received)
        if answer is not None and self._waiting is not None and not self._waiting.done():
            self._received = b""
            self._waiting.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """End, also for whoever still waits."""
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError(str(exc or "the server has hung up")))

    @property
    def is_open(self) -> bool:
        """Whether it can be asked."""
        return self._transport is not None

    async def ask(self, request: bytes) -> Answer:
        """Return the answer to a request."""
        if self._transport is None:
            msg = "the server has hung up"
            raise ConnectionError(msg)
        self._received = b""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def open_connection(host: str, port: int) -> Connection:
    """Return a new connection."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, port)
    return connection


def whole_answer(received: bytes) -> Answer | None:
    r"""Return the answer that has come; None while some of it is still on its way.

    >>> whole_answer(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
    Answer(status=201, body=b'{}')
    >>> whole_answer(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{") is None
    True
    """
    head, end, body = received.partition(_END_OF_HEAD)
    if not end:
        return None
    _, _, length = head.lower().partition(_LENGTH)
    expected = int(length.split(b"\r\n", 1)[0] or 0)
    return Answer(int(head.split(b" ", 2)[1]), body) if len(body) >= expected else None


def get(path: str, *, cookie: str) -> bytes:
    """Return the bytes of a GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()


def post(path: str, content: Any, *, cookie: str) -> bytes:
    """Return the bytes of a POST request with JSON."""
    body = json.dumps(content)
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
