"""The real server as a process of its own: `bandstand serve` on a free port of this computer."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from bandstand.errors import BandstandError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GREETING: Final = "Bandstand plays at http://127.0.0.1:"
_PATIENCE: Final = 60.0  # seconds
_LOOK_AFTER: Final = 0.005
_OK: Final = 200


class Memory(NamedTuple):
    """What processes hold, in bytes: counted whole, and with what they share divided."""

    resident: int
    proportional: int | None  # where the system tells


class RadioProcess:
    """A server over a store; it ends with the `with` block.

    Servers with the same `home` share what is derived from their store; each has a `name` of its
    own there. `settings` are variables of its environment.
    """

    def __init__(
        self,
        store: str,
        home: Path,
        *folders: str,
        name: str = "server",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._home = home
        self._folders = folders
        self._name = name
        self._settings = settings or {}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.start_seconds = 0.0  # that the last start took

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> float:
        """Return the seconds from the command to the first answer."""
        began = time.perf_counter()
        log = self._home / f"{self._name}.log"
        command = ["serve", "--port", str(self.port), "--store", self._store, *self._folders]
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
                [sys.executable, "-m", "bandstand", *command],
                env=environment_at(self._home, **self._settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        while not self._answers(log):
            if self._process.poll() is not None or time.perf_counter() > began + _PATIENCE:
                msg = f"a server was expected to start, got: {_end_of(log)}"
                raise BandstandError(msg)
            time.sleep(_LOOK_AFTER)
        self.start_seconds = time.perf_counter() - began
        return self.start_seconds

    def kill(self) -> None:
        """Kill the server where it stands."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Tell the server to stop, and wait until it has."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            finally:
                self.kill()

    def memory(self) -> Memory:
        """Return what the server and the processes that it has started hold now."""
        assert self._process is not None  # noqa: S101
        found = [_memory(pid) for pid in _family(self._process.pid)]
        shares = [each.proportional for each in found if each.proportional is not None]
        return Memory(
            resident=sum(each.resident for each in found),
            proportional=sum(shares) if len(shares) == len(found) else None,
        )

    def processor_seconds(self) -> float | None:
        """Return how long processors have worked for the server; None if the system tells not."""
        assert self._process is not None  # noqa: S101
        return processor_seconds(self._process.pid)

    def _answers(self, log: Path) -> bool:
        _, found, rest = log.read_text(encoding="utf-8", errors="replace").partition(_GREETING)
        if not found or "\n" not in rest:
            return False
        self.port = int(rest.split("\n", 1)[0].strip("/"))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == _OK
        finally:
            connection.close()


def environment_at(home: Path, **settings: str) -> dict[str, str]:
    """Return an environment in which no settings of the user's are found, but those given."""
    own = {name: to for name, to in os.environ.items() if not name.startswith("BANDSTAND_")}
    return {**own, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home), **settings}


def session_cookie(port: int, name: str, password: str) -> str:
    """Return what the cookie of a session is called, after logging in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    try:
        body = json.dumps({"name": name, "password": password})
        connection.request("POST", "/api/session", body, {"Content-Type": "application/json"})
        cookie = connection.getresponse().getheader("Set-Cookie")
    finally:
        connection.close()
    if cookie is None:
        msg = "a server that gives a cookie was expected, got none"
        raise BandstandError(msg)
    return cookie.partition("=")[0]


def _family(pid: int) -> Iterator[int]:
    """Yield a process and all that come from it; only itself where the system does not tell."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            yield from _family(int(child))


def processor_seconds(pid: int) -> float | None:
    """Return how long processors have worked for a process and all that come from it."""
    try:
        ticks = sum(_ticks(each) for each in _family(pid))
    except OSError:
        return None
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    # The name of a program, in parentheses, may hold spaces; what follows does not.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _memory(pid: int) -> Memory:
    return Memory(
        resident=_kilobytes(Path(f"/proc/{pid}/status"), "VmRSS:") or 0,
        proportional=_kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss:"),
    )


def _kilobytes(place: Path, name: str) -> int | None:
    try:
        lines = place.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1_024 * int(line.split()[1]) for line in lines if line.startswith(name)), None)


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return " ".join(line.strip() for line in lines[-6:] if line.strip())[-300:] or "nothing"
