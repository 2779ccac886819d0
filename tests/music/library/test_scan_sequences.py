"""Whatever happens to a library between scans: the store is right, and identity follows content."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

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
from bandstand.music.library.content import fingerprint
from tests.fakes.analyser import BAD, Inventor, Library, StopError

if TYPE_CHECKING:
    from tests.fakes.analyser import Scanned

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
            assert after.records[path].fingerprint == _fingerprint(path)
        known = {it.song_id for it in self.before.records.values()}
        assert known <= {it.song_id for it in after.records.values()} | {None}

    def _check_identity(self, after: Scanned) -> None:
        """Check that a song is where its content is, or else where it was."""
        disk = {path: _fingerprint(path) for path in self.disk}
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


def _fingerprint(path: bytes) -> str:
    with open(path, "rb") as file:
        return fingerprint(file)


def test_after_any_changes_the_store_is_right_and_identity_follows_content() -> None:
    run_state_machine_as_test(Changes, settings=settings(max_examples=10, stateful_step_count=15))


@pytest.mark.long
def test_after_very_many_changes_the_store_is_right() -> None:
    run_state_machine_as_test(Changes, settings=settings(max_examples=100, stateful_step_count=25))
