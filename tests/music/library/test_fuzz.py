"""Thousands of broken files through the real scan: the parent never fails."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.fixtures.music.leftovers import adopting, children, orphans, picture_of
from tests.fixtures.music.mutations import mutated, seeds
from tests.fixtures.music.plain_words import is_clean, is_plain
from tests.fixtures.music.scan_command import Contents, contents, scanned

if TYPE_CHECKING:
    from pathlib import Path

QUICK = 40  # files
BATCH, BATCHES = 250, 20
_CRASHED = re.compile(r"crashed|ended without|ended from outside")


def test_the_seeds_are_good_files(tmp_path: Path) -> None:
    for number, (extension, content) in enumerate(seeds()):
        (tmp_path / f"{number}.{extension}").write_bytes(content)
    report = scanned(tmp_path, store=tmp_path / "store.db")
    assert report["added"] == len(seeds()), report["failures"]


def test_some_broken_files_do_no_harm(tmp_path: Path) -> None:
    _assert_harmless(tmp_path, range(QUICK))


@pytest.mark.long
def test_thousands_of_broken_files_do_no_harm(tmp_path: Path) -> None:
    kinds: Counter[str] = Counter()
    for batch in range(BATCHES):
        folder = tmp_path / str(batch)
        folder.mkdir()
        numbers = range(QUICK + batch * BATCH, QUICK + (batch + 1) * BATCH)
        kinds += _assert_harmless(folder, numbers)
    print("\n" + "\n".join(f"{count:6,} {kind}" for kind, count in kinds.most_common()))


def _assert_harmless(folder: Path, numbers: range) -> Counter[str]:
    """Scan broken files, and return how many became songs, failed, or crashed their child."""
    library, store = folder / "library", folder / "store.db"
    library.mkdir()
    for number in numbers:  # `mutated(number)` makes each of them again
        extension, content = mutated(number)
        (library / f"{number}.{extension}").write_bytes(content)
    before = picture_of(library)
    with adopting():
        processes = children()
        scanned(library, store=store)
        assert not orphans(processes, patience=0)
    assert picture_of(library) == before
    found = contents(store)
    _assert_reported_all(found, library)
    return Counter({"songs": len(found.songs)}) + Counter(map(_kind, found.problems.values()))


def _assert_reported_all(found: Contents, library: Path) -> None:
    """Check that each file is a song with finite numbers or has a reason in plain words."""
    there = {bytes(path) for path in library.iterdir()}
    assert found.songs.keys() | found.problems.keys() == there
    assert found.songs.keys().isdisjoint(found.problems)
    for song in found.songs.values():
        assert np.isfinite(found.descriptors[song.id]).all(), song.path
        assert all(is_clean(getattr(song.tags, name) or 0.0) for name in song.tags.__slots__)
    for path, reason in found.problems.items():
        assert is_plain(reason), (path, reason)


def _kind(reason: str) -> str:
    """Return a reason without what differs from file to file, for counting."""
    return ("CHILD CRASHED: " if _CRASHED.search(reason) else "") + re.sub(r"[\d.,]+", "#", reason)
