"""A store of every released version is brought up without losing a row (A13)."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import StoreError, StoreVersionError
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.migrations import MIGRATIONS
from bandstand.store.database.sqlite_file import copy_place
from bandstand.store.transfer.backup import check_backup, restore
from bandstand.store.transfer.verify import verify
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.store.released_stores import load, released, rows

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = MIGRATIONS[-1].version
KILLS = 25


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT max(version) FROM schema_version").fetchone()[0])


def test_every_version_before_this_one_is_kept() -> None:
    assert set(released()) >= set(range(1, NEWEST))


@pytest.mark.parametrize("version", released())
def test_an_old_store_keeps_every_row(tmp_path: Path, version: int) -> None:
    path = tmp_path / "radio.db"
    load(version, path)
    before = rows(path)
    assert len(before["song"]) == 3
    with open_store(str(path)) as store:
        assert verify(store).problems == ()
    after = rows(path)
    assert len(after.pop("schema_version")) == NEWEST
    before.pop("schema_version")
    assert {table: after[table] for table in before} == before


@pytest.mark.parametrize("version", [it for it in released() if it < NEWEST])
def test_an_old_store_is_copied_before_it_is_changed(tmp_path: Path, version: int) -> None:
    path = tmp_path / "radio.db"
    load(version, path)
    before = rows(path)
    open_store(str(path)).close()
    copy = copy_place(path, version)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert {it.name for it in tmp_path.iterdir()} == {"radio.db", copy.name}
    kept = rows(copy)
    del kept["backup"]
    assert kept == before
    assert check_backup(copy)["song"] == 3
    restore(copy, SqliteLocation(path=path), replace=True)
    assert version_of(path) == version
    restored = rows(path)
    del restored["store"], before["store"]  # it has another id
    assert restored == before


def test_a_new_store_and_one_of_today_are_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    for _ in range(2):
        open_store(str(path)).close()
    assert [it.name for it in tmp_path.iterdir()] == ["radio.db"]


def test_a_store_that_cannot_be_copied_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "radio.db"
    load(1, path)
    before = rows(path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bandstand.store.database.sqlite_file.copy_sqlite", full)
    with pytest.raises(StoreError, match="No space left on device"):
        open_store(str(path))
    assert rows(path) == before
    assert {it.name for it in tmp_path.iterdir()} <= {"radio.db", "radio.db-wal", "radio.db-shm"}


def test_an_older_program_refuses_a_newer_store_and_leaves_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "radio.db"
    load(1, path)
    open_store(str(path)).close()
    before = rows(path)
    with pytest.raises(StoreVersionError, match="made by a newer Bandstand"):
        open_store(str(path), steps=MIGRATIONS[:1])
    assert rows(path) == before


def kill_while_upgrading(folder: Path, count: int, seed: int) -> list[int]:
    """Return the versions that kills left, each store checked to be whole and then brought up."""
    paths = [folder / f"radio {number}.db" for number in range(count + 1)]
    for path in paths:
        load(1, path)
    before = rows(paths[0])
    subprocess.run(
        [sys.executable, "-m", "tests.fixtures.store.kill_upgrades", str(seed), *paths],
        env=environment(),
        check=True,
        timeout=PATIENCE + 10 * count,
    )
    left = [version_of(path) for path in paths]
    for path in paths:
        check_whole(path, before)
    return left


def check_whole(path: Path, before: dict[str, list[tuple[object, ...]]]) -> None:
    """Check that a store that was left is of one version, and can be brought up."""
    copy = copy_place(path, 1)
    if copy.exists():
        assert check_backup(copy)["song"] == 3
    assert version_of(path) == 1 or copy.exists()
    with open_store(str(path)) as store:
        assert verify(store).problems == ()
    after = rows(path)
    assert {table: after[table] for table in before if table != "schema_version"} == {
        table: before[table] for table in before if table != "schema_version"
    }


def test_a_kill_while_a_store_is_brought_up_leaves_one_version_or_the_next(tmp_path: Path) -> None:
    left = kill_while_upgrading(tmp_path, KILLS, seed=1)
    assert {1, NEWEST} <= set(left) <= set(range(1, NEWEST + 1))


@pytest.mark.long
def test_a_hundred_kills_while_stores_are_brought_up(tmp_path: Path) -> None:
    left = kill_while_upgrading(tmp_path, 100, seed=2)
    assert {1, NEWEST} <= set(left) <= set(range(1, NEWEST + 1))
