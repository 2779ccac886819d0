"""Every test that asks for `place` or `store` runs on SQLite and on a real PostgreSQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import SqliteLocation, parse_location
from tests.fixtures.store.examples import discarded
from tests.fixtures.store.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server, one for each worker of the tests."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made: nothing is there yet."""
    return new_place(request, tmp_path)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new SQLite store, closed: to copy it is quicker than to make one."""
    path = tmp_path_factory.mktemp("empty") / "radio.db"
    open_store(str(path), now=1_000).close()
    return path


@pytest.fixture
def store(place: str, empty: Path) -> Iterator[Store]:
    """A new store, open."""
    if isinstance(parse_location(place), SqliteLocation):
        shutil.copy(empty, place)
    with open_store(place, now=1_000) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store that the tests of a module share: each undoes what it has done (`discarded`)."""
    with open_store(new_place(request, tmp_path_factory.mktemp("shared"))) as opened:
        yield opened


@pytest.fixture
def connection(shared: Store) -> Iterator[Connection]:
    """A connection to an empty store that writes; what it writes is undone."""
    with discarded(shared) as opened:
        yield opened


def new_place(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return where the database that a test is to run on can make a store."""
    if request.param == "sqlite":
        return str(folder / "radio.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_schema()
