"""A backup has what was acknowledged before it, is whole and private, and can be restored (A14)."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from bandstand.errors import (
    BandstandError,
    ConflictError,
    InvalidInputError,
    StoreError,
    StoreLockedError,
    StoreVersionError,
)
from bandstand.store import accounts, app_passwords, scrobble_targets, sessions
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import SqliteLocation, parse_location
from bandstand.store.events import events
from bandstand.store.songs import scans
from bandstand.store.songs.changes import identity
from bandstand.store.transfer.backup import backup, check_backup, restore
from bandstand.store.transfer.jsonl import export_lines
from bandstand.store.transfer.verify import verify
from tests.fixtures.store.postgres_server import PostgresServer
from tests.fixtures.store.rating_process import rated_elsewhere
from tests.fixtures.store.sample_store import NOW, add_life
from tests.store.database.test_serving_lock import served_elsewhere


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


def test_a_backup_has_nothing_that_opens_an_account(store: Store, tmp_path: Path) -> None:
    life = add_life(store)
    with store.writing() as connection:
        scrobble_targets.put(connection, life.ann.id, "https://a.example", "a token of elsewhere")
    backup(store, tmp_path / "copy")
    restore(tmp_path / "copy", parse_location(str(tmp_path / "new.db")))
    with open_store(str(tmp_path / "new.db")) as restored, restored.reading() as connection:
        assert sessions.account_of(connection, life.token, now=NOW) is None
        assert sessions.of(connection, life.ann.id) == []
        assert app_passwords.all_of(connection, life.ann.id) == []
        assert scrobble_targets.all_of(connection, life.ann.id) == []
    for secret in ("Firefox", "Phone", life.secret, "a token of elsewhere"):
        assert secret.encode() not in (tmp_path / "copy").read_bytes()
    assert "a token of elsewhere" not in "".join(export_lines(store))
    with store.reading() as connection:
        assert sessions.account_of(connection, life.token, now=NOW) is not None
        assert app_passwords.of_secret(connection, life.secret) is not None


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


def test_a_backup_writes_over_a_file_only_with_replace(store: Store, tmp_path: Path) -> None:
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
    letter.write_text("Dear Ann, this is no database, and its owner wants to keep it.")
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


@pytest.mark.parametrize("count", [5, pytest.param(100, marks=pytest.mark.long)])
def test_backups_under_load_miss_nothing(place: str, tmp_path: Path, count: int) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
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
            assert acknowledged() > before, "no rating came meanwhile"


# ── What is no whole backup is refused, and the store stays as it is (A14) ────────────


FLIPS = 40


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a backup."""
    with open_store(str(tmp_path / "source.db")) as store:
        add_life(store)
        backup(store, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def live(tmp_path: Path) -> SqliteLocation:
    """Return where a store is in use, in a folder of its own."""
    folder = tmp_path / "live"
    folder.mkdir()
    location = SqliteLocation(path=folder / "radio.db")
    with open_store(location) as store, store.writing() as connection:
        for _ in range(3):
            scans.begin(connection, now=1)
    return location


def make_foreign(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE photos (x)")


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement)


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BAD: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: rewrite(path, lambda it: it[: len(it) * 2 // 3]),
    "truncated by a page": lambda path: rewrite(path, lambda it: it[:-4096]),
    "empty": lambda path: path.write_bytes(b""),
    "foreign": make_foreign,
    "text": lambda path: path.write_text("once upon a time " * 100),
    "newer": lambda path: execute(path, "INSERT INTO schema_version VALUES (999, 'later', 1)"),
    "another letter": lambda path: rewrite(path, lambda it: it.replace(b"Song 3", b"Song 8")),
    "other pages": lambda path: rewrite(path, lambda it: it[:8192] + b"\xa5" * 8192 + it[16384:]),
    "no checksum": lambda path: execute(path, "DROP TABLE backup"),
    "removed": lambda path: path.unlink(),
    "folder": make_folder,
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_backup_changes_nothing(copy: Path, live: SqliteLocation, how: str) -> None:
    BAD[how](copy)
    before = live.path.read_bytes()
    with pytest.raises(BandstandError) as refused:
        restore(copy, live, replace=True)
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert str(copy) in sentence
    assert isinstance(refused.value, StoreVersionError if how == "newer" else InvalidInputError)
    assert live.path.read_bytes() == before
    left = {it.name for it in live.path.parent.iterdir()}
    assert left == {"radio.db", "radio.db.catalogue"}
    with pytest.raises(BandstandError):
        check_backup(copy)


def holds(path: Path, expected: list[str]) -> bool:
    try:
        with open_store(str(path)) as store:
            return list(export_lines(store)) == expected and not verify(store).problems
    except BandstandError:
        return False


def flipped_backups_believed(copy: Path, folder: Path, flips: Iterable[tuple[int, int]]) -> int:
    """Return how many backups of other content were taken for whole, one bit changed in each."""
    content = copy.read_bytes()
    bad, believed = folder / "bad", 0
    with open_store(str(folder / "source.db")) as store:
        expected = list(export_lines(store))
    for place, bit in flips:
        changed = bytearray(content)
        changed[place] ^= 1 << bit
        bad.write_bytes(changed)
        target = folder / "flipped.db"
        try:
            restore(bad, SqliteLocation(path=target))
        except BandstandError:
            continue
        # A byte that means nothing may change; what is there must be what was there.
        believed += not holds(target, expected)
        target.unlink()
    return believed


def flips_in_a_title(copy: Path) -> list[tuple[int, int]]:
    """Return the bits that make another title of a song's, which nothing but a checksum knows."""
    return [(found.end() - 1, 0) for found in re.finditer(b"Song 3", copy.read_bytes())]


def test_one_changed_bit_never_gets_through(copy: Path, tmp_path: Path) -> None:
    draw, size = random.Random(1), copy.stat().st_size
    anywhere = [(draw.randrange(size), draw.randrange(8)) for _ in range(FLIPS)]
    flips = [*anywhere, *flips_in_a_title(copy)]
    assert flipped_backups_believed(copy, tmp_path, flips) == 0


def test_without_the_checksum_some_would_get_through(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.transfer.backup.matches_checksum", lambda _copy: True)
    assert flipped_backups_believed(copy, tmp_path, flips_in_a_title(copy)) > 0


def test_the_backup_itself_is_only_read(copy: Path, live: SqliteLocation) -> None:
    before = copy.read_bytes(), copy.stat().st_mtime_ns
    copy.chmod(0o400)
    restore(copy, live, replace=True)
    check_backup(copy)
    assert (copy.read_bytes(), copy.stat().st_mtime_ns) == before
    restore(copy, live, replace=True)


def test_a_store_is_replaced_on_request_and_kept(copy: Path, live: SqliteLocation) -> None:
    with pytest.raises(ConflictError, match="--replace"):
        restore(copy, live)
    for name in ("before-restore", "before-restore-2", "before-restore-3"):
        kept = restore(copy, live, replace=True)
        assert kept == live.path.with_name(f"radio.db.{name}")
    with open_store(live) as store, store.reading() as connection:
        assert accounts.count(connection) == 2
        assert scans.latest(connection) is not None
    old = live.path.with_name("radio.db.before-restore")
    with open_store(str(old)) as store, store.reading() as connection:
        latest = scans.latest(connection)
        assert latest is not None
        assert latest.number == 3
        assert accounts.count(connection) == 0


def test_what_was_in_the_log_is_kept_with_the_old_store(copy: Path, live: SqliteLocation) -> None:
    """A server that was killed leaves its last ratings beside the file."""
    with closing(sqlite3.connect(live.path)) as killed:
        killed.execute("PRAGMA journal_mode = WAL")
        killed.execute("PRAGMA wal_autocheckpoint = 0")
        killed.execute("UPDATE scan SET found = 77")
        killed.commit()
        log = live.path.with_name("radio.db-wal")
        main, content = live.path.read_bytes(), log.read_bytes()
    live.path.write_bytes(main)
    log.write_bytes(content)
    kept = restore(copy, live, replace=True)
    assert kept is not None
    assert not log.exists()
    with closing(sqlite3.connect(kept)) as old:
        assert old.execute("SELECT max(found) FROM scan").fetchone() == (77,)
    with open_store(live) as store:
        assert verify(store).problems == ()


def test_a_damaged_store_can_be_replaced(copy: Path, live: SqliteLocation) -> None:
    live.path.write_bytes(b"garbage" * 1_000)
    live.path.with_name("radio.db-wal").write_bytes(b"more garbage")
    kept = restore(copy, live, replace=True)
    assert kept is not None
    assert kept.read_bytes() == b"garbage" * 1_000
    assert kept.with_name(f"{kept.name}-wal").read_bytes() == b"more garbage"
    with open_store(live) as store:
        assert verify(store).problems == ()


def test_a_restored_store_is_for_its_owner_only_and_can_be_used(copy: Path, tmp_path: Path) -> None:
    copy.chmod(0o644)
    target = tmp_path / "new.db"
    restore(copy, SqliteLocation(path=target))
    assert target.stat().st_mode & 0o777 == 0o600
    with open_store(str(target)) as restored, restored.writing() as connection:
        assert scans.begin(connection, now=1) == 2


def test_what_was_derived_from_the_old_songs_is_stale(copy: Path, live: SqliteLocation) -> None:
    ids = set()
    for _ in range(2):
        restore(copy, live, replace=True)
        with open_store(live) as store, store.reading() as connection:
            ids.add(identity(connection).id)
    with open_store(str(copy.with_name("source.db"))) as store, store.reading() as connection:
        ids.add(identity(connection).id)
    assert len(ids) == 3


def test_a_store_that_a_server_uses_is_not_replaced(copy: Path, live: SqliteLocation) -> None:
    before = live.path.read_bytes()
    with served_elsewhere(live) as process:
        with pytest.raises(StoreLockedError, match=f"process {process.pid} "):
            restore(copy, live, replace=True)
        assert live.path.read_bytes() == before
    restore(copy, live, replace=True)


def test_a_store_that_any_program_has_open_is_not_replaced(
    copy: Path, live: SqliteLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.transfer.backup.LOCK_SECONDS", 0.1)
    with open_store(live) as store:
        with pytest.raises(StoreLockedError, match="must not be in use"):
            restore(copy, live, replace=True)
        with store.writing() as connection:
            scans.begin(connection, now=1)
    with open_store(live) as store, store.reading() as connection:
        latest = scans.latest(connection)
        assert latest is not None
        assert latest.number == 4


def test_a_store_is_not_restored_from_itself(copy: Path) -> None:
    with pytest.raises(InvalidInputError, match="another file"):
        restore(copy, SqliteLocation(path=copy), replace=True)


def test_a_backup_goes_into_an_empty_postgresql_and_back(
    copy: Path, tmp_path: Path, postgres: PostgresServer
) -> None:
    place = postgres.new_schema()
    assert restore(copy, parse_location(place)) is None
    with pytest.raises(ConflictError, match="must be empty"):
        restore(copy, parse_location(place), replace=True)
    with open_store(place) as store, open_store(str(tmp_path / "source.db")) as source:
        assert list(export_lines(store)) == list(export_lines(source))
        assert verify(store).problems == ()
        backup(store, tmp_path / "second")
        restore(tmp_path / "second", SqliteLocation(path=tmp_path / "again.db"))
        with open_store(str(tmp_path / "again.db")) as again:
            assert list(export_lines(again)) == list(export_lines(source))


@pytest.mark.parametrize("how", ["truncated", "newer", "another letter"])
def test_a_bad_backup_leaves_postgresql(copy: Path, postgres: PostgresServer, how: str) -> None:
    place = postgres.new_schema()
    BAD[how](copy)
    with pytest.raises(BandstandError):
        restore(copy, parse_location(place))
    with open_store(place) as store, store.reading() as connection:
        assert accounts.count(connection) == 0


def test_the_data_of_a_backup_is_in_no_folder_for_all(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    check_backup(copy)
    assert list(folder.iterdir()) == []
