"""Songs from a real server through real sockets, to clients that read slowly or not at all."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bandstand.web.security import browser_sessions
from bandstand.web.security.access import Access
from tests.fixtures.music.audio_files import wav
from tests.fixtures.web.servers import Server, serving

SIZE = 20_000_000  # bytes of one song, far more than any buffer on the way
SLOW = 60  # clients who ask for it and do not read


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    library = tmp_path_factory.mktemp("library")
    (library / "long.wav").write_bytes(wav(bytes(range(250)) * (SIZE // 250)))
    with serving(tmp_path_factory.mktemp("home"), folders=[library]) as running:
        running.wait_for_songs(1)
        yield running


def song(server: Server) -> str:
    return str(server.client("ben").get("/api/songs").json()["songs"][0]["audio"])


def open_songs(server: Server) -> int:
    """Return how many times the server has the song open."""
    assert server.process is not None
    handles = Path(f"/proc/{server.process.pid}/fd").iterdir()
    found = 0
    for handle in handles:
        try:
            found += handle.readlink().name == "long.wav"
        except FileNotFoundError:
            continue
    return found


def ask(server: Server, stack: ExitStack, target: str) -> socket.socket:
    """Return a connection on which a song was asked for, and its first bytes have come."""
    connection = socket.create_connection(("127.0.0.1", int(server.port)), timeout=60)
    stack.callback(connection.close)
    cookie = f"{browser_sessions.cookie_name(Access())}={server.tokens['ben']}"
    head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n"
    connection.sendall(head.encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def test_clients_who_do_not_read_take_a_block_each_and_stop_nobody(server: Server) -> None:
    client, target = server.client("ben"), song(server)
    client.get(target)
    before = server.memory_bytes
    with ExitStack() as stack:
        for _ in range(SLOW):
            ask(server, stack, target)
        assert client.get("/api/next").status_code == 200
        assert client.get(target, headers={"Range": "bytes=5-9"}).status_code == 206
        # Less than a megabyte for each, of twenty that they asked for.
        assert server.memory_bytes - before < SLOW * 1_000_000
    _wait_until_closed(server)


def test_who_hangs_up_is_forgotten(server: Server) -> None:
    target = song(server)
    for _ in range(20):
        with ExitStack() as stack:
            ask(server, stack, target)
    _wait_until_closed(server)


def _wait_until_closed(server: Server) -> None:
    until = time.monotonic() + 30
    while open_songs(server):
        assert time.monotonic() < until
        time.sleep(0.05)
