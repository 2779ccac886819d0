"""Work for somebody who has left is not done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from bandstand.web.http.concurrency import connected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fixtures.web.worlds import World


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


def test_who_says_nothing_more_is_still_there() -> None:
    assert asyncio.run(told([]))
    assert asyncio.run(told(["http.request", "http.request"]))


def test_who_hangs_up_is_gone() -> None:
    assert not asyncio.run(told(["http.request", "http.disconnect"]))


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
