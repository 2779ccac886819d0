"""Threads behind a queue that is not endless."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest
from starlette.requests import Request

from bandstand.web.http.concurrency import (
    MAX_WAITING_PER_LISTENER,
    ListenerQueue,
    ThreadPool,
    connected,
    reply_at,
)
from bandstand.web.http.problems import Problem
from bandstand.web.security.passwords import (
    HASHING_THREADS,
    MAX_WAITING_HASHES,
    PasswordPool,
)
from tests.fixtures.web.worlds import World

Ask = Callable[[str, Callable[[], object]], Coroutine[Any, Any, object]]


def test_what_finds_no_room_is_told_to_come_back() -> None:
    async def crowd() -> list[object]:
        workers, go = ThreadPool(threads=2, waiting=3), threading.Event()
        waiting = [asyncio.ensure_future(workers.run(go.wait, 60)) for _ in range(20)]
        await asyncio.sleep(0)  # until all have come
        await asyncio.sleep(0)
        go.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        workers.close()
        return list(found)

    found = asyncio.run(crowd())
    refused = [one for one in found if isinstance(one, Problem)]
    assert len(refused) == 15
    assert {(one.status, one.code) for one in refused} == {(503, "busy")}
    assert all(int(one.headers["Retry-After"]) >= 1 for one in refused)


def test_there_is_room_again_after_failures() -> None:
    def fail() -> None:
        msg = "planned"
        raise RuntimeError(msg)

    async def try_often() -> int:
        workers = ThreadPool(threads=1, waiting=0)
        for _ in range(10):
            with pytest.raises(RuntimeError, match="planned"):
                await workers.run(fail)
        result = await workers.run(lambda: 7)
        workers.close()
        return result

    assert asyncio.run(try_often()) == 7


def test_at_most_two_passwords_are_hashed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work = most = 0
    counting = threading.Lock()

    def hashed(_password: str) -> str:
        nonlocal at_work, most
        with counting:
            at_work += 1
            most = max(most, at_work)
        threading.Event().wait(0.01)
        with counting:
            at_work -= 1
        return ""

    monkeypatch.setattr("bandstand.web.security.passwords.hashed", hashed)

    async def crowd() -> list[object]:
        desk = PasswordPool()
        hashing = [desk.hashed("x") for _ in range(200)]
        found = await asyncio.gather(*hashing, return_exceptions=True)
        desk.close()
        return list(found)

    found = asyncio.run(crowd())
    assert most == HASHING_THREADS
    assert (
        sum(isinstance(one, Problem) for one in found) == 200 - HASHING_THREADS - MAX_WAITING_HASHES
    )


def test_those_who_hash_stand_back_and_nobody_else_does() -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    async def ask() -> tuple[int, int]:
        nice, plain = ThreadPool(1, niceness=10), ThreadPool(1)
        found = await nice.run(niceness), await plain.run(niceness)
        nice.close()
        plain.close()
        return found

    before = niceness()
    nice, plain = asyncio.run(ask())
    # Only Linux knows each thread by itself.
    assert nice == (10 if sys.platform == "linux" else before)
    assert plain == before == niceness()


# One listener who asks for much keeps nobody else waiting.


THREADS = 4


@pytest.fixture
def workers() -> Iterator[ThreadPool]:
    made = ThreadPool(THREADS)
    yield made
    made.close()


async def answered_meanwhile(ask: Ask, names: list[str], own: Ask, *, within: float) -> bool:
    """Return whether Ben is answered in time while others wait for what takes long."""
    over = threading.Event()
    theirs = [asyncio.create_task(ask(name, over.wait)) for name in names]
    await asyncio.sleep(0.05)
    his = asyncio.ensure_future(own("ben", lambda: "a song"))
    done, _ = await asyncio.wait([his], timeout=within)
    over.set()
    await asyncio.gather(his, *theirs)
    return bool(done)


def test_who_asks_for_much_keeps_nobody_waiting(workers: ThreadPool) -> None:
    """The twin: threads that everybody may take all of."""
    much, ask = ["ann"] * 2 * THREADS, ListenerQueue(workers).run
    assert asyncio.run(answered_meanwhile(ask, much, ask, within=60))

    async def at_once(_: str, work: Callable[[], object]) -> object:
        return await workers.run(work)

    assert not asyncio.run(answered_meanwhile(at_once, much, at_once, within=0.5))


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
    quick, turns = ThreadPool(1, name="quick"), ListenerQueue(workers)
    beside = ListenerQueue(quick, beside=turns)
    names = [f"listener {number}" for number in range(THREADS)]
    assert asyncio.run(answered_meanwhile(turns.run, names, beside.run, within=60))
    # Planted: all share the threads.
    assert not asyncio.run(answered_meanwhile(turns.run, names, turns.run, within=0.5))
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


# Answers at a fixed time after the question.


PACE = 0.2  # seconds


async def _soon() -> str:
    return "soon"


async def _late() -> str:
    await asyncio.sleep(2 * PACE)
    return "late"


async def _wrong() -> str:
    msg = "no"
    raise LookupError(msg)


async def _timed(name: str) -> tuple[str, float]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    works = {"soon": _soon, "late": _late, "wrong": _wrong}
    try:
        said = await reply_at(works[name](), at=began + PACE)
    except LookupError as problem:
        said = str(problem)
    return said, loop.time() - began


@pytest.mark.parametrize(
    ("name", "said", "least"),
    [("soon", "soon", PACE), ("wrong", "no", PACE), ("late", "late", 2 * PACE)],
)
def test_what_is_ready_waits_for_its_time_and_what_takes_longer_does_not(
    name: str, said: str, least: float
) -> None:
    answer, seconds = asyncio.run(_timed(name))
    assert answer == said
    assert seconds >= least


def test_a_time_that_has_passed_is_no_reason_to_wait() -> None:
    async def asked() -> str:
        return await reply_at(_soon(), at=0.0)

    assert asyncio.run(asked()) == "soon"


@pytest.mark.parametrize("fails", [False, True])
def test_work_that_nobody_waits_for_any_more_is_done_all_the_same(fails: bool) -> None:
    done = threading.Event()
    go_on = threading.Event()

    def work() -> None:
        go_on.wait(60)
        done.set()
        if fails:
            msg = "nobody hears this"
            raise LookupError(msg)

    async def asked() -> None:
        workers = ThreadPool(1)
        loop = asyncio.get_running_loop()
        waiting = asyncio.create_task(reply_at(workers.run(work), at=loop.time() + 3_600))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go_on.set()
        assert await asyncio.to_thread(done.wait, 60)
        await asyncio.to_thread(workers.close)

    asyncio.run(asked())
    assert done.is_set()


# Work for somebody who has left is not done.


def request_with(messages: Sequence[str]) -> Request:
    """Return a request to which these messages come, and then none."""
    waiting = list(messages)

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": waiting.pop(0)}

    return Request({"type": "http"}, receive)


async def told(messages: Sequence[str]) -> bool:
    """Return whether the client counts as there once all messages have come."""
    async with connected(request_with(messages)) as is_here:
        await asyncio.sleep(0.05)
        return is_here()


@pytest.mark.parametrize(
    ("messages", "is_here"),
    [
        ([], True),
        (["http.request", "http.request"], True),
        (["http.request", "http.disconnect"], False),
    ],
)
def test_who_hangs_up_is_gone_and_nobody_else(messages: list[str], *, is_here: bool) -> None:
    assert asyncio.run(told(messages)) == is_here


def test_a_playlist_ends_when_nobody_wants_it(world: World) -> None:
    radio = world.context.radio
    ann = world.listener("Ann").ask("GET", "/api/session").json()["id"]
    answers = iter([True, True])
    whole = radio.playlist(ann, count=8)
    some = radio.playlist(ann, count=8, is_wanted=lambda: next(answers, False))
    assert [offer.song for offer in some] == [offer.song for offer in whole[:2]]
    assert radio.playlist(ann, count=8, is_wanted=lambda: False) == []


def test_the_watch_ends_with_the_question() -> None:
    async def watched() -> int:
        async with connected(request_with([])):
            pass
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(watched()) == 1  # this one
