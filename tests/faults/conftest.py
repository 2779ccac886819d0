"""A server that may be harmed, and the songs that its listeners rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fixtures.store.postgres_server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test may stop."""
    server = PostgresServer()
    yield server
    server.stop()
