"""Of an account that is deleted nothing can be found in the files of a SQLite store."""

from __future__ import annotations

import random
import sqlite3
from typing import TYPE_CHECKING

import pytest

from bandstand.store import accounts, playlists, sessions
from bandstand.store.database.connection import Store, open_store
from bandstand.store.events import events, snapshots
from bandstand.store.events.events import NewEvent
from bandstand.store.transfer.backup import backup
from tests.fixtures.store.sample_store import NOW, add_account, add_songs, rate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLANTED = "Xyzzy"  # in everything that is the person's


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


def found(folder: Path, word: str = PLANTED) -> list[str]:
    return [it.name for it in folder.iterdir() if it.is_file() and word.encode() in it.read_bytes()]


def live(store: Store, name: str, songs: list[str], *, count: int, seed: int = 1) -> str:
    """Let somebody do a lot, between what others do, and return their id."""
    draw = random.Random(seed)  # noqa: S311
    with store.writing() as connection:
        account = add_account(connection, f"{name} first").id
        other = add_account(connection, f"Other {seed}").id
    for number in range(count):
        with store.writing() as connection:
            for who, word in ((account, name), (other, "plain")):
                key = f"{word} {number} {'x' * draw.randrange(150)}"
                rate(connection, who, draw.choice(songs), key)
                target = f"{word} target {'y' * draw.randrange(300)}"
                rule = NewEvent(
                    account=who, key=f"b{number}", kind="ban", scope="artist", target=target
                )
                events.append(connection, rule, now=NOW)
            accounts.rename(connection, account, f"{name} {number}")
            accounts.change_settings(
                connection, account, {"word": f"{name} {'z' * (number % 900)}"}
            )
            accounts.set_password(connection, account, f"hash of {name} {number}")
            content = f"{name} ".encode() * draw.randrange(1, 3_000)
            snapshots.save(connection, account, seq=number + 1, version=1, content=content)
            sessions.create(
                connection, account=account, now=NOW, expires_at=NOW + 9, client=f"{name} browser"
            )
            playlists.create(
                connection, account=account, name=f"{name} list", songs=songs[:2], now=NOW
            )
    return account


def test_nothing_of_a_deleted_account_is_in_the_files(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=60)
    assert found(tmp_path), "the search is blind"
    with store.writing() as connection:
        accounts.delete(connection, account)
    assert found(tmp_path) == []
    assert found(tmp_path, account) == []
    with store.reading() as connection:
        assert accounts.count(connection) == 1


def test_a_reader_in_the_way_delays_it_until_it_has_left(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=3)
    with store.reading() as reader:
        accounts.count(reader)
        with store.writing() as connection:
            accounts.delete(connection, account)
        assert found(tmp_path), "the reader held nothing back"
    with store.writing() as connection:
        add_account(connection, "Somebody else")
    assert found(tmp_path) == []


def test_a_deletion_that_is_undone_removes_nothing(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=3)
    with pytest.raises(KeyError), store.writing() as connection:  # noqa: PT012
        accounts.delete(connection, account)
        raise KeyError
    with store.writing() as connection:
        assert accounts.get(connection, account) is not None
        assert events.check_chain(connection, account) == []
    assert found(tmp_path)


def test_a_backup_has_nothing_of_who_was_deleted_before(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=10)
    with store.reading() as reader:  # so that the log still has it
        accounts.count(reader)
        with store.writing() as connection:
            accounts.delete(connection, account)
        folder = tmp_path / "backups"
        folder.mkdir()
        backup(store, folder / "copy")
    assert found(folder) == []
    assert found(folder, "plain")


def test_without_overwriting_the_search_would_find_something(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.accounts.request_erase", lambda _connection: None)
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=3)
    with store.writing() as connection:
        accounts.delete(connection, account)
    assert found(tmp_path)


def test_a_file_that_cannot_be_written_anew_fails_no_deletion_and_is_tried_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    account = live(store, PLANTED, songs, count=3)
    tries = []

    def full(_engine: object, **_: object) -> None:
        tries.append(1)
        raise sqlite3.OperationalError

    with monkeypatch.context() as patch:
        patch.setattr("bandstand.store.database.secure_erase.rewrite_file", full)
        for _ in range(3):
            with store.writing() as connection:
                if accounts.get(connection, account) is not None:
                    accounts.delete(connection, account)
    assert len(tries) == 1, "it is not tried again at once"
    monkeypatch.setattr(store._eraser, "_not_before", 0.0)
    with store.writing() as connection:
        assert accounts.get(connection, account) is None
    assert found(tmp_path) == []


@pytest.mark.long
def test_nothing_of_a_deleted_account_is_in_the_files_after_a_long_life(
    store: Store, tmp_path: Path
) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 50)
    for seed in range(5):
        account = live(store, f"{PLANTED}{seed}", songs, count=900, seed=seed)
        with store.writing() as connection:
            accounts.delete(connection, account)
        assert found(tmp_path) == []
