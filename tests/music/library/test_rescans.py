"""Real sound scanned again, and files that change between the walk and the reading.

Invented songs that move, swap and break are in test_scan.py.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from bandstand.music.audio.decode import read
from bandstand.music.library import analyse
from bandstand.music.library.content import fingerprint, open_file
from tests.fixtures.music.scanned_library import ScannedFolder, fingerprint_of, song


@pytest.fixture
def folder(tmp_path: Path) -> ScannedFolder:
    return ScannedFolder(tmp_path)


@pytest.fixture
def two(folder: ScannedFolder) -> ScannedFolder:
    """A library of two songs."""
    folder.put("a.wav", song(1))
    folder.put("album/b.wav", song(2))
    return folder


def test_a_file_replaced_after_the_walk_is_known_as_what_was_read(two: ScannedFolder) -> None:
    path = bytes(two.library / "a.wav")
    two.scan(meddle=lambda: _ignore(two.put("a.wav", song(3) + song(4))))
    after = two.scan()
    assert after.asked == []
    assert after.contents.songs[path].fingerprint == fingerprint_of(path)


def test_a_file_that_vanishes_is_reported_and_then_missing(two: ScannedFolder) -> None:
    path = two.library / "a.wav"
    scan = two.scan(meddle=path.unlink)
    assert "gone" in scan.contents.problems[bytes(path)]
    assert len(scan.ids) == 1
    assert bytes(path) not in two.scan().contents.problems


@pytest.mark.parametrize("swapped", ["a.wav", "album"])
def test_a_link_that_appears_later_is_not_followed(two: ScannedFolder, swapped: str) -> None:
    scan = two.scan(meddle=lambda: _lead_outside(two, swapped))
    assert _outside_marks(two).isdisjoint(s.fingerprint for s in scan.contents.songs.values())
    assert len(scan.contents.problems) == 1
    again = two.scan()
    assert _outside_marks(two).isdisjoint(s.fingerprint for s in again.contents.songs.values())


@pytest.mark.parametrize("swapped", ["a.wav", "album"])
def test_a_careless_analysis_would_follow_the_link(
    two: ScannedFolder, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyse, "open_beneath", lambda _, path: open_file(path))
    scan = two.scan(meddle=lambda: _lead_outside(two, swapped))
    assert _outside_marks(two) & {song.fingerprint for song in scan.contents.songs.values()}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_file_that_becomes_another_is_named(
    two: ScannedFolder, make: Callable[[Path], None]
) -> None:
    path = two.library / "a.wav"

    def meddle() -> None:
        path.unlink()
        make(path)

    scan = two.scan(meddle=meddle)
    assert scan.contents.problems[bytes(path)]
    assert len(scan.ids) == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(
    two: ScannedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bytes(two.library / "a.wav")

    def read_meanwhile(file: BinaryIO, **options: Any) -> Any:
        if len(song(1)) == os.fstat(file.fileno()).st_size and fingerprint(file) == first:
            two.put("a.wav", song(3) + song(4))
        return read(file, **options)

    first = fingerprint_of(path)
    with monkeypatch.context() as patched:
        patched.setattr(analyse, "read", read_meanwhile)
        scan = two.scan()
    assert "changed while" in scan.contents.problems[path]
    after = two.scan()
    assert after.asked == [path]
    assert after.contents.songs[path].fingerprint == fingerprint_of(path)


def test_a_file_cut_while_read_is_reported(
    two: ScannedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = two.library / "a.wav"

    def read_meanwhile(file: BinaryIO, **options: Any) -> Any:
        os.truncate(path, 100)
        return read(file, **options)

    monkeypatch.setattr(analyse, "read", read_meanwhile)
    scan = two.scan(two.library)
    assert scan.contents.problems[bytes(path)]


def _lead_outside(two: ScannedFolder, swapped: str) -> None:
    """Swap a name in the library for a link to its like outside."""
    outside = two.library.with_name("outside")
    (outside / "album").mkdir(parents=True)
    (outside / "a.wav").write_bytes(song(10))
    (outside / "album" / "b.wav").write_bytes(song(11))
    (two.library / swapped).rename(two.library.with_name("aside"))
    (two.library / swapped).symlink_to(outside / swapped)


def _outside_marks(two: ScannedFolder) -> set[str]:
    outside = two.library.with_name("outside")
    return {fingerprint_of(bytes(path)) for path in outside.rglob("*.wav")}


def _ignore(_: object) -> None:
    """Do nothing, so that a function that returns something can be one that does not."""
