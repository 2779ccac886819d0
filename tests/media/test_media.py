"""What media is made of: files that are kept, what browsers play, children that look."""

import os
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from bandstand.errors import (
    InvalidInputError,
    StoreError,
    StoreFullError,
    UnreadableAudioError,
)
from bandstand.media import probe_pool
from bandstand.media.conversion import BusyError, request_for
from bandstand.media.file_cache import FileCache
from bandstand.media.media import ASK, CONVERT, judged
from bandstand.media.probe_pool import ProbePool
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.music.audio_files import FORMATS, make, wav

PLAYED = {
    ".mp3": "audio/mpeg", ".flac": "audio/flac", ".ogg": "audio/ogg", ".opus": "audio/ogg",
    ".wav": "audio/wav", ".aac": "audio/aac",
}  # fmt: skip
ASKED = {".m4a", ".mp4", ".mov", ".mka", ".mkv", ".webm"}


def put(cache: FileCache, name: str, content: bytes, used: int = 0) -> None:
    with cache.writing(name) as file:
        file.write(content)
    if used:
        os.utime(cache._path(name), ns=(used, used))


def kept(cache: FileCache, name: str) -> bytes | None:
    file = cache.open(name)
    if file is None:
        return None
    with file:
        return file.read()


def test_a_file_is_there_when_it_was_written_whole(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "new" / "cache", limit=1_000)
    assert kept(cache, "a") is None
    put(cache, "a", b"content")
    assert kept(cache, "a") == b"content"


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit=1_000)
    with pytest.raises(StoreFullError, match="room"):
        _write_half(cache)
    assert kept(cache, "a") is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = FileCache(tmp_path / "file" / "cache", limit=1_000)
    with pytest.raises(StoreError, match="data folder"):
        put(cache, "a", b"content")


def _write_half(cache: FileCache) -> None:
    with cache.writing("a") as file:
        file.write(b"half")
        raise OSError(28, "the disk is full")


def test_what_a_killed_server_left_is_cleared(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit=1_000)
    put(cache, "a", b"whole")
    (tmp_path / "b.0123.part").write_bytes(b"half")
    cache.clear_unfinished()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_was_used_least_recently_goes_first(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit=250)
    put(cache, "a", bytes(100), used=10**18)
    put(cache, "b", bytes(100), used=10**18 + 1)
    assert kept(cache, "a") is not None  # used just now
    put(cache, "c", bytes(100))
    assert kept(cache, "b") is None
    assert kept(cache, "a") is not None
    assert kept(cache, "c") is not None


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a", "a/b", "a\0", "A", "a.part", "é", "a" * 151]
)
def test_only_plain_names_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError):
        FileCache(tmp_path, limit=1).open(name)


@pytest.mark.parametrize("ending", FORMATS)
def test_the_content_tells_what_browsers_play(tmp_path: Path, ending: str) -> None:
    content = make(tmp_path / f"a{ending}", seconds=0.5).read_bytes()
    expected = PLAYED.get(ending, ASK if ending in ASKED else CONVERT)
    assert judged(BytesIO(content)) == expected


def test_compressed_samples_in_a_wav_are_converted() -> None:
    assert judged(BytesIO(wav(bytes(400), kind=1))) == "audio/wav"
    assert judged(BytesIO(wav(bytes(400), kind=3, bits=32))) == "audio/wav"
    assert judged(BytesIO(wav(bytes(400), kind=0x11))) == CONVERT


@pytest.fixture
def probes() -> Iterator[ProbePool]:
    made = ProbePool(idle_seconds=0.2)
    yield made
    made.close()


def codec(probes: ProbePool, path: Path) -> dict[str, object]:
    request = request_for(bytes(path), bytes(path.parent)) | {"do": "codec"}
    return probes.ask(request).result(60)


def test_a_child_tells_the_codec(probes: ProbePool, tmp_path: Path) -> None:
    for name, wanted in (("a.m4a", "aac"), ("b.m4a", "alac")):
        path = make(tmp_path / name, seconds=0.5, codec=wanted)
        assert codec(probes, path)["codec"] == wanted


def test_a_link_is_not_looked_into(probes: ProbePool, tmp_path: Path) -> None:
    make(tmp_path / "a.m4a", seconds=0.5)
    (tmp_path / "b.m4a").symlink_to(tmp_path / "a.m4a")
    with pytest.raises(UnreadableAudioError, match="link"):
        codec(probes, tmp_path / "b.m4a")
    probes.close()
    with pytest.raises(BusyError):
        codec(probes, tmp_path / "a.m4a")


def test_a_child_that_falls_over_costs_one_answer(
    probes: ProbePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_pool, "TASK", "tests.fixtures.web.bad_tasks:fall_over")
    path = make(tmp_path / "a.m4a", seconds=0.5)
    for _ in range(3):
        with pytest.raises(UnreadableAudioError, match="crashed"):
            codec(probes, path)


def test_no_decoder_is_loaded_into_the_server() -> None:
    code = "import sys, bandstand.media.media; sys.exit('av' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE)
    assert done.returncode == 0


def test_the_newest_file_stays_even_if_it_is_too_large(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, limit=0)
    put(cache, "a", bytes(100))
    put(cache, "b", bytes(200))
    assert kept(cache, "a") is None
    assert kept(cache, "b") == bytes(200)
