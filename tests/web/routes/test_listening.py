"""What a listener does over HTTP: telling, asking, taking back, private mode, settings."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from bandstand import __version__
from bandstand.core.engines.exact.engine import Exact
from bandstand.core.registry import ALGORITHMS, WITHOUT_NAMES
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.store.examples import analysis
from tests.fixtures.waiting import wait_until
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import World


def rate(client: Client, song: str, stars: int, key: str) -> Answer:
    event = {"key": key, "kind": "rating", "song": song, "stars": stars}
    return client.ask("POST", "/api/events", json=event)


def test_the_next_song_already_knows_the_rating(world: World) -> None:
    ann = world.listener()
    for number in range(10):
        offer = ann.ask("GET", "/api/next").json()
        assert offer["seq"] == number
        told = rate(ann, offer["song"]["id"], 1 + number % 5, f"k{number}")
        assert told.json()["seq"] == number + 1
        world.clock.now += 240_000
    offer = ann.ask("GET", "/api/next").json()
    assert ann.ask("GET", "/api/next").json() == offer
    assert offer["seq"] == 10
    assert offer["mode"] == "model"
    why = offer["why"]
    assert why["base"] + sum(why["groups"].values()) == pytest.approx(why["liking"], abs=1e-9)
    assert why["expected"] + why["exploration"] == pytest.approx(why["score"], abs=1e-9)


def test_all_sums_of_an_explanation_hold_in_the_answer(world: World) -> None:
    """Also of songs heard before, by an algorithm that knows names."""
    ann = world.listener()
    for number in range(30):
        # Each song of ten comes three times.
        rate(ann, world.songs[number % 10], 1 + number * number % 5, f"k{number}")
        world.clock.now += 3_600_000
    whys = [offer["why"] for offer in ann.ask("GET", "/api/playlist?count=40").json()["songs"]]
    for why in whys:
        assert {"alike", "tags", "artist", "album", "song"} <= why["groups"].keys()
        for parts, whole in (
            ((why["base"], *why["groups"].values()), "liking"),
            ((why["liking"], why["staleness"]), "expected"),
            ((why["expected"], why["exploration"]), "score"),
        ):
            assert abs(sum(parts) - why[whole]) <= 1e-9
        assert abs(sum(why["tags"].values()) - why["groups"]["tags"]) <= 1e-9
        assert why["rating_deviation"] > why["standard_deviation"]
        assert 0 <= why["novelty"] <= 1
    assert {why["minutes_since_heard"] is None for why in whys} == {True, False}
    assert any(abs(why["groups"]["song"]) > 0.01 for why in whys)


def test_a_wish_is_where_it_starts(world: World) -> None:
    ann = world.listener()
    wished = ann.ask("GET", f"/api/next?song={world.songs[7]}").json()
    assert (wished["song"]["id"], wished["mode"]) == (world.songs[7], "wish")
    assert ann.ask("GET", "/api/next?artist=Artist%203").json()["song"]["artist"] == "Artist 3"
    assert ann.ask("GET", "/api/next?song=" + "0" * 16).status == 404
    for bad in ("song=junk", "artist=", "genre=%00", "after=junk", "artist=%ff"):
        assert ann.ask("GET", f"/api/next?{bad}").status in {404, 422}, bad


def test_only_songs_of_some_years_are_offered(world: World) -> None:
    """Songs 1 to 40 are of the years 1971 to 2010, but for song 40, whose year is not known."""
    found = [
        (f"/music/{seed:03}.ogg".encode(), analysis(seed, genre="Jazz", year=1970 + seed))
        for seed in range(1, 40)
    ]
    with world.store.writing() as connection:
        record_analyses(connection, found, scan=1, now=world.clock())
    world.context.radio.refresh()
    ann = world.listener()
    rate(ann, world.songs[0], 5, "k")
    for query, first, last in (
        ("year_from=1980&year_to=1984", 1980, 1984),
        ("year_from=2009", 2009, 2010),
        ("year_to=1972&genre=jazz", 1971, 1972),
        ("year_from=1999&year_to=1999", 1999, 1999),
    ):
        answer = ann.ask("GET", f"/api/playlist?count=5&{query}").json()
        years = {offer["song"]["year"] for offer in answer["songs"]}
        assert years <= set(range(first, last + 1)), query
        assert ann.ask("GET", f"/api/next?{query}").json()["song"]["year"] in years


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("year_to=1900", 404, "there must be songs of the years that are asked for"),
        ("year_from=1990&year_to=1980", 422, "the first year must not be after the last one"),
        ("year_from=1990.0", 422, "year_from: must be a whole number"),
        ("year_to=", 422, "year_to: must be a whole number"),
        ("year_to=10000", 422, "year_to: Input should be less than or equal to 9999"),
        ("year_from=-1", 422, "year_from: Input should be greater than or equal to 0"),
    ],
)
def test_years_that_cannot_be_are_refused_in_a_sentence(
    shared_world: World, query: str, status: int, message: str
) -> None:
    ann = shared_world.listener(f"Ann {query}")
    for route in ("next", "playlist"):
        refused = ann.ask("GET", f"/api/{route}?{query}")
        assert (refused.status, refused.json()["error"]["message"]) == (status, message)


def test_what_is_meant_for_somebody_else_is_refused(world: World) -> None:
    ann, ben = world.listener("ann"), world.listener("ben")
    own, others = (one.ask("GET", "/api/session").json()["id"] for one in (ann, ben))
    event = {"key": "k", "kind": "rating", "song": world.songs[0], "stars": 5}
    refused = ann.ask("POST", "/api/events", json={**event, "account": others})
    assert (refused.status, refused.json()["error"]["code"]) == (409, "another_account")
    assert ann.ask("POST", "/api/events", json={**event, "account": "junk"}).status == 422
    assert ann.ask("GET", "/api/history").json()["events"] == []
    told = ann.ask("POST", "/api/events", json={**event, "account": own})
    assert (told.status, "account" in told.json()) == (201, False)
    assert ann.ask("POST", "/api/events", json=event).status == 200  # the same event


KINDS: list[dict[str, Any]] = [
    {"kind": "rating", "song": "SONG", "stars": 5, "played_seconds": 12.5},
    {"kind": "skip", "song": "SONG", "played_seconds": 3},
    {"kind": "listen", "song": "SONG"},
    {"kind": "ban", "scope": "song", "target": "SONG"},
    {"kind": "ban", "scope": "artist", "target": "Björk"},
    {"kind": "snooze", "scope": "album", "target": "Album 3", "days": 30},
    {"kind": "snooze", "scope": "genre", "target": "Jazz", "days": 0.5},
]


def test_every_kind_is_stored_once_and_taken_back(world: World) -> None:
    ann, song = world.listener(), world.songs[0]
    for number, event in enumerate(KINDS):
        body = {name: song if value == "SONG" else value for name, value in event.items()}
        body["key"] = f"k{number}"
        first = ann.ask("POST", "/api/events", json=body)
        assert first.status == 201, event
        world.clock.now += 5_000
        again = ann.ask("POST", "/api/events", json=body)
        assert (again.status, again.json()) == (200, first.json()), event
        undo = {"kind": "retract", "retracts": first.json()["seq"]}
        taken = ann.ask("POST", "/api/events", json={"key": f"r{number}", **undo})
        assert taken.status == 201, event
        twice = ann.ask("POST", "/api/events", json={"key": f"s{number}", **undo})
        assert (twice.status, twice.code) == (409, "conflict"), event
        assert ann.ask("GET", "/api/settings/rules").json()["rules"] == []


def test_bans_and_snoozes_are_listed_until_they_end(world: World) -> None:
    ann = world.listener()
    ban = {"key": "b", "kind": "ban", "scope": "artist", "target": "Artist 1"}
    snooze = {"key": "s", "kind": "snooze", "scope": "album", "target": "Album 2", "days": 30}
    for event in (ban, snooze):
        assert ann.ask("POST", "/api/events", json=event).status == 201
    rules = ann.ask("GET", "/api/settings/rules").json()["rules"]
    assert [(rule["scope"], rule["target"]) for rule in rules] == [
        ("artist", "Artist 1"),
        ("album", "Album 2"),
    ]
    assert rules[0]["until"] is None
    assert rules[1]["until"] == world.clock() + 30 * 86_400_000
    assert {rule["at"] for rule in rules} == {world.clock()}
    assert all("title" not in rule for rule in rules)
    own = {"key": "own", "kind": "ban", "scope": "song", "target": world.songs[0]}
    assert ann.ask("POST", "/api/events", json=own).status == 201
    *_, rule = ann.ask("GET", "/api/settings/rules").json()["rules"]
    named = ann.ask("GET", f"/api/songs/{world.songs[0]}").json()["song"]
    assert (rule["target"], rule["seq"], rule["until"]) == (world.songs[0], 3, None)
    assert (rule["title"], rule["artist"]) == (named["title"], named["artist"])
    world.clock.now += 30 * 86_400_000
    assert len(ann.ask("GET", "/api/settings/rules").json()["rules"]) == 2
    heard = [ann.ask("GET", "/api/next").json()["song"]]
    for _ in range(20):
        query = "&".join(f"after={song['id']}" for song in heard)
        heard.append(ann.ask("GET", f"/api/next?{query}").json()["song"])
    assert "Artist 1" not in {song["artist"] for song in heard}


def test_private_mode_stores_nothing_that_is_heard(world: World) -> None:
    ann = world.listener()
    assert ann.ask("PATCH", "/api/settings", json={"private": True}).json()["private"] is True
    answer = rate(ann, world.songs[0], 5, "k")
    assert (answer.status, answer.json()) == (200, {"stored": False})
    for kind in ("skip", "listen"):
        event = {"key": kind, "kind": kind, "song": world.songs[1], "played_seconds": 9}
        assert ann.ask("POST", "/api/events", json=event).json() == {"stored": False}
    assert ann.ask("GET", "/api/history").json()["events"] == []
    # What is never to be heard again is still kept.
    ban = {"key": "b", "kind": "ban", "scope": "song", "target": world.songs[0]}
    assert ann.ask("POST", "/api/events", json=ban).json()["stored"] is True
    ann.ask("PATCH", "/api/settings", json={"private": False})
    assert rate(ann, world.songs[0], 5, "k").json()["stored"] is True


def test_a_stretch_of_time_can_be_forgotten(world: World) -> None:
    ann = world.listener()
    times = []
    for number in range(6):
        world.clock.now += 3_600_000
        times.append(world.clock())
        rate(ann, world.songs[number], 5, f"k{number}")
    stretch = {"from": times[2], "to": times[5]}
    assert ann.ask("POST", "/api/history/forget", json=stretch).json() == {"forgotten": 3}
    assert ann.ask("POST", "/api/history/forget", json=stretch).json() == {"forgotten": 0}
    assert ann.ask("GET", "/api/taste").json()["counts"]["ratings"] == 3
    for bad in (
        {},
        {"from": 1},
        {"from": 1, "to": -1},
        {"start": 1, "end": 2},
        {"from": 1.5, "to": 2},
    ):
        assert ann.ask("POST", "/api/history/forget", json=bad).status == 422, bad


def test_settings_change_one_by_one(world: World) -> None:
    ann = world.listener()
    assert ann.ask("PATCH", "/api/settings", json={"dial": -1}).json()["dial"] == -1
    settings = ann.ask("GET", "/api/settings").json()
    assert list(settings["summaries"]) == settings["algorithms"]
    assert all(settings["summaries"].values())
    assert settings["version"] == __version__
    answer = ann.ask("PATCH", "/api/settings", json={"algorithm": "greedy-cn-x"}).json()
    assert (answer["algorithm"], answer["dial"]) == ("greedy-cn-x", -1)
    bad: list[Any] = [
        {"dial": 2}, {"dial": "1"}, {"dial": True}, {"algorithm": "magic"}, {"private": 1},
        {"intercept": "yes"}, {"volume": 11}, [], "x", 5,
    ]  # fmt: skip
    for change in bad:
        assert ann.ask("PATCH", "/api/settings", json=change).status == 422, change
    assert ann.ask("GET", "/api/settings").json() == answer
    assert ann.ask("GET", "/api/next").status == 200


def test_administrators_make_change_and_remove_accounts(world: World) -> None:
    zoe = world.admin()
    new = {"name": " Bob ", "password": "tuba in the attic"}
    made = zoe.ask("POST", "/api/admin/users", json=new)
    assert made.status == 201
    assert (made.json()["name"], made.json()["role"]) == ("Bob", "listener")
    taken = zoe.ask("POST", "/api/admin/users", json={**new, "name": "BOB"})
    assert (taken.status, taken.code) == (409, "name_taken")
    target = f"/api/admin/users/{made.json()['id']}"
    change = {"name": "Robert", "role": "admin", "password": "flute in the cellar"}
    assert zoe.ask("PATCH", target, json=change).json()["name"] == "Robert"
    bob = world.stranger()
    body = {"name": "robert", "password": "flute in the cellar"}
    assert bob.ask("POST", "/api/session", json=body).status == 200
    assert bob.ask("GET", "/api/admin/users").status == 200
    # All of what is asked, or nothing.
    clash = zoe.ask("PATCH", target, json={"role": "listener", "name": "Zoe"})
    assert clash.status == 409
    assert bob.ask("GET", "/api/admin/users").status == 200
    assert zoe.ask("DELETE", target).status == 204
    assert zoe.ask("DELETE", target).status == 404
    assert zoe.ask("PATCH", target, json={"disabled": True}).status == 404
    for bad in ({}, {"role": "king"}, {"disabled": 1}, {"name": ""}, {"password": "short"}):
        assert zoe.ask("PATCH", "/api/admin/users/" + "0" * 16, json=bad).status in {404, 422}
    for name in ("", " ", "a\nb", "x" * 65, "a\u202eb"):
        status = zoe.ask("POST", "/api/admin/users", json={**new, "name": name}).status
        assert status == 422, name


# Listeners whose algorithm takes long keep nobody waiting who has a quick one.


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
    ben = somebody(world, "ben", WITHOUT_NAMES)

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


def test_settings_that_change_while_a_question_waits_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two listeners choose a slow algorithm behind their own questions, and keep nobody waiting."""
    gate, hold, context = Blocking(monkeypatch, is_quick=False), threading.Event(), world.context
    accounts = [world.account(name, password=False) for name in ("ann", "cy")]
    clients, ben = [world.member(one) for one in accounts], somebody(world, "ben", WITHOUT_NAMES)

    def have_questions() -> bool:
        return all(context.queue.waiting[one.id].length >= 2 for one in accounts)

    async def ask() -> bool:
        held = [context.queue.run(one.id, hold.wait, PATIENCE) for one in accounts]
        before = [asyncio.create_task(one) for one in held]
        await asyncio.sleep(0)
        theirs = [asyncio.create_task(one.asking("GET", "/api/next")) for one in clients]
        await asyncio.to_thread(wait_until, have_questions)
        for one in accounts:
            slow = context.radio.change_settings(one.id, {"algorithm": SLOW})
            await asyncio.wrap_future(slow)
        hold.set()
        await gate.is_reached_by(2)
        his = asyncio.create_task(ben.asking("GET", "/api/next"))
        done, _ = await asyncio.wait([his], timeout=PATIENCE)
        gate.is_open.set()
        await asyncio.gather(*before, his, *theirs)
        return bool(done)

    assert world.runner.run(ask())


def test_what_is_drawn_or_gone_through_again_for_each_rating_is_not_quick() -> None:
    slow = {name for name, algorithm in ALGORITHMS.items() if not algorithm.is_quick}
    assert slow == {"bayes-ucb-cn", "bayes-ucb-cn-v"}
