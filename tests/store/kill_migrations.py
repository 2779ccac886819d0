"""Kills a process that makes or upgrades stores: `python -m tests.store.kill_migrations …`.

kill PLACE COUNT SEED    make a new store in a process of its own, kill -9 that process, and print
                         the state that it leaves as one line of JSON; so between any two
                         transactions, and at that many drawn moments
open PLACE               wait for a line on standard input, open the store, print its id

Processes are forked from one that has imported everything, so that the moment falls into the
migrations and not into the start of Python.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from contextlib import contextmanager
from itertools import count as count_from
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import URL, Engine, create_engine, event, func, inspect, select, text

from bandstand.store.database.connection import open_store
from bandstand.store.database.location import PostgresLocation, parse_location
from bandstand.store.database.migrate import MIGRATIONS, Migration
from bandstand.store.database.schema import SCHEMA_VERSION
from bandstand.store.songs.changes import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection

ROWS = 300
RELEASED = MIGRATIONS[-1].version
LAST = RELEASED + 3


def _fill(version: int) -> Any:
    def apply(connection: Connection, *, now: int) -> None:
        connection.execute(text(f"CREATE TABLE extra_{version} (x BIGINT)"))
        rows = [{"x": now + row} for row in range(ROWS)]
        connection.execute(text(f"INSERT INTO extra_{version} VALUES (:x)"), rows)  # noqa: S608

    return apply


STEPS = (
    *MIGRATIONS,
    *(
        Migration(version=version, name=f"extra {version}", apply=_fill(version))
        for version in range(RELEASED + 1, LAST + 1)
    ),
)


def main(action: str, place: str, *rest: str) -> None:
    """Do one of the two things above."""
    if action == "open":
        sys.stdin.readline()
        with open_store(place) as store, store.reading() as connection:
            print(identity(connection).id, flush=True)  # noqa: T201
        return
    count, seed = (int(word) for word in rest)
    for moment in _moments(place, count, random.Random(seed)):  # noqa: S311
        _clear(place)
        _kill_while_opening(place, moment)
        print(json.dumps(_state(place)), flush=True)  # noqa: T201


def _moments(place: str, count: int, draw: random.Random) -> list[int | float]:
    """Return when to kill: before each transaction, and at drawn steps (int) and times (float)."""
    steps: list[str] = []
    _clear(place)
    with _told_of_each_step(steps.append):
        open_store(place, steps=STEPS).close()
    _clear(place)
    start = time.monotonic()
    open_store(place, steps=STEPS).close()
    seconds = time.monotonic() - start
    between = [number for number, step in enumerate(steps) if step == "begin"]
    drawn = [draw.randrange(len(steps)) for _ in range(count // 2)]
    return [*between, *drawn, *(draw.uniform(0, seconds) for _ in range(count - count // 2))]


@contextmanager
def _told_of_each_step(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` before each transaction, statement and commit of any store."""
    listeners = {
        "begin": lambda _connection: tell("begin"),
        "before_cursor_execute": lambda *_: tell("statement"),
        "commit": lambda _connection: tell("commit"),
    }
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    yield
    for name, listener in listeners.items():
        event.remove(Engine, name, listener)


def _kill_while_opening(place: str, moment: float) -> None:
    process = os.fork()
    if process == 0:
        steps = count_from(0)

        def tell(_step: str) -> None:
            if next(steps) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        with _told_of_each_step(tell):
            open_store(place, steps=STEPS).close()
        os._exit(0)
    if isinstance(moment, float):
        time.sleep(moment)
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def _clear(place: str) -> None:
    location = parse_location(place)
    if not isinstance(location, PostgresLocation):
        for file in Path(place).parent.iterdir():
            file.unlink()
        return
    with psycopg.connect(place, autocommit=True) as connection:
        schema = location.url.query["options"].partition("=")[2]  # type: ignore[union-attr]
        connection.execute(f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}".encode())


def _state(place: str) -> dict[str, Any]:
    """Return the version that was left and its tables, and the version after opening it again."""
    engine = create_engine(_url(place))
    with engine.begin() as connection:
        tables = inspect(connection).get_table_names()
        version = connection.scalar(select(func.max(SCHEMA_VERSION.c.version))) if tables else 0
        rows = {
            table: connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608
            for table in tables
            if table.startswith("extra_")
        }
    engine.dispose()
    with open_store(place, steps=STEPS) as store, store.reading() as connection:
        ends = connection.scalar(select(func.max(SCHEMA_VERSION.c.version)))
    return {"version": version, "tables": len(tables), "rows": rows, "ends": ends}


def _url(place: str) -> URL:
    location = parse_location(place)
    if isinstance(location, PostgresLocation):
        return location.url
    return URL.create("sqlite", database=str(location.path))


if __name__ == "__main__":
    main(*sys.argv[1:])
