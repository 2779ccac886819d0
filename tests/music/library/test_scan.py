"""Scans of a library of invented songs; with real sound see test_rescans.py."""

import os
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from bandstand.music.library import scan as scanning
from bandstand.music.library.content import PASSING
from bandstand.store.songs.scans import ScanCounts
from tests.fakes.analyser import (
    BAD,
    Inventor,
    Library,
    Scanned,
    StopError,
    analysis_version,
)
from tests.fixtures.music.scanned_library import fingerprint_of


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


def test_every_file_is_counted_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_MAX_SEEN_BATCH", 10)
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


# ── Identity follows the content ─────────────────────────────────────────────────────────


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


@pytest.mark.parametrize("more", [11, 500])  # as large as a song, and larger
def test_a_song_that_comes_back_after_it_broke_is_the_song(library: Library, more: int) -> None:
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


# ── What has to be read again ────────────────────────────────────────────────────────────


def test_a_new_version_of_the_descriptors_reads_everything_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [library.put(f"{number}.mp3", number) for number in range(3)]
    bad = library.put("bad.mp3", BAD)
    before = library.scan()
    library.move("0.mp3", "z/0.mp3")
    paths[0] = library.path("z/0.mp3")
    monkeypatch.setattr(scanning, "VERSION", analysis_version() + 1)
    after = library.scan()
    assert sorted(after.asked) == sorted([*paths, bad])
    assert set(after.ids.values()) == set(before.ids.values())
    assert after.changes == {"changed": 3, "moved": 1}
    assert library.versions() == {analysis_version()}
    assert library.scan().asked == []


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


# ── Interruptions ────────────────────────────────────────────────────────────────────────


# ── Whatever happens between scans ───────────────────────────────────────────────────────


names = st.sampled_from(
    [f"{folder}{name}.mp3" for folder in ("", "a/", "z/") for name in ("1", "2", "3")]
)
# Few, so that songs meet again; the last two are of another size.
contents = st.sampled_from([1, 2, 3, 4, b"longer than the others", b"short"])
bad = st.sampled_from([BAD + bytes(11), BAD])


class Changes(RuleBasedStateMachine):
    """A library that is changed in every way, and scanned now and then, with interruptions."""

    def __init__(self) -> None:
        super().__init__()
        self._place = TemporaryDirectory()
        self.folder = Path(self._place.name).resolve()
        self.library = Library(self.folder)
        self._fresh = count(100)  # songs that are new
        self._small_portions = pytest.MonkeyPatch()
        # So that what can be recorded too early is recorded too early.
        self._small_portions.setattr(scanning, "_MAX_BATCH", 1)

    def teardown(self) -> None:
        self._small_portions.undo()
        self._place.cleanup()

    @initialize(files=st.dictionaries(names, contents, min_size=3))
    def begin(self, files: dict[str, bytes | int]) -> None:
        for name, content in files.items():
            self.library.put(name, content)
        self.before = self.library.scan()

    # ── What happens to files ────────────────────────────────────────────────────────────

    @rule(name=names, content=contents | bad)
    def write(self, name: str, content: bytes | int) -> None:
        self.library.put(name, content)

    @precondition(lambda self: self.there)
    @rule(data=st.data(), new=names)
    def move(self, data: st.DataObject, new: str) -> None:
        self.library.move(data.draw(st.sampled_from(self.there)), new)

    @precondition(lambda self: self.there)
    @rule(data=st.data(), new=names, is_fresh=st.booleans(), content=contents)
    def replace(
        self, data: st.DataObject, new: str, content: bytes | int, *, is_fresh: bool
    ) -> None:
        """Move a file, and put another one in its place."""
        old = data.draw(st.sampled_from(self.there))
        self.library.move(old, new)
        self.library.put(old, next(self._fresh) if is_fresh else content)

    @precondition(lambda self: self.there)
    @rule(data=st.data(), new=names)
    def copy(self, data: st.DataObject, new: str) -> None:
        old = self.library.folder / data.draw(st.sampled_from(self.there))
        self.library.put(new, old.read_bytes())

    @precondition(lambda self: len(self.there) > 1)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        one, two = data.draw(
            st.lists(st.sampled_from(self.there), min_size=2, max_size=2, unique=True)
        )
        self.library.swap(one, two)

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        (self.library.folder / data.draw(st.sampled_from(self.there))).unlink()

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def touch(self, data: st.DataObject) -> None:
        self.library.touch(data.draw(st.sampled_from(self.there)))

    @precondition(lambda self: (self.library.folder / "a").is_dir())
    @rule()
    def swap_folders(self) -> None:
        (self.library.folder / "z").mkdir(exist_ok=True)
        self.library.swap("a", "z")

    # ── What a scan makes of it ──────────────────────────────────────────────────────────

    @rule(ahead=st.sampled_from([1, 2, 100]))
    def scan(self, ahead: int) -> None:
        self.scan_with_interruptions(ahead, [])

    @rule(ahead=st.sampled_from([1, 100]), ends=st.lists(st.integers(0, 3), min_size=1, max_size=2))
    def scan_with_interruptions(self, ahead: int, ends: list[int]) -> None:
        twin = self.library.twin(self.folder / "twin.db")
        for ends_after in ends:
            with suppress(StopError):
                twin.scan(analyser=Inventor(ahead=ahead, ends_after=ends_after))
        interrupted = twin.scan(analyser=Inventor(ahead=ahead))
        after = self.library.scan()
        assert (interrupted.ids, interrupted.missing) == (after.ids, after.missing)
        self._check_store(after)
        self._check_identity(after)
        again = self.library.scan()
        assert (again.asked, again.changes, again.ids) == ([], {}, after.ids)
        self.before = again

    def _check_store(self, after: Scanned) -> None:
        """Check that the store knows exactly what is on the disk, and has lost nothing."""
        disk = self.disk
        good = {path for path, content in disk.items() if not content.startswith(BAD)}
        assert set(after.ids) == good
        assert set(after.problems) == set(disk) - good
        for path in good:
            assert after.records[path].fingerprint == fingerprint_of(path)
        known = {it.song_id for it in self.before.records.values()}
        assert known <= {it.song_id for it in after.records.values()} | {None}

    def _check_identity(self, after: Scanned) -> None:
        """Check that a song is where its content is, or else where it was."""
        disk = {path: fingerprint_of(path) for path in self.disk}
        for path, song in self.before.ids.items():
            if disk.get(path) == self.before.records[path].fingerprint:
                assert after.ids[path] == song
        on_disk = Counter(disk.values())
        songs = [it for it in self.before.records.values() if it.song_id and not it.problem]
        known = Counter(it.fingerprint for it in songs)
        place_of = {it.fingerprint: it.song_id for it in songs}
        for path, mark in disk.items():
            if on_disk[mark] == known[mark] == 1:
                assert after.ids[path] == place_of[mark]
        for path, song in self.before.ids.items():
            has_unknown_content = path in after.ids and disk[path] not in known
            if has_unknown_content and self.before.records[path].fingerprint not in on_disk:
                assert after.ids[path] == song

    @property
    def there(self) -> list[str]:
        """The names of all files on the disk."""
        files = sorted(path for path in self.library.folder.rglob("*") if path.is_file())
        return [str(path.relative_to(self.library.folder)) for path in files]

    @property
    def disk(self) -> dict[bytes, bytes]:
        """What is in all files on the disk."""
        return {
            self.library.path(name): (self.library.folder / name).read_bytes()
            for name in self.there
        }


@pytest.mark.parametrize(
    ("examples", "steps"), [(8, 15), pytest.param(100, 25, marks=pytest.mark.long)]
)
def test_after_any_changes_the_store_is_right_and_identity_follows_content(
    examples: int, steps: int
) -> None:
    drawn = settings(max_examples=examples, stateful_step_count=steps)
    run_state_machine_as_test(Changes, settings=drawn)


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
