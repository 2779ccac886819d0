"""SIGTERM under load, with streams that have no end of their own (G6)."""

from __future__ import annotations

import http.client
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import numpy as np

from bandstand.store.database.connection import open_store
from bandstand.store.songs import songs
from tests.fixtures.faults.load import Listeners, problems, tell, wait_until
from tests.fixtures.faults.servers import NAMES, harmed, song_ids
from tests.fixtures.music.short_sounds import encoded, piece

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.web.servers import Server

LONGEST_STOP = 10.0  # seconds; it is asked for, and there is nothing tight about it


@contextmanager
def open_stream(server: Server, name: str, path: str) -> Iterator[None]:
    """Read only the beginning of an answer that goes on."""
    client = server.client(name)
    cookie = "; ".join(f"{key}={value}" for key, value in client.cookies.items())
    connection = http.client.HTTPConnection("127.0.0.1", int(server.port), timeout=30)
    with closing(connection):
        connection.request("GET", path, headers={"Cookie": cookie})
        with closing(connection.getresponse()) as answer:
            assert answer.status == 200
            assert answer.read(16)
            yield


def audio_of(server: Server, file: Path) -> str | None:
    """Return where the sound of a file is, once it was analysed."""
    with open_store(server.store) as store, store.reading() as connection:
        found = songs.at_path(connection, bytes(file))
    return None if found is None else f"/api/songs/{found.id}/audio"


def library(folder: Path) -> Path:
    """Return a file too long to be sent at once, in a folder that takes a while to analyse."""
    folder.mkdir()
    long = folder / "long.wav"
    long.write_bytes(encoded("wav", np.tile(piece(0, seconds=10.0), 60)))
    for seed in range(1, 120):
        (folder / f"{seed}.wav").write_bytes(encoded("wav", piece(seed, seconds=1.0)))
    return long


def test_it_stops_within_ten_seconds_and_loses_nothing(tmp_path: Path) -> None:
    long = library(tmp_path / "music")
    with harmed(tmp_path, folders=[long.parent], options=["--workers", "1"]) as server:
        wait_until(lambda: audio_of(server, long) is not None)
        with (
            open_stream(server, NAMES[0], audio_of(server, long) or ""),
            open_stream(server, "ann", "/api/admin/scan/progress"),
            Listeners(server, NAMES, song_ids(server), pause=0.005) as listeners,
        ):
            listeners.wait_for(20)
            began = time.monotonic()
            assert server.stop() == 0
            seconds = time.monotonic() - began
        assert set(listeners.statuses) <= {503}
        assert "Traceback" not in server.output
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"stopped after {seconds:.2f} s, {len(listeners.acknowledged)} acknowledged")
    assert seconds < LONGEST_STOP
