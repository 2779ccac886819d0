"""A study by HTTP: what a participant is told, and that no rule of it can be broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

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

if TYPE_CHECKING:
    from tests.fixtures.web.requests import Answer
    from tests.fixtures.web.worlds import World


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
    assert [(arm["place"], arm["state"], arm["rated"], arm["of"]) for arm in found["arms"]] == [
        (1, "waiting", 0, 3),
        (2, "waiting", 0, 3),
        (3, "waiting", 0, 3),
    ]
    assert len({arm["id"] for arm in found["arms"]}) == 3
    assert ann.client.ask("GET", "/api/session").json()["study"] == {"only": False, "joined": True}


def test_to_agree_again_changes_nothing(ann: Participant) -> None:
    before = ann.status()
    assert ann.ask_to_join().json()["study"] == before


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


def test_the_radio_learns_nothing_from_the_study(world: World, ann: Participant) -> None:
    ann.finish(ann.begin())
    assert world.log_length(ann.account) == 0
    assert ann.client.ask("GET", "/api/history").json()["events"] == []
    assert ann.client.ask("GET", "/api/taste").json()["counts"]["ratings"] == 0


def test_administrators_see_how_far_everybody_is(world: World, ann: Participant) -> None:
    zoe = world.admin()
    ann.finish(ann.begin())
    at = world.clock()
    participant(world, "Bob").join()
    participant(world, "Cid")
    found = zoe.ask("GET", "/api/admin/study").json()["study"]
    people = found.pop("participants")
    assert found["title"] == TITLE
    assert (found["parts"], found["ratings_per_arm"]) == (3, 3)
    # By number, and numbers are drawn.
    told = {(one["parts_done"], one["ratings"], one["last_at"]) for one in people}
    assert told == {(1, 3, at), (0, 0, None)}
    first, second = (one["number"] for one in people)
    assert 1 <= first < second <= 6  # rows of the square of three algorithms


# ── Every rule that is broken is refused, and may be kept afterwards ────────────────────


def test_nobody_takes_part_without_consent(world: World) -> None:
    study = begin_study(world)
    person, stranger = invited(world, study), participant(world, "Bob")
    own = participant(world, "Ann").join().arm()
    for somebody in (person, stranger):
        for answer in (
            somebody.ask_to_begin(own),
            somebody.ask_next(own),
            somebody.ask_to_rate(own, 1, known=True),
        ):
            refused(answer, "no_consent", "agreed")


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


def test_a_song_that_is_known_need_not_be_heard_again(ann: Participant) -> None:
    arm = ann.begin()
    ann.offered(arm)
    assert ann.ask_to_rate(arm, 1, known=True).status == 200
    assert ann.arm_status(arm)["rated"] == 1


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


def test_the_next_part_may_not_begin_two_hours_after_the_last(
    world: World, ann: Participant
) -> None:
    ann.finish(ann.begin(1))
    until = world.clock() + 6 * HOUR
    ann.wait(2 * 3_600)
    answer = ann.ask_to_begin(ann.arm(2))
    refused(answer, "too_soon", "6 hours must pass", "got 2 h", until=until)
    found = ann.status()
    assert (found["state"], found["why"], found["place"]) == ("wait", "too_soon", 2)
    assert found["wait_seconds"] == 4 * 3_600
    ann.wait(4 * 3_600)
    assert ann.ask_to_begin(ann.arm(2)).status == 200


def test_there_is_no_third_part_within_a_day(world: World, ann: Participant) -> None:
    ann.finish(ann.begin(1))
    first = world.clock()
    ann.wait(6 * 3_600)
    ann.finish(ann.begin(2))
    ann.wait(6 * 3_600)
    answer = ann.ask_to_begin(ann.arm(3))
    refused(answer, "too_many_today", "at most 2 parts within 24 hours", until=first + 24 * HOUR)
    world.clock.now = first + 24 * HOUR
    assert ann.ask_to_begin(ann.arm(3)).status == 200


def test_parts_come_in_their_order_and_one_at_a_time(ann: Participant) -> None:
    refused(ann.ask_to_begin(ann.arm(2)), "unfinished", "part 1 must be finished before part 2")
    first = ann.begin(1)
    refused(ann.ask_to_begin(ann.arm(2)), "unfinished", "part 1 must be finished")
    assert ann.ask_to_begin(first).status == 200  # again, from another tab


def test_a_part_plays_nothing_before_it_is_begun(ann: Participant) -> None:
    refused(ann.ask_next(ann.arm(1)), "not_begun", "must be begun")
    refused(ann.ask_to_rate(ann.arm(1), 1, known=True), "not_offered", "got song 1")


def test_only_what_was_offered_can_be_rated(ann: Participant) -> None:
    arm = ann.begin()
    refused(ann.ask_to_rate(arm, 1, known=True), "not_offered", "none")
    ann.offered(arm)
    refused(ann.ask_to_rate(arm, 2, known=True), "not_offered", "song 1", "got song 2")
    assert ann.arm_status(arm)["rated"] == 0


def test_a_rating_counts_once_and_is_not_changed(ann: Participant) -> None:
    arm = ann.begin()
    ann.offered(arm)
    first = ann.ask_to_rate(arm, 1, 5, known=True)
    again = ann.ask_to_rate(arm, 1, 5, known=True)
    assert (again.status, again.json()) == (200, first.json())
    refused(ann.ask_to_rate(arm, 1, 2, known=True), "already_rated", "rated once")
    assert ann.arm_status(arm)["rated"] == 1


def test_a_finished_part_is_finished(ann: Participant) -> None:
    arm = ann.begin()
    ann.finish(arm)
    refused(ann.ask_next(arm), "finished", "all 3 rated")
    refused(ann.ask_to_begin(arm), "finished")
    assert ann.ask_to_rate(arm, 4, known=True).status == 409


def test_somebody_elses_part_is_not_there(world: World, ann: Participant) -> None:
    bob = participant(world, "Bob").join()
    own = ann.begin()
    ann.offered(own)
    before = ann.rows()
    for arm in (own, "0" * 16, "nonsense"):
        for answer in (
            bob.ask_to_begin(arm),
            bob.ask_next(arm),
            bob.ask_to_rate(arm, 1, known=True),
        ):
            assert (answer.status, answer.code) == (404, "not_found")
            # Not even whether it exists can be told.
            assert answer.json()["error"]["message"] == "there is no such part of a study"
    assert ann.rows() == before


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
        from bandstand.store import studies

        assert studies.arms(connection, study.id, ann.account.id)[0].rated == rated == 1


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/study/consent", {"agree": False}),
        ("POST", "/api/study/consent", {"agree": 1}),
        ("POST", "/api/study/consent", {}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 0, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 6, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 4.0, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": True, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": "4", "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 4, "known": 1}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 0, "stars": 4, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"stars": 4, "known": True}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 4, "played_seconds": -1}),
        ("POST", "/api/study/arms/{arm}/ratings", {"number": 1, "stars": 4, "at": 5}),
        ("DELETE", "/api/study/participation", {"confirm": "yes"}),
        ("DELETE", "/api/study/participation", {}),
    ],
)
def test_what_is_not_as_documented_is_refused(
    ann: Participant, method: str, path: str, body: dict[str, Any]
) -> None:
    arm = ann.begin()
    ann.offered(arm)
    before = ann.rows()
    answer = ann.client.ask(method, path.format(arm=arm), json=body)
    assert (answer.status, answer.code) == (422, "invalid")
    assert ann.rows() == before
