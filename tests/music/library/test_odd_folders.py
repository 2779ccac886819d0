"""Folders that may not be read."""

from __future__ import annotations

import ctypes
import os
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
OTHER_USER = 65_534


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
            os.chown(path, OTHER_USER, OTHER_USER)
    report = scanned(library, store=tmp_path / "store.db")
    assert report["added"] == 2, report["failures"]


def test_a_root_that_may_not_be_read_is_refused(tmp_path: Path, library: Path) -> None:
    with _locked([library]):
        outcome = scan_apart(
            library, store=tmp_path / "store.db", prepare=_become_as_weak_as_others
        )
    assert outcome.code == 2
    assert "permission" in outcome.err


@contextmanager
def _locked(paths: Sequence[Path]) -> Iterator[None]:
    for path in paths:
        path.chmod(0)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(0o700)


def _become_as_weak_as_others() -> None:
    """Give up what lets root read everything; others have nothing to give up."""
    if os.getuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_READ_ALL, _ENTER_ALL):
            assert libc.prctl(_DROP, capability, 0, 0, 0) == 0
