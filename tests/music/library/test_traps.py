"""The traps of the hostile folder work: a careless scan is caught by them."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from typing import TYPE_CHECKING

import av
import pytest

from tests.fixtures.music.hostile_tags import playlists
from tests.fixtures.music.leftovers import adopting, children, orphans, picture_of
from tests.fixtures.music.short_sounds import encoded, piece

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = 1.0


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    path = tmp_path / "outside" / "secret.wav"
    path.write_bytes(encoded("wav", piece(1, seconds=SECONDS)))
    return path


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("a script", "concat", {"safe": "0"}),
        ("segments", "hls", {"allowed_extensions": "ALL", "extension_picky": "0"}),
        ("segments by address", "hls", {"allowed_extensions": "ALL", "extension_picky": "0"}),
    ],
)
def test_a_careless_decoder_reads_the_secret(
    tmp_path: Path, secret: Path, name: str, kind: str, options: dict[str, str]
) -> None:
    trap = tmp_path / "trap.mp3"
    trap.write_bytes(playlists(secret, port=9)[name])
    with av.open(str(trap), format=kind, options=options) as container:
        assert sum(frame.samples for frame in container.decode(audio=0)) == SECONDS * 16_000


def test_a_careless_decoder_calls_the_server(tmp_path: Path, secret: Path) -> None:
    trap = tmp_path / "trap.mp3"
    with socket.create_server(("127.0.0.1", 0)) as server:
        called = threading.Thread(target=_hang_up, args=(server,))
        called.start()
        trap.write_bytes(playlists(secret, server.getsockname()[1])["segments from a server"])
        options = {"protocol_whitelist": "file,http,tcp", "extension_picky": "0"}
        with pytest.raises((av.FFmpegError, IndexError)):
            next(av.open(str(trap), format="hls", options=options).decode(audio=0))
        called.join(timeout=10)
        assert not called.is_alive()


def _change_one_byte(path: Path) -> None:
    """Change a byte in the middle of a hole, and set the times back as a clever program would."""
    times = path.stat()
    with path.open("r+b") as file:
        file.seek(1 << 29)
        file.write(b"\x01")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    "meddle",
    [
        lambda path: path.touch(),
        lambda path: path.chmod(0o600),
        lambda path: path.rename(path.with_name("other")),
        lambda path: path.with_name("new").touch(),
        lambda path: path.with_name("link").hardlink_to(path),
        _change_one_byte,
    ],
)
def test_any_change_of_the_library_is_noticed(
    tmp_path: Path, meddle: Callable[[Path], None]
) -> None:
    song = tmp_path / "song.mp3"
    song.write_bytes(b"sound")
    os.truncate(song, 1 << 30)
    before = picture_of(tmp_path)
    assert picture_of(tmp_path) == before
    meddle(song)
    assert picture_of(tmp_path) != before


def test_a_process_that_is_left_is_noticed() -> None:
    with adopting():
        before = children()
        subprocess.run(["sh", "-c", "sleep 60 &"], check=True)
        left = orphans(before, patience=0)
        assert len(left) == 1
        for process in left:
            os.kill(process, 9)
        assert not orphans(before)


def _hang_up(server: socket.socket) -> None:
    server.accept()[0].close()
