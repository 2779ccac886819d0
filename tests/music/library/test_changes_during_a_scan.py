"""Files that change between the walk and the reading, or while they are read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from bandstand.music.audio.decode import read
from bandstand.music.library import analyse
from bandstand.music.library.content import fingerprint, open_file
from tests.fixtures.music.scanned_library import ScannedFolder, song

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def shelf(tmp_path: Path) -> ScannedFolder:
    shelf = ScannedFolder(tmp_path)
    shelf.put("a.wav", song(1))
    shelf.put("album/b.wav", song(2))
    return shelf


def test_a_file_replaced_after_the_walk_is_known_as_what_was_read(shelf: ScannedFolder) -> None:
    path = bytes(shelf.library / "a.wav")
    shelf.scan(meddle=lambda: _ignore(shelf.put("a.wav", song(3) + song(4))))
    after = shelf.scan()
    assert after.asked == []
    assert after.contents.songs[path].fingerprint == _fingerprint(path)


def test_a_file_that_vanishes_after_the_walk_is_reported_and_then_missing(
    shelf: ScannedFolder,
) -> None:
    path = shelf.library / "a.wav"
    scan = shelf.scan(meddle=path.unlink)
    assert "gone" in scan.contents.problems[bytes(path)]
    assert len(scan.ids) == 1
    assert bytes(path) not in shelf.scan().contents.problems


@pytest.mark.parametrize("swapped", ["a.wav", "album"])
def test_a_link_that_appears_after_the_walk_is_not_followed(
    shelf: ScannedFolder, swapped: str
) -> None:
    scan = shelf.scan(meddle=lambda: _lead_outside(shelf, swapped))
    assert _outside_marks(shelf).isdisjoint(s.fingerprint for s in scan.contents.songs.values())
    assert len(scan.contents.problems) == 1
    again = shelf.scan()
    assert _outside_marks(shelf).isdisjoint(s.fingerprint for s in again.contents.songs.values())


@pytest.mark.parametrize("swapped", ["a.wav", "album"])
def test_a_careless_analysis_would_follow_the_link(
    shelf: ScannedFolder, swapped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyse, "open_beneath", lambda _, path: open_file(path))
    scan = shelf.scan(meddle=lambda: _lead_outside(shelf, swapped))
    assert _outside_marks(shelf) & {song.fingerprint for song in scan.contents.songs.values()}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_file_that_becomes_something_else_is_reported(
    shelf: ScannedFolder, make: Callable[[Path], None]
) -> None:
    path = shelf.library / "a.wav"

    def meddle() -> None:
        path.unlink()
        make(path)

    scan = shelf.scan(meddle=meddle)
    assert scan.contents.problems[bytes(path)]
    assert len(scan.ids) == 1


def test_a_file_that_changes_while_it_is_read_is_read_again(
    shelf: ScannedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bytes(shelf.library / "a.wav")

    def read_meanwhile(file: BinaryIO, **options: Any) -> Any:
        if len(song(1)) == os.fstat(file.fileno()).st_size and fingerprint(file) == first:
            shelf.put("a.wav", song(3) + song(4))
        return read(file, **options)

    first = _fingerprint(path)
    with monkeypatch.context() as patched:
        patched.setattr(analyse, "read", read_meanwhile)
        scan = shelf.scan()
    assert "changed while" in scan.contents.problems[path]
    after = shelf.scan()
    assert after.asked == [path]
    assert after.contents.songs[path].fingerprint == _fingerprint(path)


def test_a_file_that_is_cut_while_it_is_read_is_reported(
    shelf: ScannedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shelf.library / "a.wav"

    def read_meanwhile(file: BinaryIO, **options: Any) -> Any:
        os.truncate(path, 100)
        return read(file, **options)

    monkeypatch.setattr(analyse, "read", read_meanwhile)
    scan = shelf.scan(shelf.library)
    assert scan.contents.problems[bytes(path)]


def _lead_outside(shelf: ScannedFolder, swapped: str) -> None:
    """Swap a name in the library for a link to its like outside."""
    outside = shelf.library.with_name("outside")
    (outside / "album").mkdir(parents=True)
    (outside / "a.wav").write_bytes(song(10))
    (outside / "album" / "b.wav").write_bytes(song(11))
    (shelf.library / swapped).rename(shelf.library.with_name("aside"))
    (shelf.library / swapped).symlink_to(outside / swapped)


def _outside_marks(shelf: ScannedFolder) -> set[str]:
    outside = shelf.library.with_name("outside")
    return {_fingerprint(bytes(path)) for path in outside.rglob("*.wav")}


def _fingerprint(path: bytes) -> str:
    with open(path, "rb") as file:
        return fingerprint(file)


def _ignore(_: object) -> None:
    """Do nothing, so that a function that returns something can be one that does not."""
