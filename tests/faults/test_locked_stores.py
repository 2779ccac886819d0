"""A store that another program holds (A5), and a second server on it (A6)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bandstand.store.database.connection import LOCK_SECONDS
from tests.fixtures.cli.run_command import run_apart
from tests.fixtures.faults.load import Asker, Listeners, problems, tell
from tests.fixtures.faults.servers import NAMES, harmed, song_ids
from tests.fixtures.store.lock_process import held_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

# Beyond the wait itself; a busy machine needs some of it.
SLACK = 20.0


def test_a_short_lock_is_waited_for_and_a_long_one_is_told(tmp_path: Path) -> None:
    with harmed(tmp_path) as server:
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            listeners.wait_for(10)
            with held_elsewhere(server.store, LOCK_SECONDS / 3):
                before = len(listeners.acknowledged)
                listeners.wait_for(20)
            assert listeners.refused == []
            assert len(listeners.acknowledged) > before
            with held_elsewhere(server.store, 60.0):
                began = time.monotonic()
                listeners.wait_for_refusals(len(NAMES))
                waited = time.monotonic() - began
                asker = Asker(server, NAMES[0])
                assert asker.ask("GET", "/api/next").status == 200
                asker.close()
            seconds = listeners.wait_for(1)
        assert waited < LOCK_SECONDS + SLACK
        assert {(each.status, each.code) for each in listeners.refused} == {(503, "store_busy")}
        assert all(int(each.retry_after or 0) >= 1 for each in listeners.refused)
        slowest = max(each.seconds for each in listeners.refused)
        assert slowest < LOCK_SECONDS + SLACK
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"told after at most {slowest:.2f} s, stored {seconds:.2f} s after the lock was gone")


def test_a_second_server_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with harmed(tmp_path) as server:
        assert server.process is not None
        number = server.process.pid
        second = run_apart("serve", "--port", "0", "--store", server.store, **server.variables)
        assert second.code == 1
        assert f"process {number}" in second.err
        assert len(second.err.splitlines()) == 1
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            listeners.wait_for(4)  # the first has not been harmed
            server.kill()
            server.start()  # what the first has left behind is no obstacle
            listeners.wait_for(4)
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
