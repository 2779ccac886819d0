"""Answers at a fixed time after the question."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bandstand.web.http.concurrency import ThreadPool, reply_at

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


@pytest.mark.parametrize(("name", "said"), [("soon", "soon"), ("wrong", "no")])
def test_what_is_ready_waits_for_its_time(name: str, said: str) -> None:
    answer, seconds = asyncio.run(_timed(name))
    assert answer == said
    assert seconds >= PACE


def test_what_takes_longer_comes_when_it_is_ready() -> None:
    answer, seconds = asyncio.run(_timed("late"))
    assert answer == "late"
    assert seconds >= 2 * PACE


def test_a_time_that_has_passed_is_no_reason_to_wait() -> None:
    async def asked() -> str:
        return await reply_at(_soon(), at=0.0)

    assert asyncio.run(asked()) == "soon"


def test_the_work_begins_at_once() -> None:
    async def asked() -> bool:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()

        loop = asyncio.get_running_loop()
        waiting = asyncio.create_task(reply_at(work(), at=loop.time() + 3_600))
        await begun.wait()
        is_waiting = not waiting.done()
        waiting.cancel()
        return is_waiting

    assert asyncio.run(asked())


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
