"""One listener who asks for much keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from bandstand.web.http.concurrency import MAX_WAITING_PER_LISTENER, ListenerQueue, ThreadPool
from bandstand.web.http.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    Ask = Callable[[str, Callable[[], object]], Coroutine[Any, Any, object]]

THREADS = 4


@pytest.fixture
def workers() -> Iterator[ThreadPool]:
    made = ThreadPool(THREADS)
    yield made
    made.close()


async def answered_meanwhile(ask: Ask, *, within: float) -> bool:
    """Return whether Ben gets an answer in time while Ann has asked for much that takes long."""
    over = threading.Event()
    hers = [asyncio.create_task(ask("ann", over.wait)) for _ in range(2 * THREADS)]
    await asyncio.sleep(0.05)
    his = asyncio.ensure_future(ask("ben", lambda: "a song"))
    done, _ = await asyncio.wait([his], timeout=within)
    over.set()
    await asyncio.gather(his, *hers)
    return bool(done)


def test_who_asks_for_much_keeps_nobody_waiting(workers: ThreadPool) -> None:
    assert asyncio.run(answered_meanwhile(ListenerQueue(workers).run, within=60))


def test_threads_that_everybody_may_take_all_of_are_found_out(workers: ThreadPool) -> None:
    alone = answered_meanwhile(lambda _, work: workers.run(work), within=0.5)
    assert not asyncio.run(alone)


def test_questions_of_one_listener_are_answered_one_after_the_other(workers: ThreadPool) -> None:
    turns, here, most = ListenerQueue(workers), [], []

    def work(number: int) -> int:
        here.append(number)
        most.append(len(here))
        here.remove(number)
        return number

    async def ask() -> list[int]:
        return await asyncio.gather(*(turns.run("ann", work, number) for number in range(20)))

    assert asyncio.run(ask()) == list(range(20))
    assert set(most) == {1}
    assert not turns.waiting


def test_too_many_questions_are_refused_and_those_before_are_answered(workers: ThreadPool) -> None:
    turns = ListenerQueue(workers)

    async def ask() -> list[object]:
        questions = [turns.run("ann", int, "7") for _ in range(MAX_WAITING_PER_LISTENER + 6)]
        return await asyncio.gather(*questions, return_exceptions=True)

    answers = asyncio.run(ask())
    refused = [one for one in answers if isinstance(one, Problem)]
    assert len(refused) == 5
    assert {(one.status, one.code) for one in refused} == {(503, "busy")}
    assert answers.count(7) == MAX_WAITING_PER_LISTENER + 1
    assert not turns.waiting


def test_a_question_that_fails_or_is_given_up_lets_the_next_have_its_turn(
    workers: ThreadPool,
) -> None:
    turns = ListenerQueue(workers)

    async def ask() -> object:
        with pytest.raises(ZeroDivisionError):
            await turns.run("ann", divmod, 1, 0)
        held = threading.Event()
        first = asyncio.create_task(turns.run("ann", held.wait))
        second = asyncio.create_task(turns.run("ann", held.wait))
        await asyncio.sleep(0.02)
        second.cancel()
        held.set()
        await first
        return await turns.run("ann", int, "7")

    assert asyncio.run(ask()) == 7
    assert not turns.waiting


def test_what_is_soon_done_waits_behind_nobodys_long_lists(workers: ThreadPool) -> None:
    """Every thread for long questions is taken; the next song has threads of its own."""
    quick = ThreadPool(1, name="quick")
    turns = ListenerQueue(workers)

    async def answered(ask: Callable[..., Any], *, within: float) -> bool:
        over = threading.Event()
        names = [f"listener {number}" for number in range(THREADS)]
        long = [asyncio.create_task(turns.run(name, over.wait)) for name in names]
        await asyncio.sleep(0.05)
        song = asyncio.ensure_future(ask("ben", str, "a song"))
        done, _ = await asyncio.wait([song], timeout=within)
        over.set()
        await asyncio.gather(song, *long)
        return bool(done)

    assert asyncio.run(answered(ListenerQueue(quick, beside=turns).run, within=60))
    assert not asyncio.run(answered(turns.run, within=0.5))  # planted: all share the threads
    quick.close()


def test_questions_of_one_listener_are_in_one_line_whatever_threads_they_have(
    workers: ThreadPool,
) -> None:
    quick, here, most = ThreadPool(THREADS, name="quick"), [], []
    turns = ListenerQueue(workers)
    both = (turns, ListenerQueue(quick, beside=turns))

    def work(number: int) -> int:
        here.append(number)
        most.append(len(here))
        here.remove(number)
        return number

    async def ask() -> list[int]:
        return await asyncio.gather(
            *(both[number % 2].run("ann", work, number) for number in range(20))
        )

    assert asyncio.run(ask()) == list(range(20))
    assert set(most) == {1}
    assert not turns.waiting
    quick.close()
