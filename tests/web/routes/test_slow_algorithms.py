"""Listeners whose algorithm takes long keep nobody waiting who has a quick one."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.registry import ALGORITHMS, DEFAULT
from tests.fixtures.child_processes import PATIENCE

if TYPE_CHECKING:
    from tests.fixtures.web.requests import Client
    from tests.fixtures.web.worlds import World

SLOW = "bayes-ucb-cn"
MANY = 12  # more than there are threads for anything
SHORT = 0.5  # seconds for an answer that never comes


class Blocking:
    """An engine that is not made before the gate is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, is_quick: bool) -> None:
        self.is_open, self.reached = threading.Event(), threading.Semaphore(0)
        one = replace(ALGORITHMS[SLOW], make_engine=self._made, is_quick=is_quick)
        monkeypatch.setitem(ALGORITHMS, SLOW, one)

    def _made(self, prior: Any, _: object) -> Exact:
        self.reached.release()
        assert self.is_open.wait(PATIENCE)
        return Exact(prior=prior)

    async def is_reached_by(self, threads: int) -> None:
        for _ in range(threads):
            assert await asyncio.to_thread(self.reached.acquire, timeout=PATIENCE)


def somebody(world: World, name: str, algorithm: str) -> Client:
    account = world.account(name, password=False)
    world.context.radio.change_settings(account.id, {"algorithm": algorithm}).result()
    return world.member(account)


def is_answered(world: World, gate: Blocking, slow: str, quick: str, *, within: float) -> bool:
    """Return whether somebody gets an answer while many others wait for a slow algorithm."""
    many = [somebody(world, f"ann {number}", SLOW) for number in range(MANY)]
    ben = somebody(world, "ben", DEFAULT)

    async def ask() -> bool:
        theirs = [asyncio.create_task(one.asking("GET", slow)) for one in many]
        await gate.is_reached_by(2)
        his = asyncio.create_task(ben.asking("GET", quick))
        done, _ = await asyncio.wait([his], timeout=within)
        gate.is_open.set()
        answers = await asyncio.gather(his, *theirs)
        assert {answer.status for answer in answers} == {200}
        return bool(done)

    return world.runner.run(ask())


@pytest.mark.parametrize(
    ("slow", "quick"),
    [
        ("/api/next", "/api/next"),
        ("/api/next", "/api/songs"),
        ("/api/playlist?count=2", "/api/playlist?count=2"),
        ("/api/taste", "/api/next"),
        ("/api/songs?sort=expected", "/api/taste"),
        ("/api/songs/SONG", "/api/songs"),
    ],
)
def test_nobody_with_a_quick_algorithm_waits_for_a_slow_one(
    world: World, monkeypatch: pytest.MonkeyPatch, slow: str, quick: str
) -> None:
    gate = Blocking(monkeypatch, is_quick=False)
    asked = slow.replace("SONG", world.songs[0])
    assert is_answered(world, gate, asked, quick, within=PATIENCE)


def test_a_slow_algorithm_that_is_taken_for_a_quick_one_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Blocking(monkeypatch, is_quick=True)
    assert not is_answered(world, gate, "/api/next", "/api/next", within=SHORT)


def test_the_radio_says_at_once_whether_a_listener_has_a_slow_algorithm(world: World) -> None:
    ann, radio = world.account("ann"), world.context.radio
    assert radio.is_quick(ann.id)
    radio.change_settings(ann.id, {"algorithm": SLOW}).result()
    assert not radio.is_quick(ann.id)


def test_what_is_drawn_or_gone_through_again_for_each_rating_is_not_quick() -> None:
    slow = {name for name, algorithm in ALGORITHMS.items() if not algorithm.is_quick}
    assert slow == {"bayes-ucb-cn", "bayes-ucb-cn-v", "bayes-ucb-cnd-v"}
