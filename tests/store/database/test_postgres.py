"""What can go wrong with a server."""

import signal
import socket
import sys
from contextlib import closing

import pytest

from bandstand.errors import StoreError
from bandstand.store.database.connection import open_store
from bandstand.store.songs import scans
from tests.fixtures.store.postgres_server import PostgresServer

SECRET = "hunter2"


def refusal(place: str, *words: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(place, wait=2)
    sentence = str(refused.value)
    assert len(sentence.splitlines()) == 1
    assert len(sentence) < 500
    for word in words:
        assert word in sentence
    problem: BaseException | None = refused.value
    while problem is not None:
        assert SECRET not in str(problem)
        assert SECRET not in repr(problem)
        problem = problem.__cause__ or problem.__context__


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    place = f"postgresql://ann:{SECRET}@127.0.0.1:{port}/radio"
    refusal(place, f"postgresql://ann@127.0.0.1:{port}/radio cannot be reached", "refused")


def test_a_server_that_does_not_answer_is_one_sentence() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        refusal(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/radio", "cannot be reached", "timeout")


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("postgres@/nowhere?host={host}", 'database "nowhere" does not exist'),
        ("ann:" + SECRET + "@/postgres?host={host}", 'role "ann" does not exist'),
        ("postgres@/postgres?host={host}&sslmode=" + "odd", "sslmode"),
        ("postgres@/postgres?host={host}&colour=red", "colour"),
    ],
)
def test_a_refusal_is_one_sentence(postgres: PostgresServer, rest: str, words: str) -> None:
    host = postgres.url().partition("host=")[2]
    refusal(f"postgresql://{rest.format(host=host)}", "cannot be reached", words)


def test_other_tables_are_left_alone(postgres: PostgresServer) -> None:
    place = postgres.new_schema()
    schema = place.rpartition("%3D")[2]
    postgres.execute(f"CREATE TABLE {schema}.songs (x INTEGER)")
    refusal(place, "must be empty or a Bandstand store, got other tables: songs")
    postgres.execute(f"DROP TABLE {schema}.songs")
    open_store(place).close()


def test_a_schema_that_is_not_there_is_one_sentence(postgres: PostgresServer) -> None:
    refusal(postgres.url("nowhere"), "must have a schema that exists")


def test_a_database_that_is_not_unicode_is_refused(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0")
    refusal(postgres.url().replace("/postgres?", "/old?"), "encoding UTF8, got SQL_ASCII")


def test_a_user_who_may_not_is_one_sentence(postgres: PostgresServer) -> None:
    postgres.execute("CREATE ROLE reader LOGIN")
    place = postgres.new_schema()
    schema = place.rpartition("%3D")[2]
    postgres.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
    refusal(place.replace("postgres@", "reader@"), "does not allow this user to")


def test_without_the_driver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refusal("postgresql:///radio", "needs the package psycopg", "bandstand[postgres]")


def test_a_server_that_restarts_is_found_again(own_server: PostgresServer) -> None:
    with open_store(own_server.url(), wait=2) as store:
        with store.writing() as connection:
            scans.begin(connection, now=1)
        own_server.halt(signal.SIGQUIT)
        for block in (store.writing, store.reading):
            with pytest.raises(StoreError, match="cannot be reached"), block():
                pass
        own_server.start()
        with store.writing() as connection:
            assert scans.begin(connection, now=1) == 2


def test_a_server_that_stops_keeps_no_part_of_a_transaction(own_server: PostgresServer) -> None:
    with open_store(own_server.url(), wait=2) as store:
        lost = pytest.raises(StoreError, match="has lost its server")
        with lost, store.writing() as connection:
            assert scans.begin(connection, now=1) == 1
            own_server.halt(signal.SIGQUIT)
            scans.begin(connection, now=1)
        own_server.start()
        with store.reading() as connection:
            assert scans.latest(connection) is None
