"""A real PostgreSQL server for the tests, without what protects from power cuts."""

from __future__ import annotations

from benchmarks.fixtures.postgres import PrivatePostgres


class PostgresServer(PrivatePostgres):
    """A server with an empty database, running until `stop`."""

    def __init__(self) -> None:
        super().__init__(is_safe=False)
