"""Servers that are killed, stopped, locked out, cut off or out of room lose no rating (A1)."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from bandstand.radio.log.fold import fold
from bandstand.store.database.connection import LOCK_SECONDS, open_store
from bandstand.store.events import events
from bandstand.store.songs import songs
from tests.fixtures.cli.run_command import run_apart
from tests.fixtures.faults.cut_connections import Line
from tests.fixtures.faults.load import (
    PATIENCE,
    Acknowledged,
    Listeners,
    problems,
    tell,
)
from tests.fixtures.faults.servers import NAMES, harmed, song_ids
from tests.fixtures.faults.strace import failing
from tests.fixtures.music.audio_files import encoded, piece
from tests.fixtures.programs import require_program
from tests.fixtures.store.lock_process import held_elsewhere
from tests.fixtures.store.postgres_server import PostgresServer
from tests.fixtures.waiting import wait_until
from tests.fixtures.web.servers import Server

# No start takes a fifth of that; one that does never ends.
LONGEST_START = 30.0


def assert_the_check_sees(place: str, acknowledged: list[Acknowledged]) -> None:
    """Plant errors: an acknowledgement that never was, and some of something else."""
    first, *others = acknowledged
    never = first._replace(key="never sent", seq=10**6)
    assert len(problems(place, [*acknowledged, never])) == 1
    for changed in (
        first._replace(stars=6),
        first._replace(song="0" * 16),
        first._replace(key="of another"),
        first._replace(seq=first.seq + 1),
    ):
        assert len(problems(place, [changed, *others])) == 1
    assert len(problems(place, [first, *acknowledged])) == 1


@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 1), pytest.param(50, time.time_ns(), marks=pytest.mark.long, id="many")]
)
def test_a_server_that_is_killed_loses_nothing_it_acknowledged(
    tmp_path: Path, kills: int, seed: int
) -> None:
    """Nor does a second server take its store before it is gone (A6)."""
    draw, starts = random.Random(seed), []
    with harmed(tmp_path) as server:
        assert server.process is not None
        second = run_apart("serve", "--port", "0", "--store", server.store, **server.variables)
        assert second.code == 1
        assert f"process {server.process.pid}" in second.err
        assert len(second.err.splitlines()) == 1
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            for _ in range(kills):
                listeners.wait_for(11)
                time.sleep(draw.uniform(0, 0.5))
                server.kill()
                began = time.monotonic()
                server.start()  # what the one before has left behind is no obstacle
                starts.append(time.monotonic() - began)
            listeners.wait_for(10)
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
        assert listeners.refused == []
        assert len(listeners.acknowledged) > 10 * kills
        assert max(starts) < LONGEST_START
        assert_the_check_sees(server.store, listeners.acknowledged)
    told = f"{len(listeners.acknowledged)} acknowledged, {listeners.unanswered} unanswered"
    tell(f"{kills} kills: {told}, 0 lost; restart at most {max(starts):.2f} s")


# ── SIGTERM under load, with streams that have no end of their own (G6) ───────────────


LONGEST_STOP = 10.0  # seconds; it is asked for, and there is nothing tight about it


@contextmanager
def open_stream(server: Server, name: str, path: str) -> Iterator[None]:
    """Read only the beginning of an answer that goes on."""
    with server.client(name).stream("GET", path) as answer:
        assert answer.status_code == 200
        assert next(answer.iter_raw(16))
        yield


def audio_of(server: Server, file: Path) -> str | None:
    """Return where the sound of a file is, once it was analysed."""
    with open_store(server.store) as store, store.reading() as connection:
        found = songs.at_path(connection, bytes(file))
    return None if found is None else f"/api/songs/{found.id}/audio"


def library(folder: Path) -> Path:
    """Return a file too long to be sent at once, in a folder that takes a while to analyse."""
    folder.mkdir()
    long = folder / "long.wav"
    long.write_bytes(encoded("wav", np.tile(piece(0, seconds=10.0), 45)))
    for seed in range(1, 120):
        (folder / f"{seed}.wav").write_bytes(encoded("wav", piece(seed, seconds=1.0)))
    return long


def test_it_stops_within_ten_seconds_and_loses_nothing(tmp_path: Path) -> None:
    long = library(tmp_path / "music")
    with harmed(tmp_path, folders=[long.parent], options=["--workers", "1"]) as server:
        wait_until(lambda: audio_of(server, long) is not None)
        with (
            open_stream(server, NAMES[0], audio_of(server, long) or ""),
            open_stream(server, "ann", "/api/admin/scan/progress"),
            Listeners(server, NAMES, song_ids(server), pause=0.005) as listeners,
        ):
            listeners.wait_for(20)
            began = time.monotonic()
            assert server.stop() == 0
            seconds = time.monotonic() - began
        assert set(listeners.statuses) <= {503}
        assert "Traceback" not in server.output
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"stopped after {seconds:.2f} s, {len(listeners.acknowledged)} acknowledged")
    assert seconds < LONGEST_STOP


# ── A store that another program holds (A5) ───────────────────────────────────────────


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
                assert server.client(NAMES[0]).get("/api/next").status_code == 200
            seconds = listeners.wait_for(1)
        assert waited < LOCK_SECONDS + SLACK
        assert {(each.status, each.code) for each in listeners.refused} == {(503, "store_busy")}
        assert all(int(each.retry_after or 0) >= 1 for each in listeners.refused)
        slowest = max(each.seconds for each in listeners.refused)
        assert slowest < LOCK_SECONDS + SLACK
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"refused after at most {slowest:.2f} s, stored {seconds:.2f} s after the lock was gone")


# ── PostgreSQL goes away and comes back under load (A12) ──────────────────────────────


# It takes less than five seconds; a busy machine may take longer.
LONGEST_RECONNECTION = 20.0
# Of one server: what SQLAlchemy's pool allows (5 + 10).
MOST_CONNECTIONS = 15


def connections(postgres: PostgresServer) -> int:
    """Return how many connections of ours the database has."""
    question = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bandstand'"
    with psycopg.connect(postgres.url()) as connection:
        ((count,),) = connection.execute(question).fetchall()
    return int(count)


def assert_can_be_read(server: Server) -> None:
    client = server.client(NAMES[0])
    for path in ("/api/next", "/api/songs?limit=5", "/api/history?limit=5", "/"):
        assert client.get(path).status_code == 200, path


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
                assert server.client(NAMES[0]).get("/api/next").status_code == 503
                assert len(listeners.acknowledged) == stored
                postgres.start()
                recovered.append(listeners.wait_for(1))
            listeners.wait_for(20)
        assert set(listeners.statuses) == {503}
        assert {each.code for each in listeners.refused} <= {"store_unavailable", "store_busy"}
        assert listeners.unanswered == 0
        assert_can_be_read(server)
        assert connections(postgres) <= MOST_CONNECTIONS
        assert server.stop() == 0
    assert problems(server.store, listeners.acknowledged) == []
    tell(f"{len(listeners.refused)} refused; stored again after {max(recovered):.2f} s")
    assert max(recovered) < LONGEST_RECONNECTION


@pytest.mark.parametrize("cuts", [10, pytest.param(100, marks=pytest.mark.long)])
def test_a_line_that_is_cut_loses_nothing(
    tmp_path: Path, postgres: PostgresServer, cuts: int
) -> None:
    with (
        Line(postgres, postgres.new_schema()) as line,
        harmed(tmp_path, store=line.url) as server,
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
        assert_can_be_read(server)
        assert max(line.count, connections(postgres)) <= MOST_CONNECTIONS
        assert server.stop() == 0
        assert problems(server.store, listeners.acknowledged) == []
    statuses = dict(listeners.statuses)
    tell(f"{cuts} cuts: {len(listeners.acknowledged)} acknowledged, {statuses} refused, 0 lost")
    assert seconds < LONGEST_RECONNECTION


# ── A disk that is full (A3), and one that fails (A4) ─────────────────────────────────


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
        pytest.skip("to make a small disk takes an administrator; the store is tested by strace")
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
            assert server.client().get("/health").status_code == 200
            assert server.stop() == 0
        assert problems(server.store, listeners.acknowledged) == []
    tell(f"{len(listeners.refused)} refused; stored again {seconds:.2f} s after there was room")
    assert seconds < LONGEST_RECOVERY


def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(tmp_path: Path) -> None:
    """One sync fails, and all that follow would succeed."""
    fault = failing("fdatasync:error=EIO:when=5", f"{tmp_path / 'radio.db'}-wal")
    with harmed(tmp_path, wrapper=fault) as server:
        with Listeners(server, NAMES, song_ids(server)) as listeners:
            listeners.wait_for_refusals(1)
            # Answers of the group before may still be on their way.
            listeners.wait_until_all_are_refused()
            stored = len(listeners.acknowledged)
            listeners.wait_for_refusals(20)
            assert len(listeners.acknowledged) == stored
            assert stored > 0
            assert server.client().get("/health").status_code == 503
            assert_can_be_read(server)
            assert {(each.status, each.code) for each in listeners.refused} == {
                (503, "store_failed")
            }
            server.kill()
            assert problems(server.store, listeners.acknowledged) == []
            server.wrapper.clear()
            server.start()
            listeners.wait_for(4)
        assert server.client().get("/health").status_code == 200
        wait_until(lambda: "the disk reports an error" in server.output)
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []


# ── One listener rates in several tabs at once, over HTTP (B3) ────────────────────────


TABS = 8
ROUNDS = 10


def at_once(server: Server, told: list[list[dict[str, Any]]]) -> list[list[httpx.Response]]:
    """Return the answers that each tab gets for what it tells, all of them at the same moment."""
    start = threading.Barrier(len(told))

    def tab(own: list[dict[str, Any]]) -> list[httpx.Response]:
        client, answers = server.client(NAMES[0]), []
        for event in own:
            start.wait(PATIENCE)
            answers.append(client.post("/api/events", json=event))
        offer = client.get("/api/next")
        assert offer.status_code == 200
        assert offer.json()["seq"] >= answers[-1].json()["seq"]
        return answers

    with ThreadPoolExecutor(len(told)) as pool:
        return list(pool.map(tab, told))


def rating(song: str, key: str, stars: int) -> dict[str, Any]:
    return {"key": key, "kind": "rating", "song": song, "stars": stars}


def test_tabs_that_rate_at_once_are_all_heard_in_one_order(tmp_path: Path) -> None:
    with harmed(tmp_path) as server:
        songs = song_ids(server)
        own = [
            [rating(songs[(tab + n) % 9], f"{tab}/{n}", 1 + n % 5) for n in range(ROUNDS)]
            for tab in range(TABS)
        ]
        answers = [answer for tab in at_once(server, own) for answer in tab]
        assert {answer.status_code for answer in answers} == {201}
        assert sorted(answer.json()["seq"] for answer in answers) == list(
            range(1, len(answers) + 1)
        )
        same = [[rating(songs[n], f"same {n}", 3) for n in range(ROUNDS)]] * TABS
        for together in zip(*at_once(server, same), strict=True):
            statuses = sorted(answer.status_code for answer in together)
            assert statuses == [200] * (TABS - 1) + [201]
            assert len({answer.json()["seq"] for answer in together}) == 1
        seq = server.client(NAMES[0]).get("/api/next").json()["seq"]
        with open_store(server.store) as store, store.reading() as connection:
            account = server.ids[NAMES[0]]
            log = list(events.after(connection, account))
            assert events.check_chain(connection, account) == []
        assert len(log) == (TABS + 1) * ROUNDS == seq
        assert len(fold(log).plays) > 0
