"""Scans of a library of invented songs; with real sound see test_rescans.py."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from bandstand.music.library import scan as scanning
from bandstand.music.library.content import PASSING
from bandstand.store.database.connection import open_store
from bandstand.store.songs import scans
from tests.fakes.analyser import (
    BAD,
    REASON,
    Inventor,
    Library,
    StopError,
    analysis_version,
)

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.store.songs.scans import ScanCounts
    from tests.fakes.analyser import Scanned

AHEAD = [1, 3, 1_000]  # files that an analyser has taken before it answers


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path)


@pytest.fixture
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record each outcome at once, so that none is recorded later than it may be."""
    monkeypatch.setattr(scanning, "_MAX_BATCH", 1)


def of(scanned: Scanned, library: Library, *names: str) -> list[str]:
    return [scanned.ids[library.path(name)] for name in names]


def adds_up(counts: ScanCounts) -> bool:
    """Tell whether every file that was found is counted once."""
    parts = (counts.added, counts.changed, counts.moved, counts.unchanged, counts.failed)
    return counts.found == sum(parts)


# ── Counting ─────────────────────────────────────────────────────────────────────────────


def test_an_empty_folder_has_nothing(library: Library) -> None:
    scanned = library.scan()
    assert set(asdict(scanned.counts).values()) == {0}
    assert scanned.records == {}


def test_every_file_is_counted_once(library: Library) -> None:
    for number in range(150):  # more than go into one transaction
        library.put(f"album {number // 20}/{number}.mp3", number if number % 7 else BAD)
    (library.folder / "link.mp3").symlink_to("nowhere")
    first = library.scan(analyser=Inventor(ahead=4))
    assert adds_up(first.counts)
    assert (first.counts.found, first.counts.added, first.counts.failed) == (151, 128, 23)
    second = library.scan()
    assert adds_up(second.counts)
    assert second.asked == []
    assert second.changes == {}
    assert (second.counts.unchanged, second.counts.failed) == (128, 23)
    assert {it.seen for it in second.records.values()} == {2}


def test_each_kind_of_change_is_counted_for_what_it_is(library: Library) -> None:
    for number in range(6):
        library.put(f"{number}.mp3", number)
    library.put("bad.mp3", BAD)
    library.scan()
    library.put("0.mp3", 100)
    library.touch("1.mp3")
    library.move("2.mp3", "moved/two.mp3")
    (library.folder / "3.mp3").unlink()
    library.put("4.mp3", BAD)
    library.put("new.mp3", 200)
    scanned = library.scan()
    assert scanned.changes == {"added": 1, "changed": 1, "moved": 1, "missing": 1}
    assert (scanned.counts.unchanged, scanned.counts.failed) == (2, 2)
    assert adds_up(scanned.counts)


def test_progress_never_goes_back_and_ends_with_all(library: Library) -> None:
    for number in range(100):
        library.put(f"{number}.mp3", number)
    for _ in range(2):
        reported: list[ScanCounts] = []
        scanned = library.scan(analyser=Inventor(ahead=3), progress=reported.append)
        found = [counts.found for counts in reported]
        assert found == sorted(found)
        assert reported[-1] == scanned.counts
        assert found[-1] == 100


def test_the_store_keeps_what_a_scan_counted(library: Library) -> None:
    library.put("a.mp3", 1)
    counts = library.scan().counts
    with open_store(str(library.store)) as store, store.reading() as connection:
        last = scans.latest(connection)
    assert last is not None
    assert (last.number, last.counts, last.finished_at) == (1, counts, 1_000)


# ── Identity follows the content ─────────────────────────────────────────────────────────


@pytest.mark.usefixtures("_small_portions")
@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize(("old", "new"), [("a.mp3", "z.mp3"), ("z.mp3", "a.mp3")])
def test_a_song_that_moved_away_is_not_the_one_that_took_its_place(
    library: Library, ahead: int, old: str, new: str
) -> None:
    library.put(old, 1)
    before = library.scan()
    library.move(old, new)
    library.put(old, 2)
    after = library.scan(analyser=Inventor(ahead=ahead))
    assert of(after, library, new) == of(before, library, old)
    assert after.ids[library.path(old)] not in before.ids.values()
    assert after.changes == {"moved": 1, "added": 1}
    assert adds_up(after.counts)


def test_a_touched_file_is_itself_although_an_equal_one_is_missing(library: Library) -> None:
    library.put("a.mp3", 1)
    library.put("b.mp3", 1)
    before = library.scan()
    (library.folder / "a.mp3").unlink()
    library.touch("b.mp3")
    after = library.scan()
    assert of(after, library, "b.mp3") == of(before, library, "b.mp3")
    assert after.missing == set(of(before, library, "a.mp3"))


def test_equal_copies_are_distinguished_by_their_names(library: Library) -> None:
    for name in ("x", "y", "z"):
        library.put(f"old/{name}.mp3", 1)
    before = library.scan()
    library.move("old", "new")
    after = library.scan()
    assert of(after, library, "new/x.mp3", "new/y.mp3", "new/z.mp3") == of(
        before, library, "old/x.mp3", "old/y.mp3", "old/z.mp3"
    )
    assert after.counts.moved == 3


def test_a_copy_is_a_new_song_wherever_it_comes_in_the_order(library: Library) -> None:
    library.put("m.mp3", 1)
    before = library.scan()
    library.put("a.mp3", 1)
    library.put("z.mp3", 1)
    after = library.scan()
    assert of(after, library, "m.mp3") == of(before, library, "m.mp3")
    assert after.changes == {"added": 2}


def test_of_two_copies_of_a_song_that_is_gone_the_first_is_the_song(library: Library) -> None:
    library.put("m.mp3", 1)
    before = library.scan()
    library.move("m.mp3", "c.mp3")
    library.put("a.mp3", 1)
    after = library.scan()
    assert of(after, library, "a.mp3") == of(before, library, "m.mp3")
    assert after.changes == {"added": 1, "moved": 1}


def test_a_song_whose_file_was_overwritten_by_rubbish_is_found_elsewhere(library: Library) -> None:
    library.put("a.mp3", 1)
    before = library.scan()
    library.move("a.mp3", "b.mp3")
    library.put("a.mp3", BAD + bytes(11))  # as large as a song
    after = library.scan()
    assert of(after, library, "b.mp3") == of(before, library, "a.mp3")
    assert after.problems == {library.path("a.mp3"): REASON}
    assert after.changes == {"moved": 1}


@pytest.mark.parametrize("more", [11, 500])  # as large as a song, and larger
def test_a_song_that_comes_back_elsewhere_after_its_file_broke_is_the_song(
    library: Library, more: int
) -> None:
    library.put("a.mp3", 1)
    before = library.scan()
    library.put("a.mp3", BAD + bytes(more))
    assert library.scan().ids == {}
    library.put("b.mp3", 1)
    after = library.scan()
    assert of(after, library, "b.mp3") == of(before, library, "a.mp3")
    assert library.path("a.mp3") in after.problems
    assert adds_up(after.counts)
    assert library.scan().asked == []


def test_a_library_moved_to_another_disk_keeps_its_songs_behind_a_link(library: Library) -> None:
    """The link that people leave in the old place is the new place, not a second one."""
    library.put("disk/a.mp3", 1)
    before = library.scan("disk")
    library.move("disk", "larger disk")
    (library.folder / "disk").symlink_to("larger disk")
    after = library.scan("disk")
    assert of(after, library, "larger disk/a.mp3") == of(before, library, "disk/a.mp3")
    assert after.changes == {"moved": 1}


def test_only_what_is_below_the_scanned_folders_can_be_missing(library: Library) -> None:
    library.put("one/a.mp3", 1)
    library.put("two/b.mp3", 2)
    library.scan()
    for name in ("one/a.mp3", "two/b.mp3"):
        (library.folder / name).unlink()
    assert library.scan("one").missing != library.scan("one", "two").missing
    assert len(library.scan().missing) == 2


@pytest.mark.parametrize("ahead", AHEAD)
def test_a_new_file_at_a_place_that_was_left_is_a_new_song(library: Library, ahead: int) -> None:
    for number in (1, 2, 3):
        library.put(f"{number}.mp3", number)
    before = library.scan()
    library.move("2.mp3", "1.mp3")  # the first is gone, the others move up
    library.move("3.mp3", "2.mp3")
    library.scan(analyser=Inventor(ahead=ahead))
    library.put("3.mp3", 4)
    after = library.scan(analyser=Inventor(ahead=ahead))
    assert of(after, library, "1.mp3", "2.mp3") == of(before, library, "2.mp3", "3.mp3")
    assert after.ids[library.path("3.mp3")] not in before.ids.values()
    library.put("back.mp3", 1)
    back = library.scan(analyser=Inventor(ahead=ahead))
    assert of(back, library, "back.mp3") == of(before, library, "1.mp3")


# ── What has to be read again ────────────────────────────────────────────────────────────


def test_a_new_version_of_the_descriptors_reads_everything_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [library.put(f"{number}.mp3", number) for number in range(3)]
    bad = library.put("bad.mp3", BAD)
    before = library.scan()
    monkeypatch.setattr(scanning, "VERSION", analysis_version() + 1)
    after = library.scan()
    assert sorted(after.asked) == sorted([*paths, bad])
    assert after.ids == before.ids
    assert after.changes == {"changed": 3}
    assert library.versions() == {analysis_version()}
    assert library.scan().asked == []


@pytest.mark.parametrize("ahead", AHEAD)
def test_a_song_that_moved_is_read_again_under_a_new_version_and_kept(
    library: Library, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    library.put("a.mp3", 1)
    library.put("b.mp3", 2)
    before = library.scan()
    library.move("a.mp3", "z/a.mp3")
    monkeypatch.setattr(scanning, "VERSION", analysis_version() + 1)
    after = library.scan(analyser=Inventor(ahead=ahead))
    assert of(after, library, "z/a.mp3", "b.mp3") == of(before, library, "a.mp3", "b.mp3")
    assert sorted(after.asked) == sorted([library.path("z/a.mp3"), library.path("b.mp3")])
    assert after.counts.found == 2
    assert library.versions() == {analysis_version()}


def test_what_failed_is_read_again_when_asked_for_or_changed(library: Library) -> None:
    library.put("a.mp3", 1)
    bad = library.put("bad.mp3", BAD)
    library.scan()
    assert library.scan().asked == []
    assert library.scan(retry=True).asked == [bad]
    library.put("bad.mp3", 2)
    mended = library.scan()
    assert mended.asked == [bad]
    assert mended.problems == {}
    assert mended.changes == {"added": 1}


@pytest.mark.parametrize("reason", sorted(PASSING))
def test_what_may_have_passed_is_tried_again_although_nothing_shows(
    library: Library, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    """A file that may be read by now has neither another size nor another time."""
    path = library.put("a.mp3", 1)
    with monkeypatch.context() as patched:
        patched.setattr("tests.fakes.analyser.invented", lambda _: reason)
        assert library.scan().problems == {path: reason}
    mended = library.scan()
    assert mended.asked == [path]
    assert mended.changes == {"added": 1}


def test_a_refused_entry_is_recorded_once_and_can_be_mended(library: Library) -> None:
    link = library.folder / "a.mp3"
    link.symlink_to("nowhere.mp3")
    for _ in range(2):
        scanned = library.scan()
        assert scanned.problems == {library.path("a.mp3"): "it is a link that leads nowhere"}
        assert adds_up(scanned.counts)
    link.unlink()
    library.put("a.mp3", 1)
    mended = library.scan()
    assert mended.problems == {}
    assert mended.changes == {"added": 1}


def test_a_song_that_became_something_else_and_returns_is_the_song(library: Library) -> None:
    library.put("a.mp3", 1)
    before = library.scan()
    library.move("a.mp3", "aside")
    os.mkfifo(library.folder / "a.mp3")
    assert library.scan().ids == {}
    (library.folder / "a.mp3").unlink()
    library.move("aside", "a.mp3")
    assert library.scan().ids == before.ids


def test_a_folder_that_can_no_longer_be_listed_keeps_its_songs(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.put("album/a.mp3", 1)
    library.put("b.mp3", 2)
    before = library.scan()
    listed = os.scandir
    locked = library.path("album")

    def scandir(path: Any) -> Any:
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return listed(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", scandir)
        scanned = library.scan()
    assert scanned.missing == set(of(before, library, "album/a.mp3"))
    assert "permission denied" in scanned.problems[locked]
    again = library.scan()
    assert again.asked == []
    assert again.ids == before.ids
    assert again.problems == {}


@pytest.mark.parametrize("seconds", [13_569_465_600, -13_569_465_600])
def test_a_date_centuries_away_stops_nothing(library: Library, seconds: int) -> None:
    path = library.put("a.mp3", 1)
    os.utime(path, ns=(0, seconds * 10**9))
    assert library.scan().changes == {"added": 1}
    assert library.scan().asked == []


# ── Interruptions ────────────────────────────────────────────────────────────────────────


def test_what_was_done_before_an_interruption_is_kept(library: Library) -> None:
    for number in range(100):
        library.put(f"{number:03}.mp3", number)
    with pytest.raises(StopError):
        library.scan(analyser=Inventor(ahead=4, ends_after=70))
    assert len(library.records()) == 70
    rest = library.scan()
    assert len(rest.asked) == 30
    assert len(rest.ids) == 100
    assert (rest.counts.added, rest.counts.unchanged) == (30, 70)


def test_an_interrupted_scan_marks_nothing_as_missing(library: Library) -> None:
    library.put("a.mp3", 1)
    library.put("b.mp3", 2)
    library.scan()
    (library.folder / "a.mp3").unlink()
    library.put("b.mp3", 3)
    with pytest.raises(StopError):
        library.scan(analyser=Inventor(ends_after=0))
    assert not any(record.missing for record in library.records().values())
    assert library.scan().changes == {"changed": 1, "missing": 1}


def test_two_scans_at_once_agree(library: Library) -> None:
    """The second begins when the first has seen all moves and recorded none of them."""
    for number in range(4):
        library.put(f"old/{number}.mp3", number)
    before = library.scan()
    library.move("old", "new")
    library.put("last.mp3", 10)
    between: list[Scanned] = []

    def overtake(counts: ScanCounts) -> None:
        if counts.moved == 4 and not between:
            between.append(library.scan())

    after = library.scan(progress=overtake)
    assert between[0].counts.moved == 4
    assert after.ids == between[0].ids
    assert set(before.ids.values()) < set(after.ids.values())
    assert after.missing == set()


def test_very_many_files_are_recorded_in_portions(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_MAX_SEEN_BATCH", 10)
    for number in range(45):
        library.put(f"old/{number}.mp3", number)
    before = library.scan()
    seen = library.scan()
    assert seen.counts.unchanged == 45
    library.move("old", "new")
    after = library.scan()
    assert after.counts.moved == 45
    assert set(after.ids.values()) == set(before.ids.values())
