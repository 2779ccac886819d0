"""A server on loopback that speaks ListenBrainz, and that can fail in many ways."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OK = {"status": "ok"}
PATIENCE = 20.0  # seconds

# What is done with a request: an answer, or None where the connection is cut without one.
Reply = tuple[int, Mapping[str, str], bytes] | None
Behaviour = Callable[[list[Any]], Reply]


def replies(status: int, body: Any = OK, **headers: str) -> Behaviour:
    """Return a behaviour that keeps nothing, and answers the same to everything."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: (status, names, content)


def cut(_: list[Any]) -> Reply:
    """Behave like a server that dies before it has kept anything."""
    return None


@dataclass(slots=True)
class ListenServer:
    """What came, and what is to be done with what comes next; then everything is taken."""

    url: str = ""
    requests: list[tuple[str, str, Any]] = field(default_factory=list)  # path, token, body
    kept: list[Any] = field(default_factory=list)  # listens and feedback, as often as they came
    coming: list[Behaviour] = field(default_factory=list)
    refuses: str | None = None  # the title of a song that is never taken
    after_keeping: Callable[[], None] = lambda: None

    @property
    def listens(self) -> list[tuple[int, str]]:
        """When each different listen began, and its title."""
        heard = [it for it in self.kept if "listened_at" in it]
        return sorted({(it["listened_at"], it["track_metadata"]["track_name"]) for it in heard})

    @property
    def titles(self) -> list[str]:
        """The titles of the different listens in order."""
        return [title for _, title in self.listens]

    def reply(self, path: str, body: Any) -> Reply:
        """Keep what has come, or do what is to be done with it."""
        items = body.get("payload", [body])
        if self.coming:
            return self.coming.pop(0)(items)
        if any(it.get("track_metadata", {}).get("track_name", "") == self.refuses for it in items):
            return 400, {}, b'{"code": 400}'
        if body.get("listen_type") != "playing_now":
            self.kept += items
            self.after_keeping()
        return 200, {}, json.dumps(OK).encode()


@contextmanager
def listen_server(certificate: Path | None = None) -> Iterator[ListenServer]:
    """Serve on a free port of this computer, with TLS if there is a certificate."""
    state = ListenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(content)
            state.requests.append((self.path, self.headers.get("Authorization", ""), body))
            reply = state.reply(self.path, body)
            if reply is None:
                self.close_connection = True
                return
            self.send_response(reply[0])
            for name, value in {**reply[1], "Content-Length": str(len(reply[2]))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply[2])

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        state.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield state
        server.shutdown()
        thread.join()


def wait_until(is_so: Callable[[], object]) -> None:
    """Return once something is so; fail if that takes too long."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)
