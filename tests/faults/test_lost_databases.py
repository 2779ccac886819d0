"""PostgreSQL goes away and comes back under load (A12)."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.fixtures.faults.cut_connections import Line
from tests.fixtures.faults.load import Asker, Listeners, problems, tell
from tests.fixtures.faults.servers import NAMES, harmed, song_ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.store.postgres_server import PostgresServer
    from tests.fixtures.web.servers import Server

# It takes less than five seconds; a busy machine may take longer.
LONGEST_RECOVERY = 20.0
# Of one server: what SQLAlchemy's pool allows (5 + 10).
MOST_CONNECTIONS = 15


def connections(postgres: PostgresServer) -> int:
    """Return how many connections of ours the database has."""
    question = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bandstand'"
    with psycopg.connect(postgres.url()) as connection:
        ((count,),) = connection.execute(question).fetchall()
    return int(count)


def assert_all_is_well(server: Server) -> None:
    asker = Asker(server, NAMES[0])
    for path in ("/health", "/api/next", "/api/history"):
        assert asker.ask("GET", path).status == 200
    asker.close()


def test_a_database_that_is_stopped_and_started_again_loses_nothing(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    recovered = []
    with harmed(tmp_path, store=postgres.new_schema()) as server:
        with Listeners(server, NAMES, song_ids(server), pause=0.005) as listeners:
            for number in (signal.SIGQUIT, signal.SIGINT):  # at once, then politely
                listeners.wait_for(20)
                postgres.halt(number)
                listeners.wait_for_refusals(10)
                stored = len(listeners.acknowledged)
                asker = Asker(server, NAMES[0])
                assert asker.ask("GET", "/api/next").status == 503
                asker.close()
                assert len(listeners.acknowledged) == stored
                postgres.start()
                recovered.append(listeners.wait_for(1))
            listeners.wait_for(20)
        assert set(listeners.statuses) == {503}
        assert {each.code for each in listeners.refused} <= {"store_unavailable", "store_busy"}
        assert listeners.unanswered == 0
        assert_all_is_well(server)
        assert connections(postgres) <= MOST_CONNECTIONS
        assert server.stop() == 0
    assert problems(server.store, listeners.acknowledged) == []
    tell(f"{len(listeners.refused)} refused; stored again after {max(recovered):.2f} s")
    assert max(recovered) < LONGEST_RECOVERY


def cut_again_and_again(home: Path, postgres: PostgresServer, cuts: int) -> None:
    """Cut the line to the database so many times under load, and see that nothing is lost."""
    with (
        Line(postgres, postgres.new_schema()) as line,
        harmed(home, store=line.url) as server,
    ):
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            for _ in range(cuts):
                listeners.wait_for(5)
                assert line.cut() > 0
            began = time.monotonic()
            listeners.wait_for(20)
        seconds = time.monotonic() - began
        assert set(listeners.statuses) <= {503}
        assert listeners.unanswered == 0
        assert_all_is_well(server)
        assert max(line.count, connections(postgres)) <= MOST_CONNECTIONS
        assert server.stop() == 0
        assert problems(server.store, listeners.acknowledged) == []
    statuses = dict(listeners.statuses)
    tell(f"{cuts} cuts: {len(listeners.acknowledged)} acknowledged, {statuses} refused, 0 lost")
    assert seconds < LONGEST_RECOVERY


def test_a_line_that_is_cut_loses_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    cut_again_and_again(tmp_path, postgres, 10)


@pytest.mark.long
def test_a_hundred_cuts_lose_nothing(tmp_path: Path, postgres: PostgresServer) -> None:
    cut_again_and_again(tmp_path, postgres, 100)
