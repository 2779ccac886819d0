"""Many tasks at once: every result once, with any number of processes; failures are reported."""

from __future__ import annotations

import math
import operator
import os
import signal
import time
from collections.abc import Iterator

import pytest

from bandstand._util.parallel import usable_cores
from bandstand.errors import BandstandError, InvalidInputError
from bandstand_lab.report import tasks as tasks_module
from bandstand_lab.report.tasks import check_one_place, run_tasks
from tests.fixtures.music.dask_cluster import Cluster, cluster


def _square(value: int) -> int:
    return value * value


def _refuse(value: int) -> int:
    if value == 3:
        msg = "three was expected elsewhere"
        raise InvalidInputError(msg)
    return value


def _die(value: int) -> int:
    if value == 2:
        os._exit(1)
    return value


@pytest.mark.parametrize("workers", [1, 2, None])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_every_task_has_its_result_once(workers: int | None, count: int) -> None:
    found = sorted(run_tasks(_square, list(range(count)), workers=workers))
    assert found == [(number, number**2) for number in range(count)]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_task_raises_is_raised_here(workers: int) -> None:
    with pytest.raises(InvalidInputError, match="three was expected elsewhere"):
        list(run_tasks(_refuse, list(range(6)), workers=workers))


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(BandstandError, match="must live until they are done"):
        list(run_tasks(_die, list(range(6)), workers=2))
    assert sorted(run_tasks(_square, [1, 2], workers=2)) == [(0, 1), (1, 4)]  # and the next works


def test_no_workers_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one worker, got 0"):
        run_tasks(_square, [1], workers=0)
    assert usable_cores() >= 1


def test_workers_of_this_machine_are_refused_for_a_cluster() -> None:
    with pytest.raises(InvalidInputError, match="--workers is for this machine"):
        check_one_place(2, "tcp://127.0.0.1:9")
    check_one_place(2, None)
    check_one_place(None, "tcp://127.0.0.1:9")


# ── On a cluster ─────────────────────────────────────────────────────────────────────────
# Its workers do not have these tests, so the functions are those of Python itself.


@pytest.fixture(scope="module")
def one_worker() -> Iterator[Cluster]:
    with cluster(workers=1) as started:
        yield started


@pytest.mark.parametrize("count", [0, 1, 20])
def test_a_cluster_gives_every_result_once(one_worker: Cluster, count: int) -> None:
    values = list(range(count))
    found = sorted(run_tasks(operator.neg, values, scheduler=one_worker.address))
    assert found == [(number, -number) for number in values]


def test_a_cluster_gets_a_few_tasks_at_a_time(one_worker: Cluster) -> None:
    sent = []

    class Watched(list[int]):
        def __iter__(self) -> Iterator[int]:
            for value in super().__iter__():
                sent.append(value)
                yield value

    run = run_tasks(operator.neg, Watched(range(50)), scheduler=one_worker.address)
    for done, _ in enumerate(run):
        assert len(sent) <= done + tasks_module._TASKS_PER_THREAD
    assert len(sent) == 50


def test_what_a_task_raises_on_a_cluster_is_raised_here(one_worker: Cluster) -> None:
    with pytest.raises(ValueError, match="math domain"):
        list(run_tasks(math.sqrt, [4, -1], scheduler=one_worker.address))
    # Not taken for a lost connection, which is an error of the same family.
    with pytest.raises(FileNotFoundError, match="/no/such/place"):
        list(run_tasks(os.listdir, ["/no/such/place"], scheduler=one_worker.address))


def test_a_task_that_ends_its_worker_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    with cluster(workers=1) as started:
        run = run_tasks(os._exit, [1], scheduler=started.address)
        with pytest.raises(BandstandError, match="must live until they are done") as refused:
            list(run)
    assert len(str(refused.value).splitlines()) == 1


def test_a_worker_killed_in_the_middle_loses_nothing() -> None:
    with cluster(workers=2) as started:
        run = run_tasks(time.sleep, [0.05] * 30, scheduler=started.address)
        found = [next(run)]
        started.workers[0].send_signal(signal.SIGKILL)
        found += run
    assert sorted(found) == [(number, None) for number in range(30)]


def test_a_cluster_that_is_lost_on_the_way_is_told() -> None:
    with cluster(workers=1) as started:
        run = run_tasks(time.sleep, [0.05] * 100, scheduler=started.address)
        next(run)
        started.scheduler.kill()
        with pytest.raises(BandstandError, match="must stay until the end, but it was lost"):
            list(run)
