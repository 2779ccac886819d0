from typing import Any

import pytest

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.events import snapshots
from bandstand.store.events.snapshots import Snapshot
from tests.fixtures.store.sample_log import UNKNOWN, account_and_songs, add, rating


def with_events(store: Store, number: int = 9) -> str:
    """Return an account with a log of some events."""
    account, songs = account_and_songs(store)
    with store.writing() as connection:
        for key in range(number):
            add(connection, rating(account, songs[0], str(key)))
    return account


def save(store: Store, account: str, seq: int, content: bytes, version: int = 1) -> bool:
    with store.writing() as connection:
        return snapshots.save(connection, account, seq=seq, version=version, content=content)


def got(store: Store, account: str, version: int = 1) -> Snapshot | None:
    with store.reading() as connection:
        return snapshots.get(connection, account, version)


def test_a_snapshot_comes_back_as_it_was(store: Store) -> None:
    account, other = with_events(store), with_events(store)
    assert got(store, account) is None
    for seq, content in ((3, bytes(range(256)) * 1_000), (9, b"")):
        assert save(store, account, seq, content)
        assert got(store, account) == Snapshot(seq=seq, content=content)
    assert got(store, other) is None


def test_a_snapshot_only_goes_forward(store: Store) -> None:
    account = with_events(store)
    assert save(store, account, 5, b"five")
    assert not save(store, account, 4, b"four")
    assert got(store, account) == Snapshot(seq=5, content=b"five")
    assert save(store, account, 5, b"five again", version=2)
    assert got(store, account) is None  # of the version before
    assert got(store, account, version=2) == Snapshot(seq=5, content=b"five again")


def test_a_snapshot_is_never_ahead_of_the_log(store: Store) -> None:
    account = with_events(store)
    assert not save(store, account, 10, b"ten")
    assert not save(store, UNKNOWN, 0, b"unknown")
    assert got(store, account) is None


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("seq", [-1, True, 2**63]),
        ("version", [1.0, -1]),
        ("content", ["text", None]),
        ("account", ["a\0b"]),
    ],
)
def test_what_is_no_snapshot_is_refused(store: Store, name: str, values: list[Any]) -> None:
    for value in values:
        fields = {"account": UNKNOWN, "seq": 1, "version": 1, "content": b"", name: value}
        check_refused(store, **fields)


def check_refused(store: Store, **fields: Any) -> None:
    with store.writing() as connection, pytest.raises(InvalidInputError):
        snapshots.save(connection, fields.pop("account"), **fields)


def test_all_snapshots_can_be_forgotten(store: Store) -> None:
    account = with_events(store)
    assert save(store, account, 9, b"x")
    with store.writing() as connection:
        snapshots.delete_all(connection)
    assert got(store, account) is None
    assert save(store, account, 2, b"from the beginning")
