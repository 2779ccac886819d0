"""A study by HTTP: what a participant is told, and that no rule of it can be broken."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bandstand.core.recommender import Recommender
from bandstand.store import studies
from bandstand.store.transfer.jsonl import export_lines
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.waiting import wait_until
from tests.fixtures.web.requests import Answer
from tests.fixtures.web.studies import (
    HOUR,
    SECOND,
    TITLE,
    Participant,
    begin_study,
    close_study,
    invited,
    participant,
)
from tests.fixtures.web.worlds import PASSWORD, World


def refused(answer: Answer, code: str, *words: str, until: int | None = None) -> dict[str, Any]:
    """Return the error of an answer that must be a refusal by this rule, in these words."""
    assert (answer.status, answer.code) == (409, code), answer
    error: dict[str, Any] = answer.json()["error"]
    for word in words:
        assert word in error["message"], error
    assert error.get("until") == until
    assert (answer.header("retry-after") is None) == (until is None)
    return error


@pytest.fixture
def ann(world: World) -> Participant:
    """Somebody who has agreed, in a study that has just been opened."""
    begin_study(world)
    return participant(world).join()


# ── Where one stands ────────────────────────────────────────────────────────────────────


def test_without_a_study_there_is_nothing_to_take_part_in(world: World) -> None:
    ann = participant(world)
    assert ann.client.ask("GET", "/api/study").json() == {"study": None}
    assert ann.client.ask("GET", "/api/session").json()["study"] is None
    for answer in (
        ann.ask_to_join(),
        ann.ask_to_begin("0" * 16),
        ann.ask_next("0" * 16),
        ann.ask_to_rate("0" * 16, 1, known=True),
    ):
        refused(answer, "closed", "must be open")
    refused(ann.ask_to_withdraw(), "no_consent", "must take part")
    assert world.admin().ask("GET", "/api/admin/study").json() == {"study": None}


def test_who_has_not_agreed_reads_what_it_is_about(world: World) -> None:
    begin_study(world)
    ann = participant(world)
    assert ann.client.ask("GET", "/api/session").json()["study"] == {"only": False, "joined": False}
    found = ann.status()
    assert (found["title"], found["state"], found["joined"]) == (TITLE, "consent", False)
    assert "voluntary" in found["consent"]
    assert (found["arms"], found["pending"], found["parts"]) == ([], None, 3)
    assert found["rules"] == {
        "ratings_per_arm": 3,
        "listen_seconds": 30.0,
        "rest_after": 2,
        "rest_seconds": 240.0,
        "arms_per_day": 2,
        "gap_hours": 6.0,
        "answer_seconds": 0.0,
    }


def test_who_agrees_gets_parts_in_an_order_of_their_own(ann: Participant) -> None:
    found = ann.status()
    assert (found["state"], found["place"], found["joined"]) == ("begin", 1, True)
    assert ann.ask_to_join().json()["study"] == found  # again, and nothing changes
    assert [(arm["place"], arm["state"], arm["rated"], arm["of"]) for arm in found["arms"]] == [
        (1, "waiting", 0, 3),
        (2, "waiting", 0, 3),
        (3, "waiting", 0, 3),
    ]
    assert len({arm["id"] for arm in found["arms"]}) == 3
    assert ann.client.ask("GET", "/api/session").json()["study"] == {"only": False, "joined": True}


def test_an_account_that_was_made_for_the_study_has_only_that(world: World) -> None:
    person = invited(world, begin_study(world))
    assert person.client.ask("GET", "/api/session").json()["study"] == {
        "only": True,
        "joined": False,
    }
    assert person.status()["state"] == "consent"
    assert person.join().status()["only"]


def test_a_whole_study_from_consent_to_its_end(ann: Participant) -> None:
    for place in (1, 2, 3):
        found = ann.status()
        ann.wait(found["wait_seconds"] or 0)
        found = ann.status()
        assert (found["state"], found["place"]) == ("begin", place)
        arm = ann.begin(place)
        assert ann.status()["state"] == "listen"
        for number in (1, 2, 3):
            assert ann.arm_status(arm)["rated"] == number - 1
            ann.rate(arm, stars=number)
        assert ann.arm_status(arm) == {
            "id": arm,
            "place": place,
            "state": "done",
            "rated": 3,
            "of": 3,
        }
    found = ann.status()
    assert (found["state"], found["place"], found["wait_seconds"]) == ("done", None, None)


def test_a_song_waits_for_its_rating(ann: Participant) -> None:
    arm = ann.begin()
    offer = ann.offered(arm)
    assert set(offer) == {"number", "song", "may_rate_in", "rated", "of"}
    assert (offer["number"], offer["rated"], offer["of"]) == (1, 0, 3)
    assert offer["may_rate_in"] == 30.0
    ann.wait(10)
    again = ann.offered(arm)
    assert again == {**offer, "may_rate_in": 20.0}
    assert ann.status()["pending"] == {"arm": arm, **again}
    ann.wait(60)
    assert ann.offered(arm)["may_rate_in"] == 0.0


# ── Every rule that is broken is refused, and may be kept afterwards ────────────────────


def test_a_song_is_heard_before_it_is_rated(world: World, ann: Participant) -> None:
    arm = ann.begin()
    ann.offered(arm)
    at = world.clock()
    ann.wait(12)
    early = ann.ask_to_rate(arm, 1, played_seconds=30.0)
    error = refused(early, "too_early", "heard for 30 s", "may be rated in", until=at + 30 * SECOND)
    assert early.header("retry-after") == "18"
    assert "got 12" in error["message"]
    ann.wait(18)
    # Paused: there was time, but nothing was heard.
    paused = ann.ask_to_rate(arm, 1, played_seconds=5.0)
    refused(paused, "too_early", "heard for 30 s", until=world.clock() + 25 * SECOND)
    silent = ann.ask_to_rate(arm, 1)
    refused(silent, "too_early", until=world.clock() + 30 * SECOND)
    assert ann.arm_status(arm)["rated"] == 0
    assert ann.ask_to_rate(arm, 1, played_seconds=30.0).status == 200


def test_there_is_a_rest_after_every_few_songs(world: World, ann: Participant) -> None:
    arm = ann.begin()
    ann.rate(arm)
    ann.rate(arm)
    until = world.clock() + 240 * SECOND
    ann.wait(100)
    found = ann.status()
    assert (found["state"], found["why"], found["until"]) == ("rest", "resting", until)
    assert found["wait_seconds"] == 140.0
    assert "rest" in found["message"]
    answer = ann.ask_next(arm)
    refused(answer, "resting", "a rest of 4 min", "2 min 20 s", until=until)
    assert answer.header("retry-after") == "140"
    ann.wait(140)
    assert ann.ask_next(arm).status == 200


def test_every_other_rule_that_is_broken_is_refused_by_its_code(
    world: World, ann: Participant
) -> None:
    """The rules themselves: `tests/study/test_protocol.py`."""
    stranger, first, second = participant(world, "Bob"), ann.arm(1), ann.arm(2)
    for answer in (
        stranger.ask_to_begin(first),
        stranger.ask_next(first),
        stranger.ask_to_rate(first, 1, known=True),
    ):
        refused(answer, "no_consent", "agreed")
    refused(ann.ask_to_begin(second), "unfinished", "part 1 must be finished before part 2")
    refused(ann.ask_next(first), "not_begun", "must be begun")
    ann.begin(1)
    assert ann.ask_to_begin(first).status == 200  # again, from another tab
    refused(ann.ask_to_rate(first, 1, known=True), "not_offered", "none")
    ann.offered(first)
    refused(ann.ask_to_rate(first, 2, known=True), "not_offered", "song 1", "got song 2")
    rated = ann.ask_to_rate(first, 1, 5, known=True)
    again = ann.ask_to_rate(first, 1, 5, known=True)
    assert (again.status, again.json()) == (200, rated.json())
    refused(ann.ask_to_rate(first, 1, 2, known=True), "already_rated", "rated once")
    assert ann.arm_status(first)["rated"] == 1
    ann.finish(first)
    refused(ann.ask_next(first), "finished", "all 3 rated")
    refused(ann.ask_to_begin(first), "finished")
    at = world.clock()
    ann.wait(2 * 3_600)
    soon = ann.ask_to_begin(second)
    refused(soon, "too_soon", "6 hours must pass", "got 2 h", until=at + 6 * HOUR)
    found = ann.status()
    assert (found["state"], found["why"], found["place"]) == ("wait", "too_soon", 2)
    assert found["wait_seconds"] == 4 * 3_600
    ann.wait(4 * 3_600)
    ann.finish(ann.begin(2))
    ann.wait(6 * 3_600)
    third = ann.ask_to_begin(ann.arm(3))
    refused(third, "too_many_today", "at most 2 parts within 24 hours", until=at + 24 * HOUR)


def test_a_closed_study_takes_nothing_more(world: World) -> None:
    study = begin_study(world)
    ann = participant(world).join()
    arm = ann.begin()
    ann.rate(arm)
    ann.offered(arm)
    rated = ann.rows()[0].rated
    later = ann.arm(2)
    close_study(world, study)
    refused(ann.ask_next(arm), "closed", "closed")
    refused(ann.ask_to_rate(arm, 2, known=True), "closed")
    refused(ann.ask_to_begin(later), "closed")
    assert ann.client.ask("GET", "/api/study").json() == {"study": None}
    # The way to withdraw stays.
    told = ann.client.ask("GET", "/api/session").json()["study"]
    assert told == {"only": False, "joined": True}
    with world.store.reading() as connection:
        assert studies.arms(connection, study.id, ann.account.id)[0].rated == rated == 1


BAD_RATINGS: list[dict[str, Any]] = [
    {"number": 1, "stars": 0, "known": True},
    {"number": 1, "stars": 6, "known": True},
    {"number": 1, "stars": 4.0, "known": True},
    {"number": 1, "stars": True, "known": True},
    {"number": 1, "stars": "4", "known": True},
    {"number": 1, "stars": 4, "known": 1},
    {"number": 0, "stars": 4, "known": True},
    {"stars": 4, "known": True},
    {"number": 1, "stars": 4, "played_seconds": -1},
    {"number": 1, "stars": 4, "at": 5},
]


def test_what_is_not_as_documented_is_refused(ann: Participant) -> None:
    arm = ann.begin()
    ann.offered(arm)
    before = ann.rows()
    requests: list[tuple[str, str, dict[str, Any]]] = [
        *(("POST", "consent", body) for body in ({"agree": False}, {"agree": 1}, {})),
        *(("POST", f"arms/{arm}/ratings", body) for body in BAD_RATINGS),
        *(("DELETE", "participation", body) for body in ({"confirm": "yes"}, {})),
    ]
    for method, path, body in requests:
        answer = ann.client.ask(method, f"/api/study/{path}", json=body)
        assert (answer.status, answer.code) == (422, "invalid"), (path, body)
        assert ann.rows() == before


# A study that cannot be read says so, and the radio goes on.


@pytest.mark.parametrize(
    "damage",
    [
        "catalogue = X'00'",
        "design = '{\"seed\": -1.5}'",
        "design = '{\"title\": 3}'",
        "design = 'no JSON'",
    ],
)
def test_a_study_that_cannot_be_read_is_said_to_be(world: World, damage: str) -> None:
    study = begin_study(world)
    with world.store.writing() as connection:
        changed = text(f"UPDATE study SET {damage} WHERE id = :id")  # noqa: S608
        connection.execute(changed, {"id": study.id})
    ann = participant(world)
    answer = ann.client.ask("GET", "/api/study")
    assert (answer.status, answer.code) == (503, "study_unreadable")
    message = answer.json()["error"]["message"]
    assert message == "the study cannot be read; the server's operator has to repair it"
    assert ann.ask_to_join().code == "study_unreadable"
    assert ann.client.ask("GET", "/api/session").status == 200
    assert ann.client.ask("GET", "/api/next").status == 200


# Interrupted, gone on elsewhere, asked twice at once: nothing is lost and nothing doubled.


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
        await asyncio.to_thread(wait_until, lambda: bool(songs(ann, arm)))
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


# Whoever withdraws leaves nothing behind: searched for byte by byte, in the store and beyond.


def listened(person: Participant) -> list[str]:
    """Let somebody take part for a while; return all ids that stand for what they did."""
    person.join()
    arm = person.begin()
    for stars in (5, 1, 4):
        person.rate(arm, stars)
    person.wait(6 * 3_600)
    person.rate(person.begin(2))
    person.offered(person.arm(2))  # and one that waits
    return [row.id for row in person.rows()]


def found_in_files(folder: Path, words: list[str]) -> list[str]:
    """Return which words are anywhere in the files of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert any(path.name == "radio.db" for path in files)
    return [
        f"{path.name}: {word}"
        for path in files
        for content in [path.read_bytes()]
        for word in words
        if word.encode() in content or word.encode("utf-16-le") in content
    ]


def exported(world: World) -> str:
    """Return all lines of the whole store's export."""
    return "\n".join(export_lines(world.store))


def in_memory(*, but: list[Recommender]) -> list[Recommender]:
    """Return the recommenders that this process has, but for those that others made before."""
    gc.collect()
    known = {id(one) for one in but}  # they are held by the list, so no other has their number
    return [one for one in gc.get_objects() if type(one) is Recommender and id(one) not in known]


@pytest.mark.parametrize("when", ["open", "closed"])
def test_an_account_that_was_made_for_the_study_is_gone_altogether(
    world: World, tmp_path: Path, when: str
) -> None:
    study = begin_study(world)
    ann, bob = invited(world, study, "Withdrawn Ann"), invited(world, study, "Staying Bob")
    words = [*listened(ann), ann.account.id, "Withdrawn Ann"]
    kept = listened(bob)
    phone = ann.elsewhere()
    if when == "closed":
        close_study(world, study)
    before = len(found_in_files(tmp_path, words))
    assert before >= len(words)  # the search finds what is there
    assert "Withdrawn Ann" in exported(world)

    answer = ann.ask_to_withdraw()

    assert answer.status == 204
    assert "max-age=0" in (answer.header("set-cookie") or "").lower()
    assert NAME not in ann.client.cookies
    assert found_in_files(tmp_path, words) == []
    assert [word for word in words if word in exported(world)] == []
    assert phone.client.ask("GET", "/api/session").status == 401
    zoe = world.admin()
    shown = [
        zoe.ask("GET", path).body.decode() for path in ("/api/admin/study", "/api/admin/users")
    ]
    assert not any(word in text for word in words for text in shown)
    login = {"name": "Withdrawn Ann", "password": PASSWORD}
    assert world.stranger().ask("POST", "/api/session", json=login).status == 401
    # Nobody else lost anything.
    assert all(f"radio.db: {word}" in found_in_files(tmp_path, kept) for word in kept)
    if when == "open":
        assert [row.rated for row in bob.rows()] == [3, 1, 0]
        assert zoe.ask("GET", "/api/admin/study").json()["study"]["participants"] == [
            {
                "number": 2,
                "joined_at": joined_at(bob, study.id),
                "parts_done": 1,
                "ratings": 4,
                "last_at": bob.rows()[1].last_rated_at,
            }
        ]


def joined_at(person: Participant, study: str) -> int | None:
    with person.world.store.reading() as connection:
        row = studies.participant(connection, study, person.account.id)
    assert row is not None
    return row.joined_at


def test_an_account_of_ones_own_stays_without_the_study(world: World, tmp_path: Path) -> None:
    begin_study(world)
    ann = participant(world)
    event = {"key": "1", "kind": "rating", "song": world.songs[0], "stars": 5}
    assert ann.client.ask("POST", "/api/events", json=event).status == 201
    words = listened(ann)
    assert found_in_files(tmp_path, words)
    answer = ann.ask_to_withdraw()
    assert (answer.status, answer.header("set-cookie")) == (204, None)
    assert found_in_files(tmp_path, words) == []
    found = ann.status()
    assert (found["state"], found["joined"], found["arms"]) == ("consent", False, [])
    own = ann.client.ask("GET", "/api/history/export").body.decode()
    assert [word for word in words if word in own] == []
    assert world.log_length(ann.account) == 1
    assert ann.ask_next(words[0]).code == "no_consent"
    assert ann.ask_to_withdraw().code == "no_consent"
    # Whoever comes back begins anew.
    assert [arm["rated"] for arm in ann.join().status()["arms"]] == [0, 0, 0]
    assert not set(words) & {arm["id"] for arm in ann.status()["arms"]}


@pytest.mark.parametrize("way", ["withdrawal", "removal", "leaving"])
def test_nothing_of_them_stays_in_memory(world: World, way: str) -> None:
    before = in_memory(but=[])
    begin_study(world)
    ann, zoe = participant(world), world.admin()
    listened(ann)
    assert in_memory(but=before)
    if way == "withdrawal":
        assert ann.ask_to_withdraw().status == 204
    elif way == "removal":
        assert zoe.ask("DELETE", f"/api/admin/users/{ann.account.id}").status == 204
    else:
        body = {"password": PASSWORD}
        assert ann.client.ask("DELETE", "/api/settings/account", json=body).status == 204
    assert in_memory(but=before) == []
