"""The library over HTTP: searching, paging, one song as it stands with a listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis

if TYPE_CHECKING:
    from tests.fixtures.web.requests import Client
    from tests.fixtures.web.worlds import World

SHAPE = {
    "id", "title", "artist", "album", "album_artist", "genre", "year", "track", "disc", "duration",
    "replay_gain", "has_cover", "audio", "cover", "recording_mbid", "is_present",
}  # fmt: skip


@pytest.fixture(scope="module")
def reader(shared_world: World) -> Client:
    """Somebody who only looks."""
    return shared_world.listener("Reader")


def pages(listener: Client, query: str = "", *, limit: int) -> list[dict[str, Any]]:
    """Return all songs that a query finds, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        answer = listener.ask("GET", f"/api/songs?limit={limit}{query}{after}")
        assert answer.status == 200
        body = answer.json()
        assert len(body["songs"]) <= limit
        found += body["songs"]
        if body["next"] is None:
            return found
        after = f"&after={body['next']}"


@pytest.mark.parametrize("limit", [1, 7, 20, 200])
def test_every_song_is_on_one_page(shared_world: World, reader: Client, limit: int) -> None:
    found = pages(reader, limit=limit)
    assert sorted(song["id"] for song in found) == sorted(shared_world.songs)
    names = [(song["artist"], song["title"]) for song in found]
    assert names == sorted(names)
    assert all(set(song) == SHAPE for song in found)


def test_there_is_no_next_page_when_all_was_shown(shared_world: World, reader: Client) -> None:
    body = reader.ask("GET", f"/api/songs?limit={len(shared_world.songs)}").json()
    assert len(body["songs"]) == len(shared_world.songs)
    assert body["next"] is None


@pytest.mark.parametrize("sort", ["artist", "expected"])
def test_the_first_page_tells_how_much_there_is(reader: Client, sort: str) -> None:
    everything = reader.ask("GET", f"/api/songs?artist=Artist+3&limit=200&sort={sort}").json()
    assert everything["total"] == len(everything["songs"]) > 1
    seconds = sum(song["duration"] for song in everything["songs"])
    assert everything["duration"] == pytest.approx(seconds)
    first = reader.ask("GET", f"/api/songs?artist=Artist+3&limit=1&sort={sort}").json()
    assert [first["total"], first["duration"]] == [everything["total"], everything["duration"]]
    second = f"/api/songs?artist=Artist+3&limit=1&sort={sort}&after={first['next']}"
    assert not {"total", "duration"} & set(reader.ask("GET", second).json())
    nothing = reader.ask("GET", f"/api/songs?q=no+such+song&sort={sort}").json()
    assert [nothing["total"], nothing["duration"]] == [0, 0]


def test_names_are_whole_and_upper_or_lower_case(reader: Client) -> None:
    for name, value in (("artist", "aRTIST 3"), ("album", "ALBUM 4"), ("genre", "jazz")):
        found = pages(reader, f"&{name}={quote(value)}", limit=50)
        assert found
        assert {song[name].lower() for song in found} == {value.lower()}
    assert not pages(reader, "&artist=Artist", limit=50)


def test_filters_are_combined(reader: Client) -> None:
    found = pages(reader, "&artist=Artist%203&album=Album%201", limit=50)
    assert {(song["artist"], song["album"]) for song in found} == {("Artist 3", "Album 1")}


def test_words_are_found_in_any_order(reader: Client) -> None:
    some = pages(reader, limit=50)[5]
    words = f"{some['title']} {some['artist']} {some['album']}".upper()
    assert some["id"] in {song["id"] for song in pages(reader, f"&q={quote(words)}", limit=50)}
    assert not pages(reader, "&q=nothing%20at%20all", limit=50)


@pytest.mark.parametrize("text", ["%25", "_", "%27%20OR%201=1--", "\\", "%5C", "*", "%00"])
def test_signs_of_the_database_mean_nothing(reader: Client, text: str) -> None:
    answer = reader.ask("GET", f"/api/songs?q={text}")
    assert answer.status in {200, 422}
    assert answer.status == 422 or answer.json()["songs"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "limit=x", "limit=1.0", "limit=", "artist=", "after=" + "x" * 99,
     "q=a%00b", "q=" + "x" * 501],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(reader: Client, query: str) -> None:
    assert reader.ask("GET", f"/api/songs?{query}").status == 422


def test_a_page_behind_no_song_is_not_found(reader: Client) -> None:
    assert reader.ask("GET", "/api/songs?after=0123456789abcdef").status == 404


def test_an_unheard_song_has_no_history(world: World) -> None:
    shown = world.listener().ask("GET", f"/api/songs/{world.songs[0]}").json()
    assert shown["history"] == []
    assert shown["heard_at"] is None
    assert shown["song"]["id"] == world.songs[0]


def test_a_song_shows_what_was_said_of_it(world: World) -> None:
    listener, song = world.listener(), world.songs[0]
    for number, stars in enumerate((2, 5)):
        world.clock.now += 3_600_000
        event = {"key": f"k{number}", "kind": "rating", "song": song, "stars": stars}
        assert listener.ask("POST", "/api/events", json=event).status == 201
    listener.ask("POST", "/api/events", json={"key": "o", "kind": "listen", "song": world.songs[1]})
    world.clock.now += 30 * 86_400_000
    shown = listener.ask("GET", f"/api/songs/{song}").json()
    assert [event["stars"] for event in shown["history"]] == [5, 2]
    assert shown["heard_at"] is not None
    assert 0 <= shown["novelty"] <= 1
    assert 0 < shown["expected"] < 6
    assert shown["seq"] == 3


def test_what_others_said_is_not_shown(world: World) -> None:
    ann, bob, song = world.listener("Ann"), world.listener("Bob"), world.songs[0]
    ann.ask("POST", "/api/events", json={"key": "k", "kind": "rating", "song": song, "stars": 1})
    before = world.listener("Eve").ask("GET", f"/api/songs/{song}").json()
    shown = bob.ask("GET", f"/api/songs/{song}").json()
    assert shown == before
    assert shown["history"] == []


def test_a_song_without_a_title_is_called_by_its_file(world: World) -> None:
    path = b"/music/Some \xff\nname.mp3"
    with world.store.writing() as connection:
        record_analyses(connection, [(path, analysis(999, title=None))], scan=2, now=1)
    found = pages(world.listener(), "&q=name", limit=10)
    assert [song["title"] for song in found] == ["Some ��name"]


def test_no_answer_tells_where_files_are(world: World) -> None:
    listener = world.listener()
    for target in ("/api/songs", f"/api/songs/{world.songs[0]}", "/api/playlist?count=3"):
        assert b"/music/" not in listener.ask("GET", target).body


def test_a_stranger_sees_no_songs(world: World) -> None:
    for target in ("/api/songs", f"/api/songs/{world.songs[0]}"):
        assert world.stranger().ask("GET", target).status == 401
