"""A store of every released version is brought up without losing a row (A13)."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Dialect, Inspector, UniqueConstraint, func, inspect, select, text
from sqlalchemy.types import TypeEngine

from bandstand.errors import StoreError, StoreVersionError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.migrations import MIGRATIONS, Migration
from bandstand.store.database.schema import METADATA, SCHEMA_VERSION
from bandstand.store.database.sqlite_file import OPENING_TABLES, copy_place
from bandstand.store.transfer.backup import check_backup, restore
from bandstand.store.transfer.verify import verify
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.cli.run_command import environment
from tests.fixtures.store.kill_migrations import LAST, RELEASED, ROWS
from tests.fixtures.store.released_stores import load, released, rows

KILLER = "tests.fixtures.store.kill_migrations"
# How many tables the released versions before the newest have.
TABLES = {0: 0, 1: 6, 2: 13, 3: 17, 4: 18, 5: 19}


def tables_of(store: Store) -> set[str]:
    with store.reading() as connection:
        return set(inspect(connection).get_table_names())


def broken_step(connection: Connection, *, now: int) -> None:
    connection.execute(text(f"CREATE TABLE half (x INTEGER DEFAULT {now})"))
    connection.execute(text("DROP TABLE projection"))
    connection.execute(text("SELECT * FROM nowhere"))


def fine_step(connection: Connection, *, now: int) -> None:
    connection.execute(text(f"CREATE TABLE fine (x INTEGER DEFAULT {now})"))


def test_each_step_has_its_record(store: Store) -> None:
    with store.reading() as connection:
        rows = connection.execute(select(SCHEMA_VERSION).order_by(SCHEMA_VERSION.c.version)).all()
    assert [tuple(row) for row in rows] == [(step.version, step.name, 1_000) for step in MIGRATIONS]
    assert [step.version for step in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_the_tables_are_those_that_the_queries_know(store: Store) -> None:
    assert tables_of(store) == set(METADATA.tables)
    with store.reading() as connection:
        inspector = inspect(connection)
        for name in METADATA.tables:
            assert described(inspector, name) == expected(connection, name)


def kind(type_: TypeEngine[Any], dialect: Dialect) -> str:
    """Return what a column holds, in one word for both databases."""
    name = type_.compile(dialect=dialect).partition(" COLLATE")[0]
    # SQLite has one kind of real number, of 64 bits, and calls it so.
    return "DOUBLE PRECISION" if name == "REAL" and dialect.name == "sqlite" else name


def described(inspector: Inspector, table: str) -> dict[str, object]:
    """Return what a database says of a table."""
    return {
        "columns": {
            column["name"]: (kind(column["type"], inspector.dialect), column["nullable"])
            for column in inspector.get_columns(table)
        },
        "key": inspector.get_pk_constraint(table)["constrained_columns"],
        "indexes": {
            index["name"]: (index["column_names"], bool(index["unique"]))
            for index in inspector.get_indexes(table)
            if str(index["name"]).startswith("ix_")
        },
        "unique": sorted(it["column_names"] for it in inspector.get_unique_constraints(table)),
        "refers": sorted(
            (it["constrained_columns"], it["referred_table"], it["referred_columns"])
            for it in inspector.get_foreign_keys(table)
        ),
    }


def expected(connection: Connection, name: str) -> dict[str, object]:
    """Return what `schema` says of a table."""
    table = METADATA.tables[name]
    return {
        "columns": {
            column.name: (kind(column.type, connection.dialect), bool(column.nullable))
            for column in table.columns
        },
        "key": [column.name for column in table.primary_key],
        "indexes": {
            index.name: ([column.name for column in index.columns], index.unique)
            for index in table.indexes
        },
        "unique": sorted(
            [column.name for column in constraint.columns]
            for constraint in table.constraints
            if isinstance(constraint, UniqueConstraint)
        ),
        "refers": sorted(
            (key.column_keys, key.referred_table.name, [it.column.name for it in key.elements])
            for key in table.foreign_key_constraints
        ),
    }


def test_a_step_that_fails_leaves_the_version_before_it(place: str) -> None:
    fine = Migration(version=RELEASED + 1, name="fine", apply=fine_step)
    broken = Migration(version=RELEASED + 2, name="broken", apply=broken_step)
    with pytest.raises(StoreError, match="nowhere"):
        open_store(place, steps=(*MIGRATIONS, fine, broken))
    with open_store(place, steps=(*MIGRATIONS, fine)) as store:
        assert tables_of(store) == {*METADATA.tables, "fine"}
        with store.reading() as connection:
            assert connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) == RELEASED + 1


def kill_while_migrating(place: str, count: int, seed: int) -> list[int]:
    """Return the versions that were left by the kills, each checked to be whole."""
    done = subprocess.run(
        [sys.executable, "-m", KILLER, "kill", place, str(count), str(seed)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE + 10 * count,
    )
    assert done.returncode == 0, done.stderr
    states = [json.loads(line) for line in done.stdout.splitlines()]
    for state in states:
        version = state["version"]
        extra = {f"extra_{made}": ROWS for made in range(RELEASED + 1, version + 1)}
        assert state["rows"] == extra
        assert state["tables"] == TABLES.get(version, len(METADATA.tables)) + len(extra)
        assert state["ends"] == LAST
    assert len(states) > count
    return [state["version"] for state in states]


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.long)])
def test_a_kill_in_a_migration_leaves_one_version_or_the_next(place: str, kills: int) -> None:
    versions = kill_while_migrating(place, kills, seed=1)
    assert set(versions) >= set(range(LAST))


def test_processes_that_open_a_new_store_at_once_share_it(place: str) -> None:
    command = [sys.executable, "-m", KILLER, "open", place]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    answers = []
    with ExitStack() as running:
        processes = [
            running.enter_context(started(command, env=environment(), text=True, **pipes))
            for _ in range(3)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            out, err = process.communicate()
            assert process.returncode == 0, err
            answers.append(out)
    assert len(set(answers)) == 1
    assert len(answers[0].strip()) == 32


NEWEST = MIGRATIONS[-1].version


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
    before |= {table: [] for table in OPENING_TABLES if table in before}
    assert kept == before
    assert check_backup(copy)["song"] == 3
    restore(copy, SqliteLocation(path=path), replace=True)
    assert version_of(path) == version
    restored = rows(path)
    del restored["store"], before["store"]  # it has another id
    assert restored == before


def test_a_store_without_a_copy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    first, *others = paths
    subprocess.run(
        [sys.executable, "-m", KILLER, "upgrade", first, str(seed), *others],
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


@pytest.mark.parametrize("kills", [16, pytest.param(100, marks=pytest.mark.long)])
def test_a_kill_in_an_upgrade_leaves_one_version_or_the_next(tmp_path: Path, kills: int) -> None:
    left = kill_while_upgrading(tmp_path, kills, seed=1)
    assert {1, NEWEST} <= set(left) <= set(range(1, NEWEST + 1))
