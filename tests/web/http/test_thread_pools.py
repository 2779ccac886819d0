"""Threads behind a queue that is not endless."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest

from bandstand.web.http.concurrency import ThreadPool
from bandstand.web.http.problems import Problem
from bandstand.web.security.passwords import (
    HASHING_THREADS,
    MAX_WAITING_HASHES,
    PasswordPool,
)


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
