"""A server that may be harmed, and the songs that its listeners rate."""

from collections.abc import Iterator

import pytest

from tests.fixtures.store.postgres_server import PostgresServer


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test may stop."""
    server = PostgresServer()
    yield server
    server.stop()
