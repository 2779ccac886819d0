"""Of an account that is deleted nothing can be found in the files of a SQLite store."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from bandstand.store import accounts, playlists, sessions
from bandstand.store.database import secure_erase
from bandstand.store.database.connection import Store, open_store
from bandstand.store.database.location import SqliteLocation
from bandstand.store.database.secure_erase import empty_log, rewrite_file
from bandstand.store.database.serving_lock import serving_lock
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events, snapshots
from bandstand.store.events.events import NewEvent
from bandstand.store.transfer.backup import backup
from bandstand.store.transfer.verify import verify
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.store.sample_store import NOW, add_account, add_songs, rate
from tests.fixtures.waiting import eventually

PLANTED = "Xyzzy"  # in everything that is the person's


def found(folder: Path, word: str = PLANTED) -> list[str]:
    return [it.name for it in folder.iterdir() if it.is_file() and word.encode() in it.read_bytes()]


def live(store: Store, name: str, songs: list[str], *, count: int, seed: int = 1) -> str:
    """Let an account do a lot, between what others do, and return its id."""
    draw = random.Random(seed)
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
    account = planted(store, count=60)
    assert found(tmp_path), "the search is blind"
    with store.writing() as connection:
        accounts.delete(connection, account)
    assert found(tmp_path) == []
    assert found(tmp_path, account) == []
    with store.reading() as connection:
        assert accounts.count(connection) == 1


def test_a_reader_in_the_way_delays_it_until_it_has_left(store: Store, tmp_path: Path) -> None:
    account = planted(store)
    with store.reading() as reader:
        accounts.count(reader)
        with store.writing() as connection:
            accounts.delete(connection, account)
        assert found(tmp_path), "the reader held nothing back"
    with store.writing() as connection:
        add_account(connection, "Other account")
    assert found(tmp_path) == []


def test_a_deletion_that_is_undone_removes_nothing(store: Store, tmp_path: Path) -> None:
    account = planted(store)
    with pytest.raises(KeyError), store.writing() as connection:  # noqa: PT012
        accounts.delete(connection, account)
        raise KeyError
    with store.writing() as connection:
        assert accounts.get(connection, account) is not None
        assert events.check_chain(connection, account) == []
    assert found(tmp_path)


def test_without_overwriting_the_search_would_find_something(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.store.accounts.request_erase", lambda _connection: None)
    account = planted(store)
    with store.writing() as connection:
        accounts.delete(connection, account)
    assert found(tmp_path)


def test_a_file_that_cannot_be_written_anew_fails_no_deletion_and_is_tried_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = planted(store)
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
def test_nothing_of_an_account_is_left_after_a_long_life(store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        songs = add_songs(connection, 50)
    for seed in range(5):
        account = live(store, f"{PLANTED}{seed}", songs, count=900, seed=seed)
        with store.writing() as connection:
            accounts.delete(connection, account)
        assert found(tmp_path) == []


# ── An erase that cannot be done at once is done later ────────────────────────────────


# A process that removes an account and is killed at a named step of what follows the commit.
KILLED = """
import os, signal, sys
from bandstand.store import accounts
from bandstand.store.database import secure_erase
from bandstand.store.database.connection import open_store
place, account, step, mark = sys.argv[1:]
setattr(secure_erase, step, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
with open_store(place) as store, store.writing() as connection:
    if mark == "unmarked":
        accounts.request_erase = lambda _: None
        store._eraser.after_transaction = secure_erase.rewrite_file
    accounts.delete(connection, account)
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "radio.db")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as opened:
        yield opened


def planted(store: Store, *, count: int = 3) -> str:
    """Return an account of which the files are full."""
    with store.writing() as connection:
        songs = add_songs(connection, 5)
    return live(store, PLANTED, songs, count=count)


def remove(store: Store, account: str) -> None:
    with store.writing() as connection:
        accounts.delete(connection, account)


def remove_beside_a_reader(store: Store, account: str) -> None:
    """Remove an account whose rows a reader sees that then ends."""
    with store.reading(limit=None) as reader:
        accounts.count(reader)
        remove(store, account)


def due(store: Store) -> int:
    with store.reading() as connection:
        return secure_erase.pending(connection)


def has_given_up() -> bool:
    return "bandstand-eraser" not in {it.name for it in threading.enumerate()}


def killed(place: str, account: str, *, step: str, mark: str = "marked") -> None:
    command = [sys.executable, "-c", KILLED, place, account, step, mark]
    done = subprocess.run(command, env=environment(), capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_when_the_last_reader_has_left_they_go_unasked(store: Store, tmp_path: Path) -> None:
    account = planted(store)
    remove_beside_a_reader(store, account)
    assert eventually(lambda: found(tmp_path) + found(tmp_path, account) == [])
    assert eventually(lambda: due(store) == 0)
    assert eventually(has_given_up)
    assert verify(store).is_whole


def test_without_trying_again_they_would_stay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure_erase.SecureEraser, "_run", lambda _: None)
    remove_beside_a_reader(store, planted(store))
    assert eventually(has_given_up)
    assert found(tmp_path)
    assert due(store) != 0


@pytest.mark.parametrize("step", ["rewrite_file", "empty_log", "clear_number"])
def test_after_a_kill_they_go_when_it_is_served(place: str, tmp_path: Path, step: str) -> None:
    with open_store(place) as store:
        account = planted(store)
    killed(place, account, step=step)
    assert bool(found(tmp_path)) is (step != "clear_number")
    with open_store(place) as store:  # as a command that reads
        assert due(store) != 0
    with serving_lock(SqliteLocation(path=tmp_path / "radio.db")), open_store(place) as store:
        assert found(tmp_path) + found(tmp_path, account) == []
        assert due(store) == 0
        assert verify(store).is_whole


def test_after_a_kill_they_go_with_the_next_change(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        account = planted(store)
    killed(place, account, step="rewrite_file")
    with open_store(place) as store:
        with store.writing() as connection:
            add_account(connection, "Other account")
        assert found(tmp_path) == []
        assert due(store) == 0


def test_without_the_mark_they_would_stay_after_a_kill(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        account = planted(store, count=10)
    killed(place, account, step="rewrite_file", mark="unmarked")
    with serving_lock(SqliteLocation(path=tmp_path / "radio.db")), open_store(place) as store:
        with store.writing() as connection:
            assert accounts.get(connection, account) is None
        assert found(tmp_path)


def test_to_close_ends_the_trying_and_forgets_nothing(place: str, tmp_path: Path) -> None:
    with open_store(place) as store:
        account = planted(store)
        with closing(sqlite3.connect(place, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM account").fetchall()
            remove(store, account)
            thread = store._eraser._thread
            assert thread is not None
            assert thread.is_alive()
            store.close()
            assert not thread.is_alive()
            assert found(tmp_path)
    with serving_lock(SqliteLocation(path=tmp_path / "radio.db")), open_store(place) as store:
        assert found(tmp_path) == []
        assert due(store) == 0


def test_a_file_is_whole_when_it_is_not_written_anew_to_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = planted(store)
    monkeypatch.setattr("bandstand.store.database.secure_erase._PROGRESS_STEPS", 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        rewrite_file(store._engines.writer, should_stop=lambda: True)
    assert verify(store).is_whole
    remove(store, account)  # the connection can be used as before
    assert due(store) == 0


def test_beside_a_server_a_command_removes_only_its_own(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(place) as store:
        first = planted(store)
    killed(place, first, step="rewrite_file")
    monkeypatch.setattr("bandstand.store.database.connection.is_served_elsewhere", lambda _: True)
    with open_store(place) as command:
        with command.writing() as connection:
            second = add_account(connection, "Other account").id
        assert due(command) != 0
        assert found(tmp_path)
        remove(command, second)
        assert due(command) == 0
        assert found(tmp_path) == []


def test_a_removal_by_another_process_meanwhile_is_not_forgotten(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = planted(store)

    def interfered(*arguments: object, **options: object) -> bool:
        monkeypatch.setattr(secure_erase, "empty_log", empty_log)
        with closing(sqlite3.connect(place)) as other:
            other.execute("PRAGMA user_version = 7")
        return empty_log(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(secure_erase, "empty_log", interfered)
    remove(store, account)
    assert due(store) == 7
    assert store._eraser.is_needed
    assert eventually(lambda: due(store) == 0)


def test_a_removal_undone_in_a_group_leaves_nothing_to_do(store: Store, tmp_path: Path) -> None:
    account = planted(store)

    def removed_and_undone(connection: Connection) -> None:
        accounts.delete(connection, account)
        raise KeyError

    with GroupWriter(store) as writer:
        refused = writer.submit(removed_and_undone)
        done = writer.submit(lambda it: add_account(it, "Other account"))
        assert isinstance(refused.exception(timeout=PATIENCE), KeyError)
        assert done.exception(timeout=PATIENCE) is None
    assert due(store) == 0
    assert found(tmp_path)


def test_a_copy_has_nothing_left_to_do(store: Store, tmp_path: Path) -> None:
    account = planted(store)
    with store.reading(limit=None) as reader:
        accounts.count(reader)
        remove(store, account)
        assert due(store) != 0
        folder = tmp_path / "backups"
        folder.mkdir()
        backup(store, folder / "copy")
    assert found(folder) == []
    with closing(sqlite3.connect(folder / "copy")) as copy:
        assert copy.execute("PRAGMA user_version").fetchall() == [(0,)]
