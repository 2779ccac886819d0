"""uvicorn's HTTP protocol with timeouts against slow clients (slowloris) and a connection limit.

A connection that has not sent the whole head of a request after 15 seconds is closed. (Bodies have
their own limit, in `request_input`.) So is one whose client reads nothing of its answer for five
minutes; a player that was paused asks for the rest again.
"""

import asyncio
import secrets
from asyncio import TimerHandle, Transport
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bandstand.web.http.problems import Problem, answer

HEAD_SECONDS: Final = 15.0
STALLED_SECONDS: Final = 300.0
TOO_MANY_CONNECTIONS: Final = "too_many_connections"  # in the state of a request


class TimeoutProtocol(H11Protocol):
    """uvicorn's own protocol with timeouts; its limit of a head (see `server`) holds here too."""

    seconds = HEAD_SECONDS
    stalled_seconds = STALLED_SECONDS
    _deadline: TimerHandle | None = None
    _stalled: TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # uvicorn's own answer has another shape: the middleware answers instead.
        self._limit, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read data; a whole head ends the timeout."""
        too_many = self._limit is not None and len(self.connections) > self._limit
        self.app_state = {TOO_MANY_CONNECTIONS: too_many}
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        """Start the timeout of the next request, if part of it is there."""
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeouts."""
        self._stop()
        self._cancel_stalled()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeout of a client that reads nothing."""
        super().pause_writing()
        if self._stalled is None:
            loop = asyncio.get_running_loop()
            self._stalled = loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel that timeout."""
        self._cancel_stalled()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP, which never reaches the app, in the shape of all errors."""
        body = answer(Problem(400, "bad_request", msg), secrets.token_hex(8))
        headers = [*body.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(body.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _update_deadline(self) -> None:
        """Run the timeout only while a head, or a body without a reader, is incomplete."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        is_begun = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        if is_answering or not is_begun:
            self._stop()
        elif self._deadline is None:
            self._wait()

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
