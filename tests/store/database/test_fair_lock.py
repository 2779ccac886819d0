from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bandstand.store.database.connection import FairLock, open_store
from bandstand.store.songs import scans

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECONDS = 60


def until(is_so: Callable[[], bool]) -> None:
    """Return when something is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def wait_for(lock: FairLock, number: int) -> None:
    """Return when so many wait for their turn."""
    until(lambda: len(lock._queue) > number)


def test_a_turn_is_given_once() -> None:
    lock = FairLock()
    assert lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0)
    assert not lock.acquire(timeout=0.01)
    lock.release()
    assert lock.acquire(timeout=0)


def test_who_waited_longest_is_next_also_before_one_who_never_pauses() -> None:
    lock = FairLock()
    order: list[int] = []

    def work(number: int) -> None:
        assert lock.acquire(timeout=SECONDS)
        order.append(number)
        lock.release()

    assert lock.acquire(timeout=0)
    with ThreadPoolExecutor(5) as pool:
        for number in range(5):
            pool.submit(work, number)
            wait_for(lock, number + 1)
        lock.release()
        assert lock.acquire(timeout=SECONDS)  # at once, and yet behind all of them
        assert order == [0, 1, 2, 3, 4]
        lock.release()


def test_who_gave_up_is_passed_over() -> None:
    lock = FairLock()
    assert lock.acquire(timeout=0)
    with ThreadPoolExecutor(2) as pool:
        impatient = pool.submit(lock.acquire, timeout=0.05)
        # A machine that stands still for that long has missed how it waited, and all is well.
        until(lambda: len(lock._queue) == 2 or impatient.done())
        patient = pool.submit(lock.acquire, timeout=SECONDS)
        assert not impatient.result(SECONDS)
        lock.release()
        assert patient.result(SECONDS)
    lock.release()
    assert lock.acquire(timeout=0)


def test_many_threads_that_give_up_now_and_then_never_share_a_turn() -> None:
    lock = FairLock()
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            if lock.acquire(timeout=0.0005 * (number % 3)):
                inside.append(number)
                most.append(len(inside))
                inside.pop()
                lock.release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert set(most) == {1}
    assert lock.acquire(timeout=0)


def test_a_thread_that_writes_without_a_pause_keeps_nobody_out(tmp_path: Path) -> None:
    begun, leave = threading.Event(), threading.Event()
    with open_store(str(tmp_path / "radio.db"), wait=SECONDS) as store:

        def greedy() -> int:
            lock = 0
            while not leave.is_set():
                with store.writing() as connection:
                    scans.begin(connection, now=1)
                lock += 1
                begun.set()
            return lock

        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(greedy)
            assert begun.wait(SECONDS)
            for _ in range(20):
                with store.writing() as connection:
                    scans.begin(connection, now=1)
            leave.set()
            assert other.result(SECONDS) > 0
