"""Folders that cannot be read, are too deep, or have names that are no text."""

from __future__ import annotations

import ctypes
import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.music.plain_words import is_plain
from tests.fixtures.music.scan_command import contents, scan_apart, scanned
from tests.fixtures.music.scanned_library import song

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# From prctl(2) and capabilities(7): what lets root read whatever it wants.
_DROP, _READ_ALL, _ENTER_ALL = 24, 1, 2
NOBODY = 65_534
ROOTS = (b"\xff\xfe", b"-rf", b"two\nlines", b"%s {} 'x'", b"a [red] b", b" ")
DEPTH = 1_100  # folders, more than calls that Python nests
LONG_NAME, LEVELS = "x" * 200, 25  # together more than the 4,096 bytes of the longest path


@pytest.fixture
def library(tmp_path: Path) -> Path:
    library = tmp_path / "library"
    library.mkdir()
    (library / "song.wav").write_bytes(song(1))
    return library


def test_what_may_not_be_read_has_a_reason_and_keeps_its_songs(
    tmp_path: Path, library: Path
) -> None:
    store, folder = tmp_path / "store.db", library / "folder"
    folder.mkdir()
    (folder / "song.wav").write_bytes(song(2))
    scanned(library, store=store)
    before = contents(store)
    (library / "new.wav").write_bytes(song(3))
    locked = [library / "new.wav", folder]
    with _locked(locked):
        outcome = scan_apart(library, store=store, prepare=_become_as_weak_as_others)
    assert outcome.code == 0, outcome.err
    found = contents(store)
    assert list(found.songs) == [bytes(library / "song.wav")]
    assert set(found.problems) == {bytes(path) for path in locked}
    assert all(is_plain(reason) for reason in found.problems.values())
    assert before.known <= found.known
    report = scanned(library, store=store)
    assert (report["added"], report["changed"]) == (1, 0)
    assert before.ids.items() <= contents(store).ids.items()


def test_root_reads_what_belongs_to_others(tmp_path: Path, library: Path) -> None:
    folder = library / "theirs"
    folder.mkdir()
    file = folder / "song.wav"
    file.write_bytes(song(2))
    for path, mode in ((file, 0o600), (folder, 0o700)):
        path.chmod(mode)
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    report = scanned(library, store=tmp_path / "store.db")
    assert report["added"] == 2, report["failures"]


def test_a_root_that_may_not_be_read_is_refused(tmp_path: Path, library: Path) -> None:
    with _locked([library]):
        outcome = scan_apart(
            library, store=tmp_path / "store.db", prepare=_become_as_weak_as_others
        )
    assert outcome.code == 2
    assert "permission" in outcome.err


def test_folders_may_be_deep_and_paths_too_long(tmp_path: Path, library: Path) -> None:
    _dig(library, "d", DEPTH)
    _dig(library, LONG_NAME, LEVELS)
    store = tmp_path / "store.db"
    try:
        scanned(library, store=store)
        found = contents(store)
    finally:  # Python's own way to remove a tree nests calls
        subprocess.run(["rm", "-rf", library / "d"], check=True, timeout=60)
    assert {len(path.split(b"/d")) - 1 for path in found.songs} == {0, DEPTH + 1}
    assert len(found.problems) == 1
    assert all(is_plain(reason) for reason in found.problems.values())


def test_a_root_may_have_any_name(tmp_path: Path) -> None:
    roots = [bytes(tmp_path) + b"/" + name for name in ROOTS]
    for number, root in enumerate(roots):
        os.mkdir(root)
        with open(root + b"/song.wav", "wb") as file:
            file.write(song(number))
    folders = [tmp_path / os.fsdecode(name) for name in ROOTS]
    assert scanned(*folders, store=tmp_path / "store.db")["added"] == len(ROOTS)
    found = contents(tmp_path / "store.db")
    assert set(found.songs) == {root + b"/song.wav" for root in roots}


@contextmanager
def _locked(paths: Sequence[Path]) -> Iterator[None]:
    for path in paths:
        path.chmod(0)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(0o700)


def _dig(folder: Path, name: str, levels: int) -> None:
    """Make folders inside each other, and put a song into the last one."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=place)
        place, above = os.open(name, os.O_RDONLY, dir_fd=place), place
        os.close(above)
    file = os.open("deep.wav", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, song(4))
    os.close(file)
    os.close(place)


def _become_as_weak_as_others() -> None:
    """Give up what lets root read everything; others have nothing to give up."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_READ_ALL, _ENTER_ALL):
            assert libc.prctl(_DROP, capability, 0, 0, 0) == 0
