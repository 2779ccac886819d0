"""A SQLite file as a store: made, opened again, refused."""

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from bandstand.errors import StoreError, StoreVersionError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.migrations import MIGRATIONS, Migration
from bandstand.store.database.sqlite_file import sqlite_warning
from bandstand.store.songs import scans
from bandstand.store.songs.changes import identity


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "radio.db"


def refusal(path: Path) -> str:
    """Return the one sentence with which a store is refused."""
    with pytest.raises(StoreError) as refused:
        open_store(str(path))
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert str(path) in sentence
    return sentence


def test_a_new_store_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "radio.db"
    old_mask = os.umask(0)
    try:
        with open_store(str(path)) as store, store.writing() as connection:
            scans.begin(connection, now=1)
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == ["radio.db", "radio.db-shm", "radio.db-wal"]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    finally:
        os.umask(old_mask)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    # One file is left when it is closed.
    assert [file.name for file in path.parent.iterdir()] == ["radio.db"]


def test_an_existing_folder_and_file_keep_their_permissions(path: Path) -> None:
    path.parent.chmod(0o755)
    path.touch(0o640)
    path.chmod(0o640)
    open_store(str(path)).close()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_store_is_the_same_when_it_is_opened_again(place: str) -> None:
    with open_store(place, now=5) as store, store.reading() as connection:
        first = identity(connection)
    with open_store(place, now=6) as store, store.reading() as connection:
        assert identity(connection) == first
    assert first.created_at == 5
    assert len(first.id) == 32


def test_the_writer_is_careful_and_alone_moves_the_log(store_file: Store) -> None:
    def value(connection: Connection, pragma: str) -> object:
        return connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one()

    with store_file.writing() as writer, store_file.reading() as reader:
        assert value(writer, "synchronous") == 2
        assert value(writer, "foreign_keys") == 1
        assert value(writer, "busy_timeout") == 5_000
        assert value(writer, "wal_autocheckpoint") == 1_000
        assert value(reader, "wal_autocheckpoint") == 0
        assert value(reader, "query_only") == 1


@pytest.fixture
def store_file(path: Path) -> Iterator[Store]:
    with open_store(str(path)) as store:
        yield store


@pytest.mark.parametrize("content", [b"x", b"hello\n" * 1_000, bytes(5_000), b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert "is no SQLite database" in refusal(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (x)",
        "CREATE TABLE schema_version (version)",
        "CREATE VIEW v AS SELECT 1",
        "PRAGMA application_id = 7",
    ],
)
def test_another_programs_database_is_refused_and_left_alone(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    before = path.read_bytes()
    assert "must be a Bandstand store, got another program's database" in refusal(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_newer_store_is_refused_and_left_alone(place: str, tmp_path: Path) -> None:
    known = MIGRATIONS[-1].version
    newer = Migration(version=known + 1, name="from the future", apply=_add_a_table)
    open_store(place, steps=(*MIGRATIONS, newer)).close()
    before = [file.read_bytes() for file in tmp_path.iterdir()]
    message = f"of version {known} or older, got version {known + 1}"
    with pytest.raises(StoreVersionError, match=message) as refused:
        open_store(place)
    assert "made by a newer Bandstand" in str(refused.value)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == before
    open_store(place, steps=(*MIGRATIONS, newer)).close()


def _add_a_table(connection: Connection, *, now: int) -> None:
    connection.exec_driver_sql(f"CREATE TABLE future (x INTEGER DEFAULT {now})")


def test_what_is_no_file_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would be to wait
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    for name, words in (
        ("", "must be a file, got a folder"),
        ("pipe", "must be a file, got something else"),
        ("link", "cannot be opened: No such file"),
        ("file/radio.db", "cannot be opened: Not a directory"),
        ("x" * 300, "cannot be opened: File name too long"),
    ):
        assert words in refusal(tmp_path / name)


@pytest.mark.parametrize(("kept", "rest"), [(4_096, b"\xff"), (5_000, b"")])
def test_a_store_that_is_damaged_or_cut_is_refused(path: Path, kept: int, rest: bytes) -> None:
    open_store(str(path)).close()
    content = path.read_bytes()
    path.write_bytes(content[:kept] + rest * (len(content) - kept))
    assert "is damaged" in refusal(path)


def test_a_folder_that_may_not_be_written_is_refused() -> None:
    with public_folder() as folder:
        folder.chmod(0o500)
        with nobody_special():
            assert "cannot be opened: Permission denied" in refusal(folder / "radio.db")
            assert "cannot be opened: Permission denied" in refusal(folder / "new" / "radio.db")
        assert list(folder.iterdir()) == []


def test_a_file_that_may_not_be_read_is_refused() -> None:
    with public_folder() as folder:
        path = folder / "radio.db"
        with nobody_special():
            open_store(str(path)).close()
            path.chmod(0)
            assert "may not be read or written" in refusal(path)
        folder.chmod(0)
        with nobody_special():
            assert "cannot be opened: Permission denied" in refusal(path)


def test_a_file_that_may_only_be_read_refuses_to_be_written() -> None:
    with public_folder() as folder, nobody_special():
        path = folder / "radio.db"
        open_store(str(path)).close()
        path.chmod(0o400)
        with (
            pytest.raises(StoreError, match="the file or its folder is read-only"),
            open_store(str(path)) as store,
            store.writing() as connection,
        ):
            scans.begin(connection, now=1)


def test_a_store_that_is_closed_says_so(place: str) -> None:
    store = open_store(place)
    store.close()
    store.close()
    for block in (store.reading, store.writing):
        with pytest.raises(StoreError, match="must be open, got a closed one"), block():
            pass


@pytest.mark.parametrize("name", ["a b%20?x#.db", "\udcff.db", "é\n.db", ":memory:", "-rf"])
def test_every_name_is_a_name_for_a_store(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with open_store(str(path)) as store, store.writing() as connection:
        scans.begin(connection, now=1)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_versions_with_the_bug_are_warned_of_and_others_are_not() -> None:
    for version in ("3.51.3", "3.51.10", "3.52.0", "4.0.0", "3.50.7", "3.44.6"):
        assert sqlite_warning(version) is None
    for version in ("3.40.1", "3.51.2", "3.50.6", "3.50.0", "3.44.5", "3.45.1", "3.49.9", "3.7"):
        assert f"SQLite {version} " in (sqlite_warning(version) or "")


NOBODY = 65_534


@contextmanager
def nobody_special() -> Iterator[None]:
    """Let the block run without root's powers."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def public_folder() -> Iterator[Path]:
    """Give a folder that such a person can reach, which pytest's own are not, and owns."""
    folder = Path(tempfile.mkdtemp(prefix="bandstand-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    try:
        yield folder
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)
