"""The real server as a process of its own, on a free port of this computer, with a store to lose.

    with serving(tmp_path, invented=1_000) as server:
        server.client("ben").get("/api/next")
        server.kill()
        server.start()

`invented` songs are written straight into the store and have no files; `folders` are scanned.
Each account is made before the start and has a session already, so that no test waits for a
password to be hashed. The set-up token is there when `names` is empty.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.web import cookies
from bandstand.web.access import Access
from benchmarks.fixtures.songs import NOW, add_session, add_songs
from tests.cli.running import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

PASSWORD = "a quiet evening in the park"  # noqa: S105
# argon2id of PASSWORD, made once: hashing takes as long as a test.
HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$epJin86ynorQu/15dH1Cpw$"
    "1KiWtzpzg46NEdPXvBg1b+KUr1/3w1WAYbCKEbYODa0"
)
STARTING = 60.0  # seconds; no start takes a tenth of that, unless it never ends
STOPPING = 30.0
_ADDRESS = re.compile(r"^Bandstand plays at (\S+)$", re.MULTILINE)
_TOKEN = re.compile(r"^    ([\w-]{20,})$", re.MULTILINE)


@dataclass
class Server:
    """A server: its process while it runs, and what is needed to start it again."""

    home: Path
    store: str
    arguments: list[str]
    variables: dict[str, str]
    tokens: dict[str, str]  # of a session, by the name of the account
    ids: dict[str, str]  # of the accounts, by name
    wrapper: list[str] = field(default_factory=list)  # a command that runs the server's
    process: subprocess.Popen[bytes] | None = None
    address: str = ""
    port: str = "0"
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def output(self) -> str:
        """All that this server, and those before it, have printed."""
        return self._log("out") + self._log("err")

    @property
    def setup_token(self) -> str | None:
        """The token that the last start has printed, if it did."""
        found = _TOKEN.findall(self._log("out"))
        return found[-1] if found else None

    def start(self) -> Server:
        """Start the process, and wait until it answers."""
        assert self.process is None
        before = len(self._log("out"))
        command = [*self.wrapper, sys.executable, "-m", "bandstand", "serve", "--port", self.port]
        with self._open("out") as out, self._open("err") as err:
            self.process = subprocess.Popen(
                [*command, *self.arguments],
                env=environment(**self.variables),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        until = time.monotonic() + STARTING
        while not (found := _ADDRESS.search(self._log("out"), before)):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < until, self.output
            time.sleep(0.02)
        self.address = found[1].rstrip("/")
        self.port = self.address.rpartition(":")[2]  # the same after a restart
        assert httpx.get(f"{self.address}/health", timeout=STARTING).status_code == 200
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Tell the process to stop, and return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(STOPPING)
        self.process = None
        return code

    def kill(self) -> None:
        """Kill the process where it stands."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOPPING)
        self.process = None

    def client(self, name: str | None = None, **options: Any) -> httpx.Client:
        """Return a client: of nobody, or of an account that is logged in."""
        known = {} if name is None else {cookies.name_of(Access()): self.tokens[name]}
        client = httpx.Client(
            base_url=self.address, cookies=known, timeout=options.pop("timeout", 30.0), **options
        )
        self._clients.append(client)
        return client

    def wait_for_songs(self, count: int, name: str = "ben") -> None:
        """Wait until the radio can play so many songs."""
        until = time.monotonic() + STARTING
        listener = self.client(name)
        while (found := listener.get("/api/library").json())["songs"] < count:
            assert time.monotonic() < until, found
            time.sleep(0.1)

    def close(self) -> None:
        """End everything."""
        for client in self._clients:
            client.close()
        if self.process is not None:
            self.kill()

    def _open(self, name: str) -> IO[bytes]:
        return (self.home / f"server.{name}").open("ab")

    def _log(self, name: str) -> str:
        try:
            return (self.home / f"server.{name}").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


@contextmanager
def serving(
    home: Path,
    *,
    invented: int = 0,
    folders: Sequence[Path] = (),
    names: Mapping[str, accounts.Role] | None = None,
    store: str | None = None,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    wrapper: Sequence[str] = (),
) -> Iterator[Server]:
    """Give a server that runs, with its store and all it writes below `home`.

    `names` are the accounts with their roles: "ann", an admin, and "ben", unless given. `wrapper`
    is a command that runs the server's, such as strace.
    """
    server = prepared(
        home,
        invented=invented,
        folders=folders,
        names=names,
        store=store,
        options=options,
        variables=variables,
    )
    server.wrapper = list(wrapper)
    try:
        yield server.start()
    finally:
        server.close()


def prepared(
    home: Path,
    *,
    invented: int = 0,
    folders: Sequence[Path] = (),
    names: Mapping[str, accounts.Role] | None = None,
    store: str | None = None,
    options: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Server:
    """Return a server that is ready to be started; whoever has it calls `close`."""
    place = store or str(home / "radio.db")
    people = {"ann": "admin", "ben": "listener"} if names is None else names
    tokens, ids = fill(place, invented=invented, names=people)
    return Server(
        home=home,
        store=place,
        arguments=["--store", place, *options, "--", *map(str, folders)],
        variables={
            **{name: "" for name in os.environ if name.startswith("BANDSTAND_")},
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            **(variables or {}),
        },
        tokens=tokens,
        ids=ids,
    )


def fill(
    place: str, *, invented: int = 0, names: Mapping[str, Any] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return tokens of sessions and ids of accounts, by name, after writing all into a store."""
    tokens, ids = {}, {}
    with open_store(place) as opened:
        with opened.writing() as connection:
            for name, role in (names or {}).items():
                account = accounts.create(
                    connection, name=name, role=role, password_hash=HASH, now=NOW
                )
                ids[name] = account.id
                tokens[name] = add_session(connection, account.id)
        add_songs(opened, invented)
    return tokens, ids
