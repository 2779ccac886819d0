from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Inspector, UniqueConstraint, func, inspect, select, text

from bandstand.errors import StoreError
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.migrations import MIGRATIONS, Migration
from bandstand.store.database.schema import METADATA, SCHEMA_VERSION
from bandstand.store.songs.changes import identity
from tests.fixtures.child_processes import PATIENCE, started
from tests.fixtures.cli.run_command import environment
from tests.fixtures.store.kill_migrations import LAST, RELEASED, ROWS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Dialect
    from sqlalchemy.types import TypeEngine

KILLS = 10
# How many tables the released versions before the newest have.
TABLES = {0: 0, 1: 6, 2: 13, 3: 17}


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


def test_a_step_is_taken_once(place: str) -> None:
    taken: list[int] = []

    def count(connection: Connection, *, now: int) -> None:
        fine_step(connection, now=now)
        taken.append(now)

    steps = (*MIGRATIONS, Migration(version=RELEASED + 1, name="count", apply=count))
    with open_store(place, now=1) as store, store.reading() as connection:
        first = identity(connection)
    for now in (2, 3):
        with open_store(place, steps=steps, now=now) as store, store.reading() as connection:
            assert identity(connection) == first
    assert taken == [2]


def kill_while_migrating(place: str, count: int, seed: int) -> list[int]:
    """Return the versions that were left by the kills, each checked to be whole."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.fixtures.store.kill_migrations",
            "kill",
            place,
            str(count),
            str(seed),
        ],
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


def test_a_kill_in_a_migration_leaves_one_version_or_the_next(place: str) -> None:
    versions = kill_while_migrating(place, KILLS, seed=1)
    assert set(versions) >= set(range(LAST))


@pytest.mark.long
def test_a_hundred_kills_in_migrations_leave_one_version_or_the_next(place: str) -> None:
    kill_while_migrating(place, 100, seed=2)


def test_processes_that_open_a_new_store_at_once_share_it(place: str) -> None:
    command = [sys.executable, "-m", "tests.fixtures.store.kill_migrations", "open", place]
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
