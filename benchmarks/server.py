"""The real server as a process: `bandstand serve` on a free port of this computer."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from bandstand.errors import BandstandError

_GREETING: Final = "Bandstand plays at http://127.0.0.1:"
_TIMEOUT: Final = 60.0  # seconds
_POLL_SECONDS: Final = 0.005
_OK: Final = 200


class ServerProcess:
    """A server over a store, until the end of its `with` block.

    Servers with the same `home` share the files derived from their store; each has a `name` of its
    own there.
    """

    def __init__(self, store: str, home: Path, name: str = "server") -> None:
        self._store, self._home, self._name = store, home, name
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> float:
        """Return the seconds from the command to the first answer."""
        began = time.perf_counter()
        log = self._home / f"{self._name}.log"
        command = ["serve", "--port", str(self.port), "--store", self._store]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bandstand", *command],
                env=server_environment(self._home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        while not self._answers(log):
            if self._process.poll() is not None or time.perf_counter() > began + _TIMEOUT:
                msg = f"a server was expected to start, got: {_end_of(log)}"
                raise BandstandError(msg)
            time.sleep(_POLL_SECONDS)
        return time.perf_counter() - began

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Stop the server, and wait for its end."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_TIMEOUT)
            finally:
                self.kill()

    def resident_bytes(self) -> int:
        """Return the memory of the server and of the processes that it has started."""
        assert self._process is not None
        return sum(_resident_bytes(pid) for pid in _family(self._process.pid))

    def _answers(self, log: Path) -> bool:
        _, found, rest = log.read_text(encoding="utf-8", errors="replace").partition(_GREETING)
        if not found or "\n" not in rest:
            return False
        self.port = int(rest.split("\n", 1)[0].strip("/"))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == _OK
        finally:
            connection.close()


def server_environment(home: Path) -> dict[str, str]:
    """Return an environment without the settings of the user."""
    own = {name: to for name, to in os.environ.items() if not name.startswith("BANDSTAND_")}
    return {**own, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}


def session_cookie(port: int, name: str, password: str) -> str:
    """Log in, and return the name of the session's cookie."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)
    try:
        body = json.dumps({"name": name, "password": password})
        connection.request("POST", "/api/session", body, {"Content-Type": "application/json"})
        cookie = connection.getresponse().getheader("Set-Cookie")
    finally:
        connection.close()
    if cookie is None:
        msg = "a login must give a cookie, got none"
        raise BandstandError(msg)
    return cookie.partition("=")[0]


def _family(pid: int) -> Iterator[int]:
    """Yield a process and its descendants; only itself where the system does not say."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            yield from _family(int(child))


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(1_024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _end_of(log: Path) -> str:
    return " ".join(log.read_text(encoding="utf-8", errors="replace").split())[-300:] or "nothing"
