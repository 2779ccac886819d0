"""What is done beforehand is done on one thread, and nobody depends on it."""

from __future__ import annotations

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

    preparing = BackgroundWorker(work)
    for account in ("ann", "ben", "ben", "ben", "cy"):
        preparing.submit(account)
    go.set()
    preparing.wait()
    assert done == ["ann", "ben", "cy"]
    preparing.close()
    preparing.submit("dee")  # it is over, and nobody waits for ever
    preparing.wait()
    preparing.close()
    assert len(done) == 3


def test_what_goes_wrong_for_one_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    done = []

    def work(account: str) -> None:
        if account == "ann":
            msg = "out of luck"
            raise ArithmeticError(msg)
        done.append(account)

    preparing = BackgroundWorker(work)
    preparing.submit("ann")
    preparing.submit("ben")
    preparing.wait()
    preparing.close()
    assert done == ["ben"]
    assert "preparing for a listener failed" in caplog.text


def test_not_everybody_waits_for_ever() -> None:
    done, go = [], threading.Event()

    def work(account: str) -> None:
        assert go.wait(30)
        done.append(account)

    preparing = BackgroundWorker(work)
    for number in range(2 * MAX_WAITING):
        preparing.submit(str(number))
    go.set()
    preparing.wait()
    preparing.close()
    assert MAX_WAITING <= len(done) <= MAX_WAITING + 1


def test_who_waits_while_it_is_closed_goes_on() -> None:
    begun, go = threading.Event(), threading.Event()

    def work(_: str) -> None:
        begun.set()
        assert go.wait(30)

    preparing = BackgroundWorker(work)
    preparing.submit("ann")
    assert begun.wait(30)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(preparing.wait)
        wait_until(lambda: waiting.done() or not preparing._thread._work_queue.empty())
        pool.submit(preparing.close)
        problem = waiting.exception(30)
        go.set()
    assert problem is None
