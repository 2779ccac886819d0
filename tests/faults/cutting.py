"""A line to PostgreSQL that can be cut: a socket before the server's own, and threads between."""

from __future__ import annotations

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from tests.store.postgres_server import PostgresServer

NAME = ".s.PGSQL.5432"


class Line:
    """Connections that pass through here, until they are cut."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        data = server.folder / "data"
        self._goal = str(data / NAME)
        self._folder = tempfile.TemporaryDirectory(prefix="bandstand-line-")
        self.url = url.replace(str(data), self._folder.name)
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_open = True
        self._listening = socket.socket(socket.AF_UNIX)
        self._own = Path(self._folder.name) / NAME
        self._listening.bind(str(self._own))
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._accept)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._is_open = False
        with socket.socket(socket.AF_UNIX) as waking:
            waking.connect(str(self._own))
            self._thread.join()
        self._listening.close()
        self.cut()
        self._folder.cleanup()

    def cut(self) -> int:
        """End all connections where they stand; return how many there were."""
        with self._lock:
            ends = list(self._ends)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    @property
    def count(self) -> int:
        """How many connections there are now."""
        return len(self._ends) // 2

    def _accept(self) -> None:
        while True:
            near, _ = self._listening.accept()
            if not self._is_open:
                near.close()
                return
            far = socket.socket(socket.AF_UNIX)
            try:
                far.connect(self._goal)
            except OSError:  # the server is not there
                near.close()
                far.close()
                continue
            with self._lock:
                self._ends |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends.discard(one)
        one.close()
