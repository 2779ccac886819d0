"""A disk that is full (A3), and one that fails (A4)."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.fixtures.faults.load import Asker, Listeners, problems, tell, wait_until
from tests.fixtures.faults.servers import NAMES, harmed, song_ids
from tests.fixtures.faults.strace import failing
from tests.fixtures.programs import require_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fixtures.web.servers import Server

# After room was made the next rating is stored within a second; a busy machine may take longer.
LONGEST_RECOVERY = 10.0
DISK = 12 * 2**20


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Let a folder be a disk of its own, with little room."""
    mount, unmount = require_program("mount"), require_program("umount")
    folder.mkdir()
    options = f"size={DISK},mode=700,uid={os.geteuid()}"
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("to make a small disk takes an administrator; strace tests the same")
    try:
        yield
    finally:
        subprocess.run([unmount, "--lazy", folder], check=True)


def fill_up(folder: Path) -> Path:
    """Return a file that takes all the room that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**16, 2**12):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast


def assert_can_be_read(server: Server) -> None:
    asker = Asker(server, NAMES[0])
    for path in ("/api/next", "/api/songs?limit=5", "/api/history?limit=5", "/"):
        assert asker.ask("GET", path).status == 200, path
    asker.close()


def health(server: Server) -> int:
    asker = Asker(server, None)
    status = asker.ask("GET", "/health").status
    asker.close()
    return status


def test_a_full_disk_is_told_and_all_goes_on_when_there_is_room(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk):
        with harmed(tmp_path, store=str(disk / "radio.db")) as server:
            with Listeners(server, NAMES, song_ids(server), pause=0.005) as listeners:
                listeners.wait_for(20)
                ballast = fill_up(disk)
                listeners.wait_for_refusals(20)
                listeners.wait_until_all_are_refused()
                stored = len(listeners.acknowledged)
                assert_can_be_read(server)
                listeners.wait_for_refusals(8)
                assert len(listeners.acknowledged) == stored
                ballast.unlink()
                seconds = listeners.wait_for(1)
                listeners.wait_for(20)
            assert set(listeners.statuses) == {507}
            assert {each.code for each in listeners.refused} == {"store_full"}
            assert listeners.unanswered == 0
            assert health(server) == 200
            assert server.stop() == 0
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"{len(listeners.refused)} refused; stored again {seconds:.2f} s after there was room")
    assert seconds < LONGEST_RECOVERY


def test_writes_that_find_no_room_are_told(tmp_path: Path) -> None:
    log = f"{tmp_path / 'radio.db'}-wal"
    fault = failing("pwrite64:error=ENOSPC:when=60..140", log)
    with harmed(tmp_path, wrapper=fault) as server:
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            listeners.wait_for_refusals(1)
            listeners.wait_for(20)
        assert set(listeners.statuses) == {507}
        assert listeners.unanswered == 0
        assert_can_be_read(server)
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []


@pytest.mark.parametrize("fault", ["fdatasync:error=EIO:when=5+", "fdatasync:error=EIO:when=5"])
def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(
    tmp_path: Path, fault: str
) -> None:
    with harmed(tmp_path, wrapper=failing(fault, f"{tmp_path / 'radio.db'}-wal")) as server:
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            listeners.wait_for_refusals(1)
            # Answers of the group before may still be on their way.
            listeners.wait_until_all_are_refused()
            stored = len(listeners.acknowledged)
            listeners.wait_for_refusals(20)
            assert len(listeners.acknowledged) == stored
            assert stored > 0
            assert health(server) == 503
            assert_can_be_read(server)
            assert {(each.status, each.code) for each in listeners.refused} == {
                (503, "store_failed")
            }
            server.kill()
            assert not [it for it in problems(server.store, listeners.acknowledged) if it]
            server.wrapper.clear()
            server.start()
            listeners.wait_for(4)
        assert health(server) == 200
        wait_until(lambda: "the disk reports an error" in server.output)
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
