"""A backup has what was acknowledged before it, is whole, and is nobody else's business (A14)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import ConflictError, InvalidInputError, StoreError
from bandstand.store import accounts, sessions
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import parse_location
from bandstand.store.events import events
from bandstand.store.transfer.backup import backup, check_backup, restore
from bandstand.store.transfer.jsonl import export_lines
from bandstand.store.transfer.verify import verify
from tests.fixtures.store.rating_process import rated_elsewhere
from tests.fixtures.store.sample_store import NOW, add_life

if TYPE_CHECKING:
    from pathlib import Path


def test_a_backup_restored_is_the_same_store(store: Store, tmp_path: Path) -> None:
    life = add_life(store)
    backup(store, tmp_path / "copy")
    assert restore(tmp_path / "copy", parse_location(str(tmp_path / "new.db"))) is None
    with open_store(str(tmp_path / "new.db")) as restored:
        assert list(export_lines(restored)) == list(export_lines(store))
        assert verify(restored).problems == ()
        with restored.reading() as connection:
            # What an export does not have.
            assert accounts.password_hash(connection, life.ann.id) == "argon2id-of-Ann"
            found = accounts.get(connection, life.ann.id)
            assert found is not None
            assert found.is_working_admin


def test_nobody_is_logged_in_in_a_backup(store: Store, tmp_path: Path) -> None:
    life = add_life(store)
    backup(store, tmp_path / "copy")
    restore(tmp_path / "copy", parse_location(str(tmp_path / "new.db")))
    with open_store(str(tmp_path / "new.db")) as restored, restored.reading() as connection:
        assert sessions.account_of(connection, life.token, now=NOW) is None
        assert sessions.of(connection, life.ann.id) == []
    assert b"Firefox" not in (tmp_path / "copy").read_bytes()
    with store.reading() as connection:
        assert sessions.account_of(connection, life.token, now=NOW) is not None


def test_a_backup_is_one_file_for_its_owner_only(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    add_life(store)
    backup(store, folder / "copy")
    assert [it.name for it in folder.iterdir()] == ["copy"]
    assert (folder / "copy").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(folder / "copy")) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_an_empty_store_can_be_backed_up(store: Store, tmp_path: Path) -> None:
    backup(store, tmp_path / "copy")
    assert set(check_backup(tmp_path / "copy").values()) == {0}


def test_a_backup_does_not_write_over_a_file_unless_told(store: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy"
    backup(store, target)
    before = target.read_bytes()
    add_life(store)
    with pytest.raises(ConflictError, match="which exists"):
        backup(store, target)
    assert target.read_bytes() == before
    backup(store, target, replace=True)
    assert check_backup(target)["account"] == 2


def test_a_backup_writes_over_backups_only(store: Store, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ann, this is no database, and somebody wants to keep it.")
    with pytest.raises(StoreError, match="no database"):
        backup(store, letter, replace=True)
    for odd in (tmp_path, tmp_path / "nowhere" / "copy"):
        with pytest.raises(InvalidInputError, match="a backup must"):
            backup(store, odd, replace=True)
    assert letter.read_text().startswith("Dear Ann")


def test_a_store_is_not_its_own_backup(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    (tmp_path / "link").symlink_to(path)
    with open_store(str(path)) as store:
        for name in ("radio.db", "link"):
            with pytest.raises(InvalidInputError, match="another file than its store"):
                backup(store, tmp_path / name, replace=True)


def test_a_backup_that_fails_leaves_nothing(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    target = folder / ("x" * 300)
    with pytest.raises(StoreError, match="cannot be written"):
        backup(store, target)
    assert list(folder.iterdir()) == []


def test_a_damaged_store_is_not_copied_as_if_it_were_sound(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    with open_store(str(path)) as store:
        add_life(store)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA foreign_keys = OFF")
        other.execute("DELETE FROM song")
        other.commit()
    with open_store(str(path)) as store, pytest.raises(StoreError, match="must be sound"):
        backup(store, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def check_backups_under_load(place: str, folder: Path, count: int) -> None:
    """Back up and restore while another process rates; each has what was acknowledged before."""
    with open_store(place) as store:
        life = add_life(store)
        with rated_elsewhere(place, life.bob.id, life.songs[0]) as acknowledged:
            for number in range(count):
                before = acknowledged()
                backup(store, folder / f"copy {number}")
                new = str(folder / f"new {number}.db")
                restore(folder / f"copy {number}", parse_location(new))
                with open_store(new) as restored:
                    assert verify(restored).problems == ()
                    with restored.reading() as connection:
                        kept = events.end(connection, life.bob.id).seq
                assert kept >= before > 20
                for it in folder.glob(f"* {number}*"):
                    if it.is_file():
                        it.unlink()
            assert acknowledged() > before, "nobody rated meanwhile"


def test_a_backup_under_load_has_what_was_acknowledged(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    check_backups_under_load(place, folder, 5)


@pytest.mark.long
def test_a_hundred_backups_under_load_have_what_was_acknowledged(
    place: str, tmp_path: Path
) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    check_backups_under_load(place, folder, 100)
