"""Conversion to Opus: once for each recording, bounded, in children that may write nothing."""

import errno
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from bandstand.errors import StoreFullError, UnreadableAudioError
from bandstand.media import conversion
from bandstand.media.conversion import LIMITS, BusyError, Conversions
from bandstand.media.file_cache import FileCache
from bandstand.music.audio.tracker_support import DEMUXERS, ffmpeg_with
from tests.fixtures.music.audio_files import make, melody
from tests.music.audio.test_tracker_support import protracker

LARGE = 10**9


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(tmp_path / "cache", limit=LARGE)


@pytest.fixture
def conversions(cache: FileCache) -> Iterator[Conversions]:
    made = Conversions(cache)
    yield made
    made.close()


def convert(conversions: Conversions, path: Path, name: str = "a") -> None:
    conversions.wanted(name, bytes(path), bytes(path.parent)).result(60)


def content(cache: FileCache, name: str = "a") -> bytes:
    file = cache.open(name)
    assert file is not None
    with file:
        return file.read()


def sound(opus: bytes) -> NDArray[np.float64]:
    with av.open(BytesIO(opus), "r") as container:
        assert container.format.name == "ogg"
        assert container.streams.audio[0].codec_context.name == "opus"
        frames = [frame.to_ndarray() for frame in container.decode(audio=0)]
    heard: NDArray[np.float64] = np.concatenate(frames, axis=1).mean(axis=0, dtype=np.float64)
    return heard


@pytest.mark.parametrize("ending", [".aiff", ".wma", ".m4a", ".mka", ".ac3"])
def test_a_converted_recording_sounds_the_same(
    cache: FileCache, conversions: Conversions, tmp_path: Path, ending: str
) -> None:
    path = make(tmp_path / f"a{ending}", seconds=3)
    convert(conversions, path)
    heard, meant = sound(content(cache)), melody(3, rate=48_000)[0]
    assert len(heard) == pytest.approx(len(meant), abs=4_800)
    # Where the two fit best, whatever delay the codecs between them add.
    both = min(len(heard), len(meant)) - 4_800
    found = np.correlate(heard[:both], meant[2_400:both:1][: both - 4_800], "valid").max()
    norm = np.linalg.norm(heard[:both]) * np.linalg.norm(meant[2_400 : both - 2_400])
    assert found / norm > 0.9


def test_a_long_recording_comes_in_pieces(
    cache: FileCache, conversions: Conversions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "PIECE", 20_000)
    path = make(tmp_path / "long.aiff", seconds=20)
    convert(conversions, path)
    assert len(content(cache)) > 100_000
    assert len(sound(content(cache))) == pytest.approx(20 * 48_000, abs=2_000)


def test_a_recording_that_never_ends_is_refused(
    cache: FileCache, conversions: Conversions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "PIECE", 10_000)
    monkeypatch.setattr(conversion, "MAX_PIECES", 3)
    path = make(tmp_path / "long.aiff", seconds=20)
    with pytest.raises(UnreadableAudioError, match="at most twelve hours"):
        convert(conversions, path)
    assert cache.open("a") is None


def test_a_recording_is_converted_once_however_many_ask(
    cache: FileCache, conversions: Conversions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "MAX_WAITING", 1)
    path = make(tmp_path / "a.aiff", seconds=2)
    futures = [conversions.wanted("a", bytes(path), bytes(tmp_path)) for _ in range(20)]
    assert len(set(map(id, futures))) == 1
    with pytest.raises(BusyError):
        conversions.wanted("one more", bytes(path), bytes(tmp_path))
    wait(futures, 60)
    assert content(cache)


DAMAGED = b"FORM\0\0\0\x10AIFF" + bytes(100)


def link(path: Path) -> None:
    path.rename(path.with_name("other.aiff"))
    path.symlink_to(path.with_name("other.aiff"))


CHANGES: list[Callable[[Path], object]] = [
    lambda path: path.write_bytes(DAMAGED),
    lambda path: path.write_bytes(b""),
    lambda path: path.write_bytes(b"#EXTM3U\nfile:///etc/passwd\n"),
    Path.unlink,
    link,
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_converted_leaves_nothing_behind(
    cache: FileCache, conversions: Conversions, tmp_path: Path, change: Callable[[Path], object]
) -> None:
    path = make(tmp_path / "a.aiff", seconds=1)
    change(path)
    with pytest.raises(UnreadableAudioError):
        convert(conversions, path)
    assert cache.open("a") is None
    assert not list((tmp_path / "cache").iterdir())


def test_a_failure_is_remembered_for_a_while(
    conversions: Conversions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "a.aiff", seconds=1)
    good = path.read_bytes()
    path.write_bytes(DAMAGED)
    with pytest.raises(UnreadableAudioError, match="expected audio"):
        convert(conversions, path)
    path.write_bytes(good)
    with pytest.raises(UnreadableAudioError, match="expected audio"):
        convert(conversions, path)
    monkeypatch.setattr(time, "monotonic", lambda: 1e12)
    convert(conversions, path)


def test_a_child_that_takes_too_long_costs_one_failure(cache: FileCache, tmp_path: Path) -> None:
    slow = Conversions(cache, limits=replace(LIMITS, wall_seconds=0.2))
    path = make(tmp_path / "a.aiff", seconds=100, channels=1)
    try:
        with pytest.raises(UnreadableAudioError, match="took longer"):
            convert(slow, path)
    finally:
        slow.close()
    assert cache.open("a") is None


def test_closing_ends_what_is_under_way(cache: FileCache, tmp_path: Path) -> None:
    made = Conversions(cache)
    path = make(tmp_path / "a.aiff", seconds=60, channels=1)
    futures = [made.wanted(f"n{n}", bytes(path), bytes(tmp_path)) for n in range(4)]
    made.close()
    assert all(future.done() for future in futures)
    with pytest.raises(BusyError):
        made.wanted("b", bytes(path), bytes(tmp_path))
    assert not list((tmp_path / "cache").glob("*.part"))


@pytest.mark.parametrize("task", ["answer_with_a_page", "answer_with_numbers"])
def test_what_a_child_answers_is_not_believed(
    cache: FileCache,
    conversions: Conversions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    task: str,
) -> None:
    monkeypatch.setattr(conversion, "TASK", f"tests.fixtures.radio.bad_tasks:{task}")
    path = make(tmp_path / "a.aiff", seconds=1)
    with pytest.raises(ValueError, match="piece"):
        convert(conversions, path)
    assert cache.open("a") is None


def test_a_module_is_played_where_there_is_a_program_for_it(
    cache: FileCache, conversions: Conversions, tmp_path: Path
) -> None:
    (tmp_path / "tune.mod").write_bytes(protracker())
    if ffmpeg_with(DEMUXERS) is None:
        with pytest.raises(UnreadableAudioError, match="ffmpeg with libopenmpt"):
            convert(conversions, tmp_path / "tune.mod")
    else:
        convert(conversions, tmp_path / "tune.mod")
        assert np.abs(sound(content(cache))).max() > 0.01


def test_a_full_disk_is_reported_as_such(
    conversions: Conversions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = make(tmp_path / "a.aiff", seconds=1)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "fsync", full)
        with pytest.raises(StoreFullError):
            convert(conversions, path)
    convert(conversions, path)  # not remembered: there may be room again


def test_a_name_of_any_kind_reaches_no_command_line(
    cache: FileCache, conversions: Conversions, tmp_path: Path
) -> None:
    for number, name in enumerate((b'-i "; $(id) `id`.aiff', b"a\nb\xff.aiff")):
        made = make(tmp_path / "plain.aiff", seconds=0.5)
        place = bytes(tmp_path) + b"/" + name
        made.rename(place.decode("utf-8", "surrogateescape"))
        conversions.wanted(f"n{number}", place, bytes(tmp_path)).result(60)
        assert content(cache, f"n{number}")
