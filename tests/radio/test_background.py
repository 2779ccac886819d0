"""What is done beforehand is done on one thread, and nobody depends on it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bandstand.radio.background import MAX_WAITING, BackgroundWorker
from tests.fixtures.waiting import wait_until


def test_everybody_is_prepared_for_once() -> None:
    done, go = [], threading.Event()

    def work(account: str) -> None:
        assert go.wait(30)
        done.append(account)

    worker = BackgroundWorker(work)
    for account in ("ann", "ben", "ben", "ben", "cy"):
        worker.submit(account)
    go.set()
    worker.wait()
    assert done == ["ann", "ben", "cy"]
    worker.close()
    worker.submit("dee")  # it is over, and nobody waits for ever
    worker.wait()
    worker.close()
    assert len(done) == 3


def test_what_goes_wrong_for_one_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done = []

    def work(account: str) -> None:
        if account == "ann":
            msg = "out of luck"
            raise ArithmeticError(msg)
        done.append(account)

    worker = BackgroundWorker(work)
    worker.submit("ann")
    worker.submit("ben")
    worker.wait()
    worker.close()
    assert done == ["ben"]
    assert "the work for a listener failed" in caplog.text


def test_not_everybody_waits_for_ever() -> None:
    done, go = [], threading.Event()

    def work(account: str) -> None:
        assert go.wait(30)
        done.append(account)

    worker = BackgroundWorker(work)
    for number in range(2 * MAX_WAITING):
        worker.submit(str(number))
    go.set()
    worker.wait()
    worker.close()
    assert MAX_WAITING <= len(done) <= MAX_WAITING + 1


def test_who_waits_while_it_is_closed_goes_on() -> None:
    begun, go = threading.Event(), threading.Event()

    def work(_: str) -> None:
        begun.set()
        assert go.wait(30)

    worker = BackgroundWorker(work)
    worker.submit("ann")
    assert begun.wait(30)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(worker.wait)
        wait_until(lambda: waiting.done() or not worker._thread._work_queue.empty())
        pool.submit(worker.close)
        problem = waiting.exception(30)
        go.set()
    assert problem is None
