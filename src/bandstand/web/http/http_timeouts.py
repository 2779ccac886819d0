"""How long a connection may wait, and how many there may be: HTTP with limits, for uvicorn.

Somebody who opens a hundred connections and sends a byte a minute holds nothing but those
connections, and not for ever: a connection that has not sent the whole head of a request after
some seconds is closed. (Bodies have their own limit, in `strict_json`.) So is one whose client
takes nothing of its answer for some minutes; a player that was paused asks for the rest again.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bandstand.web.http.problems import Problem, answer

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

SECONDS: Final = 15.0
STALLED_SECONDS: Final = 300.0
CROWDED: Final = "is_crowded"  # in the state of a request: there are too many connections


class PatientProtocol(H11Protocol):
    """uvicorn's own protocol, which gives up on those who never get to the point.

    Give uvicorn this as `http`.
    """

    seconds = SECONDS
    stalled_seconds = STALLED_SECONDS
    _deadline: TimerHandle | None = None
    _stalled: TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # uvicorn would answer by itself, and not in the one shape: the gate does.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came; once a whole head is there, the waiting is over."""
        is_crowded = self._most is not None and len(self.connections) > self._most
        self.app_state = {CROWDED: is_crowded}
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request, if one has begun to come."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        self._move_on()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for a client who takes nothing."""
        super().pause_writing()
        if self._stalled is None:
            loop = asyncio.get_running_loop()
            self._stalled = loop.call_later(self.stalled_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on, since the client does."""
        self._move_on()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the one shape of errors; it never reaches the app."""
        body = answer(Problem(400, "bad_request", msg), secrets.token_hex(8))
        headers = [*body.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(body.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _look(self) -> None:
        """Go on waiting only where something was begun: a head, or a body that nobody wants."""
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

    def _move_on(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()


def protocol() -> type[asyncio.Protocol]:
    """Return what uvicorn takes as `http`; its own limit of a head, 64 kB, holds here too."""
    return PatientProtocol
