"""Interrupted, gone on elsewhere, asked twice at once: nothing is lost and nothing doubled."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from bandstand.core.recommender import Recommender
from bandstand.store import studies
from bandstand.web.app import create_app
from bandstand.web.requests.context import make_context
from tests.fixtures.web.requests import Client
from tests.fixtures.web.studies import Participant, begin_study, participant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.web.worlds import World


@pytest.fixture
def ann(world: World) -> Participant:
    begin_study(world)
    return participant(world).join()


@pytest.fixture
def choosing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """An algorithm that says when it begins to choose, and ends when it is told to."""
    begun, may_end = threading.Event(), threading.Event()
    quick = Recommender.recommend

    def recommend(self: Recommender, *given: Any, **named: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        return quick(self, *given, **named)

    monkeypatch.setattr(Recommender, "recommend", recommend)
    yield begun, may_end
    may_end.set()


def songs(person: Participant, arm: str) -> list[studies.SongRow]:
    with person.world.store.reading() as connection:
        return studies.songs_of(connection, arm)


def wait_for_a_song(person: Participant, arm: str) -> None:
    while not songs(person, arm):
        time.sleep(0.01)


def test_the_song_that_waits_is_the_same_on_every_device(ann: Participant) -> None:
    arm = ann.begin()
    offer = ann.offered(arm)
    phone = ann.elsewhere()
    assert phone.status()["pending"] == {"arm": arm, **offer}
    assert phone.offered(arm) == offer
    ann.wait(30)
    assert phone.ask_to_rate(arm, 1, 5, played_seconds=30.0).status == 200
    assert ann.status() == phone.status()
    # The first device did not hear of it, and sends what it has.
    assert ann.ask_to_rate(arm, 1, 5, played_seconds=30.0).status == 200
    assert ann.ask_to_rate(arm, 1, 1, played_seconds=30.0).code == "already_rated"
    assert [(row.number, row.stars) for row in songs(ann, arm)] == [(1, 5)]


def test_begun_here_and_finished_there(ann: Participant) -> None:
    arm = ann.begin()
    for stars in (5, 1, 3):
        ann.rate(arm, stars)
        ann = ann.elsewhere()
    assert [(row.number, row.stars) for row in songs(ann, arm)] == [(1, 5), (2, 1), (3, 3)]
    assert ann.arm_status(arm)["state"] == "done"


def test_another_process_knows_what_this_one_was_told(world: World, ann: Participant) -> None:
    arm = ann.begin()
    ann.rate(arm, 5)
    offer = ann.offered(arm)
    other = make_context(
        world.store, world.context.radio, clock=world.clock, settings=world.context.settings
    )
    try:
        there = Client(create_app(other), world.runner)
        there.cookies = dict(ann.client.cookies)
        person = Participant(world, ann.account, there)
        assert person.offered(arm) == offer
        ann.wait(30)
        assert person.ask_to_rate(arm, 2, 1, played_seconds=30.0).status == 200
    finally:
        other.close()
    assert ann.ask_to_rate(arm, 2, 1, played_seconds=30.0).status == 200
    ann.rate(arm, 3)
    assert [(row.number, row.stars) for row in songs(ann, arm)] == [(1, 5), (2, 1), (3, 3)]


def test_many_questions_at_once_get_one_song(world: World, ann: Participant) -> None:
    arm = ann.begin()
    phone = ann.elsewhere()

    async def ask() -> list[Any]:
        path = f"/api/study/arms/{arm}/next"
        asked = [one.client.asking("POST", path) for one in (ann, phone) for _ in range(4)]
        return [answer.json() for answer in await asyncio.gather(*asked)]

    answers = world.runner.run(ask())
    assert all(answer == answers[0] for answer in answers)
    assert len(songs(ann, arm)) == 1


def test_many_ratings_at_once_count_once(world: World, ann: Participant) -> None:
    arm = ann.begin()
    ann.offered(arm)

    async def tell() -> list[int]:
        path = f"/api/study/arms/{arm}/ratings"
        told = [
            ann.client.asking("POST", path, json={"number": 1, "stars": stars, "known": True})
            for stars in (4, 4, 4, 2, 2)
        ]
        return [answer.status for answer in await asyncio.gather(*told)]

    statuses = world.runner.run(tell())
    kept = songs(ann, arm)
    assert len(kept) == 1
    counts = {4: (3, 2), 2: (2, 3)}[kept[0].stars or 0]
    assert (statuses.count(200), statuses.count(409)) == counts


def test_who_hangs_up_does_not_lose_the_song(
    world: World, ann: Participant, choosing: tuple[threading.Event, threading.Event]
) -> None:
    begun, may_end = choosing
    arm = ann.begin()

    async def hang_up() -> None:
        asking = asyncio.create_task(ann.client.asking("POST", f"/api/study/arms/{arm}/next"))
        assert await asyncio.to_thread(begun.wait, 60)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    world.runner.run(hang_up())
    assert ann.status()["pending"] is None
    may_end.set()
    offer = ann.offered(arm)
    assert offer["number"] == 1
    assert [row.song for row in songs(ann, arm)] == [offer["song"]["id"]]


def test_while_a_song_is_chosen_nothing_tells_when_it_is(
    world: World, choosing: tuple[threading.Event, threading.Event]
) -> None:
    """Whoever asks all the time where they stand sees the song no sooner than its answer."""
    begun, may_end = choosing
    begin_study(world, answer_seconds=1.0)
    ann = participant(world).join()
    arm = ann.begin()

    async def look() -> tuple[Any, Any, Any]:
        asking = asyncio.create_task(ann.client.asking("POST", f"/api/study/arms/{arm}/next"))
        assert await asyncio.to_thread(begun.wait, 60)
        during = await ann.client.asking("GET", "/api/study")  # and it does not wait either
        may_end.set()
        await asyncio.to_thread(wait_for_a_song, ann, arm)
        chosen = await ann.client.asking("GET", "/api/study")
        return during.json()["study"], chosen.json()["study"], (await asking).json()

    during, chosen, offer = world.runner.run(look())
    assert during["pending"] is None
    assert chosen == during
    # Nor by a rating that is sent again and again until it is taken.
    assert ann.ask_to_rate(arm, 1, known=True).code == "not_offered"
    ann.wait(1.0)
    assert ann.status()["pending"] == {"arm": arm, **offer, "may_rate_in": 30.0}
    assert ann.ask_to_rate(arm, 1, known=True).status == 200
