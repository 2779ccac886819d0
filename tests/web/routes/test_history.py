"""One's history over HTTP: named, filtered, with what was taken back; and events that come late."""

from typing import Any

import pytest

from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import World


def tell(listener: Client, key: str, kind: str, **said: Any) -> Answer:
    return listener.ask("POST", "/api/events", json={"key": key, "kind": kind, **said})


def history(listener: Client, query: str = "") -> list[dict[str, Any]]:
    answer = listener.ask("GET", f"/api/history?{query}")
    assert answer.status == 200
    events: list[dict[str, Any]] = answer.json()["events"]
    return events


def told(world: World, listener: Client) -> None:
    """Tell one event of each kind; the first is taken back."""
    first, second, third = world.songs[:3]
    for answer in (
        tell(listener, "1", "rating", song=first, stars=4),
        tell(listener, "2", "skip", song=second, played_seconds=3.5),
        tell(listener, "3", "listen", song=third),
        tell(listener, "4", "ban", scope="song", target=second),
        tell(listener, "5", "snooze", scope="artist", target="Artist 3", days=30),
        tell(listener, "6", "retract", retracts=1),
    ):
        assert answer.status == 201


def test_every_event_says_what_it_was_about(world: World) -> None:
    ann = world.listener()
    told(world, ann)
    retract, snooze, ban, listen, skip, rating = history(ann)
    assert [it["is_retracted"] for it in (retract, snooze, ban, listen, skip)] == 5 * [False]
    assert rating["is_retracted"] is True
    assert (rating["title"], rating["artist"]) == ("Song 1", "Artist 1")
    assert (skip["title"], listen["title"], ban["title"]) == ("Song 2", "Song 3", "Song 2")
    assert "title" not in snooze
    assert "title" not in retract
    assert retract["retracted"] == rating
    assert all("retracted" not in it for it in (snooze, ban, listen, skip, rating))
    assert history(ann, "limit=1") == [retract]  # although the rating is on another page


def test_what_a_stretch_forgot_was_taken_back(world: World) -> None:
    ann, now = world.listener(), world.clock()
    told(world, ann)
    stretch = {"from": now, "to": now + 1}
    assert ann.ask("POST", "/api/history/forget", json=stretch).json() == {"forgotten": 2}
    events = history(ann)
    assert [it["seq"] for it in events if it["is_retracted"]] == [3, 2, 1]
    assert [it["retracted"]["kind"] for it in events[:3]] == ["listen", "skip", "rating"]


def test_a_song_shows_which_of_its_events_were_taken_back(world: World) -> None:
    ann, song = world.listener(), world.songs[0]
    told(world, ann)
    tell(ann, "7", "rating", song=song, stars=2)
    shown = ann.ask("GET", f"/api/songs/{song}").json()["history"]
    assert [(it["stars"], it["is_retracted"]) for it in shown] == [(2, False), (4, True)]
    assert shown == history(ann, f"song={song}")


def test_a_song_without_a_title_is_called_by_its_file(world: World) -> None:
    path = b"/music/Some name.mp3"
    with world.store.writing() as connection:
        untitled = analysis(999, title=None, artist=None)
        (made,) = record_analyses(connection, [(path, untitled)], scan=2, now=1)
    ann = world.listener()
    tell(ann, "1", "rating", song=made.song_id, stars=3)
    (event,) = history(ann)
    assert (event["title"], event["artist"]) == ("Some name", None)


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("kind=rating", ["rating"]),
        ("kind=skip&kind=ban", ["ban", "skip"]),
        ("kind=snooze&kind=snooze", ["snooze"]),
        ("kind=retract", ["retract"]),
        ("", ["retract", "snooze", "ban", "listen", "skip", "rating"]),
    ],
)
def test_kinds_can_be_chosen(world: World, query: str, kinds: list[str]) -> None:
    ann = world.listener()
    told(world, ann)
    assert [event["kind"] for event in history(ann, query)] == kinds


def test_pages_of_one_kind_end_where_there_are_no_more(world: World) -> None:
    ann = world.listener()
    for number in range(6):
        kind = "rating" if number % 2 else "listen"
        stars = {"stars": 3} if number % 2 else {}
        tell(ann, str(number), kind, song=world.songs[number], **stars)
    first = ann.ask("GET", "/api/history?kind=rating&limit=2").json()
    assert [it["seq"] for it in first["events"]] == [6, 4]
    assert first["next_before"] == 4
    last = ann.ask("GET", "/api/history?kind=rating&limit=2&before=4").json()
    assert ([it["seq"] for it in last["events"]], last["next_before"]) == ([2], None)


@pytest.mark.parametrize("query", ["kind=", "kind=magic", "kind=Rating", 17 * "kind=skip&"])
def test_kinds_that_are_none_are_refused(world: World, query: str) -> None:
    assert world.listener().ask("GET", f"/api/history?{query}").status == 422


# ── Late events ──────────────────────────────────────────────────────────────────────────


def test_an_event_that_was_made_offline_keeps_its_time(world: World) -> None:
    ann, now = world.listener(), world.clock()
    world.clock.now += 3_600_000
    late = {"song": world.songs[0], "stars": 5, "age_seconds": 600.5}
    answer = tell(ann, "k", "rating", **late)
    assert answer.status == 201
    assert answer.json()["at"] == now + 3_600_000 - 600_500
    assert "age_seconds" not in answer.json()
    # Sent again it is older, and still the same.
    again = tell(ann, "k", "rating", **{**late, "age_seconds": 700})
    assert (again.status, again.json()["at"]) == (200, answer.json()["at"])
    assert tell(ann, "k", "rating", song=world.songs[0], stars=5).status == 200
    assert tell(ann, "k", "rating", **{**late, "stars": 1}).status == 422
    # The order of the log comes before the time of an event.
    earlier = tell(ann, "2", "rating", song=world.songs[1], stars=3, age_seconds=86_400)
    assert earlier.json()["at"] == answer.json()["at"]


@pytest.mark.parametrize("age", [-1, 604_801, "60", True, None, [], 1e300])
def test_an_age_that_is_none_is_refused(world: World, age: Any) -> None:
    answer = tell(world.listener(), "k", "listen", song=world.songs[0], age_seconds=age)
    assert (answer.status, answer.code) == (422, "invalid")


# ── What was heard elsewhere ─────────────────────────────────────────────────────────────

PLAYS = "time,artist,track\n1,Artist 1,Song 1\n2,artist 1,SONG 1\n3,Nobody,Song 1\n"


def bring(listener: Client, content: str | bytes = PLAYS, query: str = "", **more: Any) -> Answer:
    kind = {"Content-Type": "application/octet-stream", **more.pop("headers", {})}
    body = content.encode() if isinstance(content, str) else content
    address = f"/api/history/imports?{query}"
    return listener.ask("POST", address, body=body, headers=kind, **more)


def imported(listener: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = listener.ask("GET", "/api/history/imports").json()["imports"]
    return found


def test_an_import_is_reported_listed_and_taken_back(world: World) -> None:
    ann, song = world.listener(), world.songs[0]
    answer = bring(ann, query="name=plays.csv")
    assert answer.status == 201
    report = answer.json()["report"]
    assert (report["read"], report["matched"], report["songs"]) == (3, 2, 1)
    assert report["files"][0]["name"] == "plays.csv"
    assert report["unmatched"][0]["examples"] == ["Nobody – Song 1"]
    assert imported(ann) == [answer.json()]
    assert bring(ann, query="name=plays.csv").status == 200
    assert ann.ask("GET", f"/api/songs/{song}").json()["heard_at"] == 2_000
    assert history(ann)[0]["kind"] == "import"
    assert tell(ann, "1", "retract", retracts=answer.json()["seq"]).status == 201
    assert imported(ann) == []
    assert ann.ask("GET", f"/api/songs/{song}").json()["heard_at"] is None


@pytest.mark.parametrize(
    ("content", "status"),
    [("", 422), ("nonsense", 422), (b"SQLite format 3\0" + bytes(100), 422), (b"\xff\xfe", 422)],
)
def test_what_is_no_history_is_refused_without_naming_files(
    world: World, content: str | bytes, status: int
) -> None:
    answer = bring(world.listener(), content, "name=mine.csv")
    assert answer.status == status
    message = answer.json()["error"]["message"]
    assert "mine.csv" in message
    assert "bandstand-" not in message


def test_a_file_is_guarded_like_any_other_body(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = world.listener()
    assert bring(ann, headers={"Content-Type": "application/json"}).status == 415
    assert bring(ann, headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    monkeypatch.setattr("bandstand.web.http.request_input.MAX_FILE_BYTES", len(PLAYS) - 1)
    assert bring(ann).status == 413
    monkeypatch.setattr("bandstand.web.http.request_input.MAX_FILE_BYTES", len(PLAYS))
    assert bring(ann).status == 201  # the twin
    assert imported(world.listener("Bo")) == []


def test_an_import_cannot_be_told_as_an_event(world: World) -> None:
    assert tell(world.listener(), "1", "import", target=64 * "0").status == 422
