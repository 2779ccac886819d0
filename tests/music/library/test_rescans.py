"""Scanning again: nothing is read twice, songs keep their ids, and nothing is ever lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.music.scan_command import scan_apart, scanned
from tests.fixtures.music.scanned_library import ScannedFolder, song, tagged

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shelf(tmp_path: Path) -> ScannedFolder:
    return ScannedFolder(tmp_path)


def test_a_second_scan_reads_nothing(shelf: ScannedFolder) -> None:
    good, bad = shelf.put("a.wav", song(1)), shelf.put("b.mp3", b"no music")
    first = shelf.scan()
    assert sorted(first.asked) == [good, bad]
    assert first.changes == {"added": 1}
    second = shelf.scan()
    assert second.asked == []
    assert second.changes == {}
    assert second.contents.facts == first.contents.facts


def test_a_file_that_failed_is_read_again_when_asked_for(shelf: ScannedFolder) -> None:
    shelf.put("a.wav", song(1))
    bad = shelf.put("b.mp3", b"no music")
    first = shelf.scan()
    again = shelf.scan(retry=True)
    assert again.asked == [bad]
    assert again.contents.facts == first.contents.facts


@pytest.mark.parametrize("new", ["b.wav", "folder/a.wav", "deep/er/b.wav"])
def test_a_moved_file_keeps_its_song(shelf: ScannedFolder, new: str) -> None:
    old = shelf.put("a.wav", song(1))
    shelf.put("other.wav", song(2))
    before = shelf.scan()
    path = shelf.library / new
    path.parent.mkdir(parents=True, exist_ok=True)
    os.rename(old, path)
    after = shelf.scan()
    assert after.asked == []
    assert after.changes == {"moved": 1}
    assert after.ids[bytes(path)] == before.ids[old]
    assert shelf.scan().changes == {}


def test_a_renamed_folder_keeps_its_songs(shelf: ScannedFolder) -> None:
    old = [shelf.put(f"old/{seed}.wav", song(seed)) for seed in range(5)]
    before = shelf.scan()
    (shelf.library / "old").rename(shelf.library / "new")
    after = shelf.scan()
    assert after.asked == []
    assert after.changes == {"moved": 5}
    new = {path.replace(b"/old/", b"/new/"): before.ids[path] for path in old}
    assert after.ids == new


@pytest.mark.parametrize("together", [True, False])
def test_a_file_moved_to_another_root_keeps_its_song(
    shelf: ScannedFolder, *, together: bool
) -> None:
    old = shelf.put("one/a.wav", song(1))
    shelf.put("one/b.wav", song(2))
    shelf.put("two/c.wav", song(3))
    roots = [shelf.library / "one", shelf.library / "two"]
    before = shelf.scan(*roots)
    new = roots[1] / "a.wav"
    os.rename(old, new)
    after = shelf.scan(*roots) if together else shelf.scan(roots[1])
    assert after.asked == []
    assert after.changes == {"moved": 1}
    assert after.ids[bytes(new)] == before.ids[old]


def test_files_that_change_places_keep_their_songs(shelf: ScannedFolder) -> None:
    paths = [shelf.put(f"{seed}.wav", song(seed)) for seed in range(4)]
    before = shelf.scan()
    _rotate(paths)
    after = shelf.scan()
    assert after.ids == {new: before.ids[old] for old, new in _rotation(paths)}
    assert "added" not in after.changes
    assert shelf.scan().changes == {}


def test_a_file_moved_over_another_keeps_its_song_and_the_other_is_missing(
    shelf: ScannedFolder,
) -> None:
    one, two = shelf.put("1.wav", song(1)), shelf.put("2.wav", song(2))
    before = shelf.scan()
    os.rename(two, one)
    after = shelf.scan()
    assert after.ids == {one: before.ids[two]}
    assert set(after.contents.missing.values()) == {before.ids[one]}
    # … and comes back as the song it was, wherever it turns up.
    back = shelf.put("3.wav", song(1))
    assert shelf.scan().ids == {one: before.ids[two], back: before.ids[one]}


def test_a_copy_is_a_song_of_its_own(shelf: ScannedFolder) -> None:
    one = shelf.put("1.wav", song(1))
    before = shelf.scan()
    two = shelf.put("2.wav", song(1))
    after = shelf.scan()
    assert after.ids[one] == before.ids[one]
    assert after.ids[two] != after.ids[one]
    assert after.changes == {"added": 1}


def test_a_file_with_new_tags_keeps_its_song(shelf: ScannedFolder) -> None:
    path = shelf.put("a.mp3", tagged(1, "Before"))
    before = shelf.scan()
    shelf.put("a.mp3", tagged(1, "After"))
    after = shelf.scan()
    assert after.asked == [path]
    assert after.changes == {"changed": 1}
    assert after.ids == before.ids
    assert before.contents.songs[path].tags.title == "Before"
    assert after.contents.songs[path].tags.title == "After"


def test_a_replaced_file_keeps_its_song_and_is_described_anew(shelf: ScannedFolder) -> None:
    path = shelf.put("a.wav", song(1))
    before = shelf.scan()
    shelf.put("a.wav", song(2))
    after = shelf.scan()
    assert after.changes == {"changed": 1}
    assert after.ids == before.ids
    assert after.contents.facts != before.contents.facts
    fresh = ScannedFolder(_made(shelf.library.parent / "fresh"))
    same = fresh.put("a.wav", song(2))
    expected = fresh.scan().contents
    assert (
        after.contents.descriptors[after.ids[path]].tobytes()
        == expected.descriptors[expected.ids[same]].tobytes()
    )


def test_a_touched_file_is_read_again_and_has_not_changed(shelf: ScannedFolder) -> None:
    path = shelf.put("a.wav", song(1))
    before = shelf.scan()
    shelf.put("a.wav", song(1))
    after = shelf.scan()
    assert after.asked == [path]
    assert after.changes == {}
    assert after.contents.facts == before.contents.facts
    assert shelf.scan().asked == []


def test_a_file_that_breaks_and_is_mended_keeps_its_song(shelf: ScannedFolder) -> None:
    path = shelf.put("a.wav", song(1))
    before = shelf.scan()
    shelf.put("a.wav", b"broken")
    broken = shelf.scan()
    assert path in broken.contents.problems
    assert path not in broken.ids
    shelf.put("a.wav", song(1))
    assert shelf.scan().ids == before.ids


def test_a_library_that_disappears_is_kept_and_returns_unread(shelf: ScannedFolder) -> None:
    paths = [shelf.put(f"{seed}.wav", song(seed)) for seed in range(3)]
    bad = shelf.put("bad.mp3", b"no music")
    before = shelf.scan()
    away = shelf.library.rename(shelf.library.with_name("away"))
    shelf.library.mkdir()
    gone = shelf.scan()
    assert gone.changes == {"missing": 3}
    assert gone.ids == {}
    assert gone.contents.known == before.contents.known
    assert shelf.scan().changes == {}
    shelf.library.rmdir()
    away.rename(shelf.library)
    back = shelf.scan()
    assert set(back.asked) <= {bad}
    assert back.contents.facts == before.contents.facts
    assert sorted(back.ids) == paths


def test_the_command_keeps_a_library_that_disappears(shelf: ScannedFolder) -> None:
    shelf.put("1.wav", song(1))
    shelf.put("2.wav", song(2))
    assert scanned(shelf.library, store=shelf.store)["added"] == 2
    away = shelf.library.rename(shelf.library.with_name("away"))
    shelf.library.mkdir()
    outcome = scan_apart(shelf.library, store=shelf.store, options=())
    assert outcome.code == 0
    assert "missing" in outcome.err + outcome.out
    assert "Traceback" not in outcome.err
    shelf.library.rmdir()
    away.rename(shelf.library)
    report = scanned(shelf.library, store=shelf.store)
    assert (report["added"], report["changed"], report["songs"]) == (0, 0, 2)


def _rotation(paths: list[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(paths, [*paths[1:], paths[0]], strict=True))


def _rotate(paths: list[bytes]) -> None:
    """Give each file the name of the next one."""
    for old, _ in _rotation(paths):
        os.rename(old, old + b".aside")
    for old, new in _rotation(paths):
        os.rename(old + b".aside", new)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
