"""What becomes of events when a process, a disk or a server fails under it."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from bandstand.errors import StoreError
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.database.writer import GroupWriter
from bandstand.store.events import events
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.cli.run_command import environment
from tests.fixtures.programs import require_program
from tests.fixtures.store.postgres_server import PostgresServer
from tests.fixtures.store.sample_log import account_and_songs, adding, rating
from tests.fixtures.store.send_events import prepare
from tests.fixtures.waiting import wait_until

THREADS = 4
SECONDS = 60


def kill(place: str, count: int, seed: int) -> int:
    """Return how many events were acknowledged by processes that were killed, none of them lost."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fixtures.store.kill_writers", place, str(count), str(seed)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE + 10 * count,
    )
    assert done.returncode == 0, done.stderr
    turns = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(turns) == count
    for turn in turns:
        assert (turn["lost"], turn["doubled"], turn["problems"]) == (0, 0, [])
    return sum(turn["told"] for turn in turns)


@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.long)])
def test_a_kill_loses_and_doubles_nothing(place: str, kills: int) -> None:
    assert kill(place, kills, seed=1) > kills


def send_with_fault(folder: Path, fault: str, *, each: int) -> tuple[list[list[str]], set[str]]:
    """Return what a process says that meets a fault, and what the store holds afterwards."""
    place = str(folder / "radio.db")
    prepare(place, THREADS)
    strace = require_program("strace")
    command = f"{strace} -f --seccomp-bpf -qq -o /dev/null -P {place}-wal -e inject={fault}".split()
    command += [sys.executable, "-m", "tests.fixtures.store.send_events", place]
    command += [str(each), "--threads", str(THREADS)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    with open_store(place) as store, store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
        ids = [account.id for account in accounts.all_accounts(connection)]
        assert [it for account in ids for it in events.check_chain(connection, account)] == []
        log = [event for account in ids for event in events.after(connection, account)]
    stored = {f"stored {event.account} {event.key} {event.seq}" for event in log}
    return [line.split(" ", 2) for line in done.stdout.splitlines()], stored


def acknowledged(said: list[list[str]]) -> set[str]:
    return {" ".join(words) for words in said if words[0] == "stored"}


def test_a_full_disk_is_told_and_all_goes_on_when_there_is_room(tmp_path: Path) -> None:
    said, stored = send_with_fault(tmp_path, "pwrite64:error=ENOSPC:when=40..70", each=30)
    refused = Counter(words[2] for words in said if words[0] == "refused")
    assert set(refused) == {"StoreFullError"}
    assert acknowledged(said) == stored  # what was refused is not there
    last = said[-5:-1]
    assert {words[0] for words in last} == {"stored"}
    assert said[-1] == ["failure", "None"]


@pytest.mark.parametrize("fault", ["fdatasync:error=EIO:when=5+", "pwrite64:error=EIO:when=30+"])
def test_after_a_failed_disk_nothing_more_is_acknowledged(tmp_path: Path, fault: str) -> None:
    said, stored = send_with_fault(tmp_path, fault, each=30)
    kinds = [words[0] for words in said[:-1]]
    first = kinds.index("refused")
    assert first > 0
    assert {words[2] for words in said if words[0] == "refused"} == {"StoreFailedError"}
    # Those of the group before may still have been on their way to their threads.
    assert kinds[first:].count("stored") < THREADS
    assert acknowledged(said) <= stored
    assert said[-1][0] == "failure"
    assert "the disk reports an error" in " ".join(said[-1])


def test_a_disk_that_failed_once_is_not_believed_again(tmp_path: Path) -> None:
    """The second fdatasync would say that all is well, and what the first lost stays lost."""
    said, stored = send_with_fault(tmp_path, "fdatasync:error=EIO:when=5", each=30)
    assert len(acknowledged(said)) < 5 * THREADS
    assert said[-1] != ["failure", "None"]
    assert acknowledged(said) <= stored


class Senders:
    """Threads that send events, one account each, and send again what was not answered."""

    def __init__(self, group: GroupWriter, ids: list[str], song: str) -> None:
        self.answered: dict[str, list[int]] = {account: [] for account in ids}
        self.troubles: Counter[type] = Counter()
        self._group = group
        self._song = song
        self._leave = threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(account,)) for account in ids]
        for thread in self._threads:
            thread.start()

    def _send(self, account: str) -> None:
        answered = self.answered[account]
        while not self._leave.is_set():
            new = rating(account, self._song, str(len(answered)))
            try:
                done = self._group.submit(adding(new), order=account).result(SECONDS)
            except StoreError as problem:
                self.troubles[type(problem)] += 1
                time.sleep(0.02)
            else:
                answered.append(done.event.seq)

    def wait_for_more(self, number: int = 40) -> None:
        """Return when `number` more events were answered."""
        goal = self._count() + number
        wait_until(lambda: self._count() >= goal)

    def wait_for_trouble(self) -> None:
        """Return when one more event was refused."""
        goal = self.troubles.total() + 1
        wait_until(lambda: self.troubles.total() >= goal)

    def stop(self) -> None:
        """Let what is on its way be answered, and end."""
        self._leave.set()
        for thread in self._threads:
            thread.join()

    def _count(self) -> int:
        return sum(map(len, self.answered.values()))


def test_a_server_that_is_restarted_under_load_loses_nothing(own_server: PostgresServer) -> None:
    with open_store(own_server.new_schema(), wait=2) as store:
        ids = [account_and_songs(store)[0] for _ in range(THREADS)]
        _, songs = account_and_songs(store)
        with GroupWriter(store) as group:
            senders = Senders(group, ids, songs[0])
            for number in (signal.SIGQUIT, signal.SIGINT):  # at once, then politely
                senders.wait_for_more()
                own_server.halt(number)
                senders.wait_for_trouble()
                own_server.start()
            senders.wait_for_more()
            senders.stop()
            assert group.failure is None
        assert set(senders.troubles) == {StoreError}
        with store.reading() as connection:
            for account, answered in senders.answered.items():
                log = list(events.after(connection, account))
                assert [event.seq for event in log] == answered
                assert [event.key for event in log] == [str(n) for n in range(len(log))]
                assert events.check_chain(connection, account) == []
        assert store._engines.writer.pool.checkedout() == 0  # type: ignore[attr-defined]
