import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bandstand.music.library import scan as looking
from bandstand.music.library.scan import FileSample, first_look, is_needed, sample_files
from bandstand.music.library.walk import library_roots, walk
from bandstand.store.database.connection import open_store
from tests.fakes.analyser import BAD, Inventor, Library
from tests.fixtures.statistical.checks import FAILURE_RATE


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


def fill(library: Library, songs: int) -> None:
    for number in range(songs):
        # Of different sizes: a file of a known size may be a song that has moved.
        library.put(f"{number % 7}/{number % 3}/{number}.mp3", b"x" * (100 + number))


def seen(library: Library, *, seed: int = 1, size: int = 8) -> FileSample:
    rng = np.random.default_rng(seed)
    return sample_files(library_roots([library.folder]), rng=rng, size=size)


def look(library: Library, found: FileSample, analyser: Inventor | None = None) -> int:
    with open_store(str(library.store)) as store:
        return first_look(store, found, analyser or Inventor(), now=lambda: 1_000)


@pytest.mark.parametrize("songs", [1, 8, 9, 50])
def test_some_are_drawn_without_repeats_and_all_are_counted(library: Library, songs: int) -> None:
    fill(library, songs)
    found = seen(library)
    assert len({file.path for _, file in found.files}) == len(found.files) == min(songs, 8)
    assert found.total == songs


@pytest.mark.statistical
def test_every_song_has_the_same_chance(library: Library) -> None:
    assert chance_of_such_counts(library) > FAILURE_RATE


@pytest.mark.statistical
def test_a_look_at_the_first_only_is_seen(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "walk", lambda roots, **_: list(walk(roots))[:15])
    assert chance_of_such_counts(library) < FAILURE_RATE


def chance_of_such_counts(library: Library) -> float:
    """Return how likely it is that drawing evenly gives counts as uneven as these, or more."""
    fill(library, 40)
    rounds, size = 400, 8
    times = dict.fromkeys((path for path in library.folder.rglob("*.mp3")), 0)
    for seed in range(rounds):
        for _, file in seen(library, seed=seed, size=size).files:
            times[library.folder / file.path.decode()] += 1
    share = size / len(times)
    spread = sum((n - rounds * share) ** 2 for n in times.values()) / (rounds * share * (1 - share))
    degrees = len(times) - 1
    # Those that are drawn together exclude each other, which makes the counts a little more uneven.
    return float(stats.chi2.sf(spread * degrees / len(times), degrees))


def test_a_slow_disk_is_walked_in_part(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(library, 50)
    ticks = count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    found = seen(library)
    assert found.total is None
    assert found.files


def test_what_is_recorded_is_what_a_scan_would_have_recorded(tmp_path: Path) -> None:
    looked, plain = Library(tmp_path), Library(tmp_path, store=tmp_path / "other.db")
    fill(looked, 30)
    looked.put("bad.mp3", BAD + b"!")
    assert look(looked, seen(looked, size=12)) >= 11
    before = looked.records()
    after = looked.scan()
    assert after.ids.keys() >= before.keys()
    assert after.ids == plain.scan().ids
    assert set(after.asked).isdisjoint(before)
    assert len(after.problems) == 1


def test_a_look_marks_nothing_as_missing(library: Library) -> None:
    fill(library, 5)
    library.scan()
    (library.folder / "0").rename(library.folder.parent / "away")
    library.put("new.mp3", b"something quite new")
    assert look(library, seen(library)) == 1
    assert not any(record.missing for record in library.records().values())


def test_a_look_is_needed_as_long_as_there_is_little_to_play(library: Library) -> None:
    fill(library, 64)
    with open_store(str(library.store)) as store:
        assert is_needed(store)
    library.scan()
    with open_store(str(library.store)) as store:
        assert not is_needed(store)
