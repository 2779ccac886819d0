import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bandstand.errors import StoreError, StoreLockedError
from bandstand.store.database.connection import open_store
from bandstand.store.database.location import Location, SqliteLocation, parse_location
from bandstand.store.database.serving_lock import is_served_elsewhere, lock_file, serving_lock
from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import environment

CODE = """
import sys, time
from bandstand.store.database.location import parse_location
from bandstand.store.database.serving_lock import serving_lock
with serving_lock(parse_location(sys.argv[1])):
    print("serving", flush=True)
    time.sleep(600)
"""


@contextmanager
def served_elsewhere(location: Location) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", CODE, str(location)]
    with started(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"serving\n"
        yield process


@pytest.fixture
def location(tmp_path: Path) -> SqliteLocation:
    return SqliteLocation(path=tmp_path / "radio.db")


def test_a_second_server_is_told_who_the_first_is(location: SqliteLocation) -> None:
    with (
        served_elsewhere(location) as process,
        pytest.raises(StoreLockedError, match=f"process {process.pid} serves it"),
        serving_lock(location),
    ):
        pass


def test_a_second_server_in_the_same_process_is_refused_too(location: SqliteLocation) -> None:
    with (
        serving_lock(location),
        pytest.raises(StoreLockedError, match=f"process {os.getpid()} "),
        serving_lock(location),
    ):
        pass


def test_another_name_of_the_file_is_the_store(location: SqliteLocation, tmp_path: Path) -> None:
    location.path.touch()
    (tmp_path / "link.db").symlink_to(location.path)
    with (
        serving_lock(location),
        pytest.raises(StoreLockedError),
        serving_lock(parse_location(str(tmp_path / "link.db"))),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_ends_with_the_process(location: SqliteLocation, number: signal.Signals) -> None:
    with served_elsewhere(location) as process:
        process.send_signal(number)
        process.wait()
        assert lock_file(location).read_text() == f"{process.pid}\n"
        with serving_lock(location):
            assert lock_file(location).read_text() == f"{os.getpid()}\n"


@pytest.mark.parametrize("content", ["", "1\n", "no number", "9" * 100])
def test_a_file_that_was_left_is_no_obstacle(location: SqliteLocation, content: str) -> None:
    place = lock_file(location)
    place.parent.mkdir()
    place.write_text(content)
    for _ in range(2):
        with serving_lock(location):
            assert place.stat().st_mode & 0o777 in {0o600, 0o644}
    with serving_lock(location):
        place.write_text(content)
        with pytest.raises(StoreLockedError), serving_lock(location):
            pass


def test_a_lock_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    location = SqliteLocation(path=tmp_path / "file" / "radio.db")
    with pytest.raises(StoreError, match="cannot be locked"), serving_lock(location):
        pass


def checkpoint_after(location: SqliteLocation) -> int:
    """Return after how many pages of the log a writer of this process moves it into the file."""
    with open_store(location) as store, store.writing() as connection:
        return int(connection.exec_driver_sql("PRAGMA wal_autocheckpoint").scalar_one())


def test_only_whoever_serves_moves_the_log_into_the_file(location: SqliteLocation) -> None:
    assert not is_served_elsewhere(location)
    assert checkpoint_after(location) > 0
    with served_elsewhere(location):
        assert is_served_elsewhere(location)
        assert checkpoint_after(location) == 0
    assert not is_served_elsewhere(location)
    assert checkpoint_after(location) > 0


def takes_two(location: Location) -> bool:
    try:
        with serving_lock(location), serving_lock(location):
            return True
    except StoreLockedError:
        return False


def test_postgresql_takes_several_servers_and_sqlite_one(location: SqliteLocation) -> None:
    assert takes_two(parse_location("postgresql://ann@example.org/radio"))
    assert not takes_two(location)
