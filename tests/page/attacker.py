"""Another site: a real server of its own, whose page tries what `attacks.js` can do.

with attacker() as site:
    page.goto(site.address("localhost"))       # another site than 127.0.0.1
    page.goto(site.address("127.0.0.1"))       # the same site, another origin: only the port
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTACKS = (Path(__file__).parent / "attacks.js").read_text(encoding="utf-8")
PAGE = f"<!doctype html><title>A nice page</title><body><script>{_ATTACKS}</script>"


@dataclass(frozen=True, slots=True)
class Site:
    """Where the attacker's page is."""

    port: int

    def address(self, host: str) -> str:
        """Return the address of the page, by one of this computer's names."""
        return f"http://{host}:{self.port}/"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def attacker() -> Iterator[Site]:
    """Give a site that is up until the end."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Site(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
