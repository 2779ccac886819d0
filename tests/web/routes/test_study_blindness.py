"""Nothing that a participant is sent, nor when it comes, tells which algorithm plays.

Six people hear the first part of a study, each at the same hour of the same server, each with
another algorithm. But for the song itself and ids that are drawn, all of them must be sent the
same bytes, headers and lines of the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from fastapi.responses import JSONResponse

from bandstand.core.recommender import Recommender
from bandstand.core.registry import ALGORITHMS, algorithm_named
from bandstand.store.transfer.jsonl import export_lines
from bandstand.study.design import PAPER_ALGORITHMS
from bandstand.web.http import concurrency
from bandstand.web.routes import study as study_routes
from bandstand.web.routes.study import offer_json
from tests.fixtures.web import requests
from tests.fixtures.web.requests import Answer
from tests.fixtures.web.studies import Participant, begin_study, participant
from tests.fixtures.web.worlds import World

_ID = re.compile(r"\b[0-9a-f]{16}\b")
_DRAWN = frozenset({"x-request-id", "content-length"})
# What nobody may say of an algorithm, beside its name; the account has a seed of its own.
_WORDS = ("algorithm", "choose_ms", "score", "ucb", "greedy", "bayes", "thompson")

PACE = 1.0  # seconds
SLOW = 0.6  # seconds that a slow algorithm takes
PATIENT = 2.0  # seconds until an answer is taken for one that waits


@dataclass(slots=True)
class Listening:
    """All that one participant was sent, by what it answers."""

    algorithm: str
    secrets: list[str]  # the seeds, and the study's id, from which the order is drawn
    answers: dict[str, Answer] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)


# ── Looking for it ──────────────────────────────────────────────────────────────────────


def without_song(value: Any) -> Any:
    """Return an answer's JSON with nothing in the place of every song, and of who one is."""
    if isinstance(value, list):
        return [without_song(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "-" if key in {"song", "name"} else without_song(part) for key, part in value.items()
    }


def seen(answer: Answer) -> str:
    """Return all of an answer that must not depend on the algorithm."""
    body = answer.json()
    plain = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    padding = len(answer.body) - len(plain)
    headers = sorted((name, value) for name, value in answer.headers if name not in _DRAWN)
    return _ID.sub("-", repr((answer.status, headers, padding, without_song(body))))


def names_in(listening: Listening) -> list[str]:
    """Return words for an algorithm, and secrets, in anything that was sent or logged."""
    sent = [
        f"{answer.headers} {answer.body.decode()}".lower() for answer in listening.answers.values()
    ]
    words = [*ALGORITHMS, *_WORDS, *listening.secrets]
    return [word for word in words for text in [*sent, *listening.log] if word in text.lower()]


def betrayals(heard: Iterable[Listening]) -> list[str]:
    """Return what tells algorithms apart; nothing, if all is well."""
    everybody = list(heard)
    first = everybody[0]
    found = [f"{one.algorithm}: {word}" for one in everybody for word in names_in(one)]
    for other in everybody[1:]:
        found += [
            f"{what}: {first.algorithm} and {other.algorithm} differ"
            for what in first.answers
            if seen(first.answers[what]) != seen(other.answers[what])
        ]
        if first.log != other.log:
            found.append(f"log: {first.algorithm} and {other.algorithm} differ")
    return found


# ── Listening ───────────────────────────────────────────────────────────────────────────


def listen(
    person: Participant, caplog: pytest.LogCaptureFixture, told: Callable[[str], None]
) -> Listening:
    """Return all that somebody is sent during the first part; `told` hears what plays."""
    row = person.join().rows()[0]
    told(row.algorithm)
    heard = Listening(row.algorithm, [row.study, *(str(one.seed) for one in person.rows())])
    caplog.clear()
    answers = heard.answers
    answers["begin"] = person.ask_to_begin(row.id)
    for number in (1, 2, 3):
        person.wait(240)
        answers[f"song {number}"] = person.ask_next(row.id)
        answers[f"pending {number}"] = person.client.ask("GET", "/api/study")
        answers[f"early {number}"] = person.ask_to_rate(row.id, number, played_seconds=0)
        person.wait(40)
        answers[f"again {number}"] = person.ask_next(row.id)
        answers[f"rating {number}"] = person.ask_to_rate(row.id, number, 4, played_seconds=35)
        answers[f"resting {number}"] = person.ask_next(row.id)
    answers["session"] = person.client.ask("GET", "/api/session")
    heard.log = [_ID.sub("-", re.sub(r"\d+ ms", "ms", line)) for line in caplog.messages]
    return heard


def everybody(
    world: World,
    caplog: pytest.LogCaptureFixture,
    algorithms: tuple[str, ...] = PAPER_ALGORITHMS,
    told: Callable[[str], None] = lambda _: None,
) -> list[Listening]:
    """Return what some people were sent, each with another algorithm in the first part."""
    begin_study(world, algorithms=algorithms, ratings_per_arm=4)
    start, heard = world.clock(), []
    with caplog.at_level(logging.DEBUG):
        for number in range(len(algorithms)):
            world.clock.now = start
            person = participant(world, f"Person {number}")
            heard.append(listen(person, caplog, told))
    assert {one.algorithm for one in heard} == set(algorithms)
    return heard


def test_all_algorithms_look_the_same(world: World, caplog: pytest.LogCaptureFixture) -> None:
    heard = everybody(world, caplog)
    assert betrayals(heard) == []
    songs = {one.answers["song 3"].json()["song"]["id"] for one in heard}
    assert len(songs) > 1  # they are not all the same
    assert all(one.answers["early 1"].code == "too_early" for one in heard)
    assert all(one.answers["resting 2"].code == "resting" for one in heard)
    assert all(len(one.log) == len(one.answers) for one in heard)


Offer = dict[str, Any]
# Enough for a twin: chance, and one that takes its time.
TWO = ("random", "bayes-ucb-cn-v")


def _with_a_name(offer: Offer, algorithm: str) -> Offer:
    return {**offer, "note": f"chosen by {algorithm}"}


def _with_a_reason_for_some(offer: Offer, algorithm: str) -> Offer:
    return offer if algorithm == "random" else {**offer, "reason": "you should like it"}


def _with_null_for_some(offer: Offer, algorithm: str) -> Offer:
    return {**offer, "mean": None if algorithm == "random" else 0.5}


def _with_less_time_for_who_was_slow(offer: Offer, algorithm: str) -> Offer:
    slow = algorithm == "bayes-ucb-cn-v"
    return {**offer, "may_rate_in": offer["may_rate_in"] - 0.4 * slow}


def _in_a_header(offer: Offer, _: str) -> Offer:
    return offer


def _in_the_log(offer: Offer, algorithm: str) -> Offer:
    logging.getLogger("bandstand.web").info("offered by %s", algorithm)
    return offer


@pytest.mark.parametrize(
    "leak",
    [
        _with_a_name,
        _with_a_reason_for_some,
        _with_null_for_some,
        _with_less_time_for_who_was_slow,
        _in_the_log,
        _in_a_header,
    ],
)
def test_an_app_that_gives_it_away_is_found_out(
    world: World,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    leak: Callable[[Offer, str], Offer],
) -> None:
    """The twins: the same look at answers that tell, or whose headers do."""
    playing: list[str] = []

    def with_header(body: Any) -> JSONResponse:
        return JSONResponse(body, headers={"Server-Timing": "x" * len("".join(playing[-1:]))})

    def offer(*given: Any, **named: Any) -> Offer:
        return leak(offer_json(*given, **named), playing[-1])

    monkeypatch.setattr(study_routes, "offer_json", offer)
    monkeypatch.setattr(requests, "description_of", lambda _: None)  # it would see some of them
    if leak is _in_a_header:
        monkeypatch.setattr(study_routes, "JSONResponse", with_header)
    assert betrayals(everybody(world, caplog, TWO, playing.append)) != []


# ── One's own data, and what administrators see ─────────────────────────────────────────


def test_ones_own_export_has_the_ratings_but_not_the_algorithms(world: World) -> None:
    begin_study(world)
    ann = participant(world).join()
    arm = ann.begin()
    ann.finish(arm)
    exported = ann.client.ask("GET", "/api/history/export").body.decode()
    lines = [json.loads(line) for line in exported.splitlines()]
    (own,) = [line for line in lines if line["type"] == "participation"]
    assert [song["stars"] for part in own["arms"] for song in part["songs"]] == [4, 4, 4]
    for row in ann.rows():
        assert row.algorithm not in exported
        assert str(row.seed) not in exported
    # The number tells the order to whoever knows the list of algorithms and how it was shuffled.
    assert not {"algorithm", "choose_ms", "seed"} & all_keys(own)
    assert "number" not in own


def all_keys(value: Any) -> set[str]:
    """Return the keys of all objects in some JSON."""
    if isinstance(value, list):
        return set().union(*map(all_keys, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(all_keys, value.values()))


def test_an_export_of_everything_is_found_out(world: World) -> None:
    """The twin: what administrators export has the algorithms, and the same look sees them."""
    begin_study(world)
    participant(world).join()
    whole = [json.loads(line) for line in export_lines(world.store)]
    (own,) = [line for line in whole if line["type"] == "participation"]
    assert {"algorithm", "seed", "number"} <= all_keys(own)


def test_administrators_are_not_told_either(world: World) -> None:
    """Who runs a study may take part in it."""
    begin_study(world)
    zoe = participant(world, "Zoe", "admin").join()
    zoe.finish(zoe.begin())
    answer = zoe.client.ask("GET", "/api/admin/study")
    text = answer.body.decode().lower()
    assert [word for word in (*ALGORITHMS, *_WORDS, "seed") if word in text] == []
    (person,) = answer.json()["study"]["participants"]
    assert set(person) == {"number", "joined_at", "parts_done", "ratings", "last_at"}


# ── Time ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def slow_brains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every algorithm but chance takes its time over a song."""
    quick = Recommender.recommend

    def recommend(self: Recommender, *given: Any, **named: Any) -> Any:
        if self.model.policy is not algorithm_named("random").policy:
            time.sleep(SLOW)
        return quick(self, *given, **named)

    monkeypatch.setattr(Recommender, "recommend", recommend)


def times(world: World) -> Mapping[str, list[float]]:
    """Return how long the answers took, by algorithm: a fast one and a slow one."""
    begin_study(world, algorithms=("random", "greedy-cn"), answer_seconds=PACE)
    found: dict[str, list[float]] = {}
    for name in ("Ann", "Bob"):
        person = participant(world, name).join()
        row, took = person.rows()[0], []
        person.begin()
        for _ in range(3):
            person.wait(240)
            began = time.perf_counter()
            offer = person.offered(row.id)
            took.append(time.perf_counter() - began)
            person.ask_to_rate(row.id, offer["number"], 4, known=True)
        found[row.algorithm] = took
    assert set(found) == {"random", "greedy-cn"}
    return found


def told_by_time(found: Mapping[str, list[float]]) -> list[str]:
    """Return what times betray: an answer that came too soon, or a slow algorithm."""
    early = [name for name, took in found.items() if min(took) < PACE]
    # The quickest of each: whatever else the computer does only makes some of them slower.
    quickest = [min(took) for took in found.values()]
    apart = max(quickest) - min(quickest)
    return early + ([f"{apart:.2f} s apart"] if apart > SLOW / 2 else [])


@pytest.mark.usefixtures("slow_brains")
def test_time_does_not_tell(world: World) -> None:
    assert told_by_time(times(world)) == []


@pytest.mark.usefixtures("slow_brains")
def test_answers_that_come_when_they_are_ready_are_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the same stopwatch on an app without pacing."""

    async def at_once(work: Any, *, at: float) -> Any:  # noqa: ARG001
        return await work

    monkeypatch.setattr(study_routes, "reply_at", at_once)
    assert told_by_time(times(world)) != []


# What else somebody may ask for while the next song is chosen.
BESIDE = ("/api/settings/rules", "/api/taste", "/api/study")


def waits_beside(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return which answers to the same person come only when the next song is chosen."""
    begin_study(world, algorithms=("random", "greedy-cn"))
    ann = participant(world).join()
    arm, elsewhere = ann.begin(), ann.elsewhere()
    for path in BESIDE:
        assert elsewhere.client.ask("GET", path).status == 200  # whatever is made once is there
    choosing, done = threading.Event(), threading.Event()
    quick = Recommender.recommend

    def recommend(self: Recommender, *given: Any, **named: Any) -> Any:
        choosing.set()
        assert done.wait(60)
        return quick(self, *given, **named)

    monkeypatch.setattr(Recommender, "recommend", recommend)

    async def ask() -> list[str]:
        song = asyncio.create_task(ann.client.asking("POST", f"/api/study/arms/{arm}/next"))
        await asyncio.to_thread(choosing.wait, 60)
        asked = [asyncio.create_task(elsewhere.client.asking("GET", path)) for path in BESIDE]
        await asyncio.wait(asked, timeout=PATIENT)
        late = [path for path, task in zip(BESIDE, asked, strict=True) if not task.done()]
        done.set()
        assert [answer.status for answer in await asyncio.gather(song, *asked)] == [200] * 4
        return late

    return world.runner.run(ask())


def test_no_other_answer_waits_for_the_choice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.PATIENT", 60.0)
    assert waits_beside(world, monkeypatch) == []


def test_one_queue_for_everything_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: songs of the study in the queue of all other questions."""

    async def chosen(context: Any, _queue: Any, me: Any, arm: str, asked: int) -> Any:
        return await context.queue.run(me.id, context.study.next, me.id, arm, asked=asked)

    monkeypatch.setattr(study_routes, "_chosen", chosen)
    assert waits_beside(world, monkeypatch) != []


def is_let_in(world: World, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether one more question than may wait is taken once all songs are chosen."""
    begin_study(world, answer_seconds=30.0)
    ann = participant(world).join()
    arm, chosen = ann.begin(), threading.Semaphore(0)
    choose = world.context.study.next

    def counted(*given: Any, **named: Any) -> Any:
        try:
            return choose(*given, **named)
        finally:
            chosen.release()

    monkeypatch.setattr(world.context.study, "next", counted)
    monkeypatch.setattr(concurrency, "MAX_WAITING_PER_LISTENER", 1)

    async def ask() -> bool:
        def question() -> asyncio.Task[Answer]:
            song = ann.elsewhere().client.asking("POST", f"/api/study/arms/{arm}/next")
            return asyncio.create_task(song)

        asked = [question(), question()]
        for _ in asked:
            await asyncio.to_thread(chosen.acquire)
        await asyncio.sleep(0.1)
        one_more = question()
        await asyncio.wait([one_more], timeout=PATIENT)
        is_in = not one_more.done()
        assert is_in or one_more.result().code == "busy"
        for task in (*asked, one_more):
            task.cancel()
        await asyncio.gather(*asked, one_more, return_exceptions=True)
        return is_in

    return world.runner.run(ask())


def test_whether_there_is_room_for_one_more_question_does_not_tell(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_let_in(world, monkeypatch)


def test_a_place_that_is_free_once_a_song_is_chosen_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: whoever was let in would know that the choice was made by then."""

    async def chosen(context: Any, queue: Any, me: Any, arm: str, asked: int) -> Any:
        try:
            return await queue.run(context.study.next, me.id, arm, asked=asked)
        finally:
            queue.waiting.length -= 1

    monkeypatch.setattr(study_routes, "_chosen", chosen)
    assert is_let_in(world, monkeypatch)


def test_refusals_and_failures_keep_the_pace_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_study(world, answer_seconds=0.3)
    ann = participant(world).join()

    def timed(arm: str) -> tuple[int, float]:
        began = time.perf_counter()
        answer = ann.ask_next(arm)
        return answer.status, time.perf_counter() - began

    status, seconds = timed(ann.arm())
    assert (status, seconds >= 0.3) == (409, True)
    arm = ann.begin()

    def fail(*_given: Any, **_named: Any) -> None:
        msg = "no song"
        raise ArithmeticError(msg)

    monkeypatch.setattr(Recommender, "recommend", fail)
    status, seconds = timed(arm)
    assert (status, seconds >= 0.3) == (500, True)
    monkeypatch.undo()
    assert timed(arm)[0] == 200
