"""Playlists over HTTP: what would come next, and what a listener saved."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.fixtures.web.requests import Client
from tests.fixtures.web.worlds import World

XSPF = "{http://xspf.org/ns/0/}"


@pytest.fixture(scope="module")
def ann(shared_world: World) -> Client:
    return shared_world.listener("Ann")


@pytest.fixture(scope="module")
def zoe(shared_world: World) -> Client:
    return shared_world.admin("Zoe")


def saved(client: Client, name: str = "Mine", songs: list[str] | None = None) -> str:
    """Return the address of a new playlist."""
    answer = client.ask("POST", "/api/playlists", json={"name": name, "songs": songs or []})
    assert answer.status == 201
    return str(answer.header("location"))


# ── What would come next ─────────────────────────────────────────────────────────────────


def test_the_next_songs_come_with_their_reasons_and_nothing_changes(
    shared_world: World, ann: Client
) -> None:
    answer = ann.ask("GET", "/api/playlist?count=7").json()
    songs = answer["songs"]
    assert len({one["song"]["id"] for one in songs} & set(shared_world.songs)) == len(songs) == 7
    assert all(one["why"]["sentence"] for one in songs)
    begins = [one["at"] for one in songs]
    assert begins == sorted(begins)
    assert ann.ask("GET", "/api/next").json()["song"] == songs[0]["song"]
    assert ann.ask("GET", "/api/playlist?count=7").json() == answer
    assert ann.ask("GET", "/api/history").json()["events"] == []
    for song in shared_world.songs[:3]:
        wished = ann.ask("GET", f"/api/playlist?count=2&song={song}").json()["songs"]
        assert wished[0]["song"]["id"] == song


@pytest.mark.parametrize("form", ["m3u8", "xspf", "jspf"])
def test_a_playlist_is_a_file_for_other_players(ann: Client, form: str) -> None:
    wanted = [
        f"http://localhost:8260{one['song']['audio']}"
        for one in ann.ask("GET", "/api/playlist?count=4").json()["songs"]
    ]
    answer = ann.ask("GET", f"/api/playlist?count=4&format={form}")
    assert answer.header("content-disposition") == f'attachment; filename="Bandstand.{form}"'
    assert _places(form, answer.body) == wanted


def test_paths_are_for_administrators(ann: Client, zoe: Client) -> None:
    address = "/api/playlist?count=2&format=m3u8&paths=true"
    refused = ann.ask("GET", address)
    assert (refused.status, refused.code) == (403, "forbidden")
    assert all(
        place.startswith("/music/") for place in _places("m3u8", zoe.ask("GET", address).body)
    )


@pytest.mark.parametrize(
    "query", ["count=0", "count=101", "count=x", "format=pls", "format=../m3u8", "song=x",
              "song=0123456789abcdef&artist=a", "paths=1", "year_from=x", "year_to=10000",
              "year_from=1990&year_to=1980", "after=" + "&after=".join("a" * 51)],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(ann: Client, query: str) -> None:
    assert ann.ask("GET", f"/api/playlist?{query}").status == 422


def test_a_wish_for_what_is_not_there_is_not_found(ann: Client) -> None:
    for query in ("song=0123456789abcdef", "artist=Nobody", "genre=None", "year_to=1900"):
        assert ann.ask("GET", f"/api/playlist?{query}").status == 404


# ── What was saved ───────────────────────────────────────────────────────────────────────


def test_a_playlist_is_saved_shown_changed_and_deleted(shared_world: World, ann: Client) -> None:
    songs = shared_world.songs[:3]
    address = saved(ann, "Sunday", songs)
    shown = ann.ask("GET", address).json()
    assert (shown["name"], shown["count"]) == ("Sunday", 3)
    assert [song["id"] for song in shown["songs"]] == songs
    again = [songs[2], songs[0], songs[2]]
    changed = ann.ask("PUT", address, json={"name": "Monday", "songs": again})
    assert (changed.status, changed.json()["count"]) == (200, 3)
    assert [song["id"] for song in ann.ask("GET", address).json()["songs"]] == again
    assert ann.ask("PUT", address, json={"name": "Tuesday"}).json()["count"] == 3
    assert ann.ask("PUT", address, json={"songs": songs}).json()["name"] == "Tuesday"
    listed = ann.ask("GET", "/api/playlists").json()["playlists"]
    assert [one["name"] for one in listed if one["id"] == shown["id"]] == ["Tuesday"]
    assert ann.ask("DELETE", address).status == 204
    assert ann.ask("GET", address).status == 404
    assert ann.ask("DELETE", address).status == 404


@pytest.mark.parametrize("form", ["m3u8", "xspf", "jspf"])
def test_a_saved_playlist_is_a_file_with_its_name(
    shared_world: World, ann: Client, form: str
) -> None:
    songs = shared_world.songs[3:6]
    answer = ann.ask("GET", f"{saved(ann, 'Für/Elise', songs)}?format={form}")
    assert _places(form, answer.body) == [
        f"http://localhost:8260/api/songs/{song}/audio" for song in songs
    ]
    assert answer.header("content-disposition") == (
        f"attachment; filename=\"Fur Elise.{form}\"; filename*=UTF-8''F%C3%BCr%20Elise.{form}"
    )


def test_a_public_address_is_used_where_there_is_one(ann: Client, shared_world: World) -> None:
    address = saved(ann, "x", shared_world.songs[:1])
    for host in ("127.0.0.1:8260", "localhost"):
        body = ann.ask("GET", f"{address}?format=m3u8", headers={"host": host}).body
        assert _places("m3u8", body)[0].startswith(f"http://{host}/")


@pytest.mark.parametrize(
    "body",
    [{}, {"name": ""}, {"name": " "}, {"name": "x" * 201}, {"name": 5}, {"name": "a\nb"},
     {"name": "x", "songs": "all"}, {"name": "x", "songs": [1]}, {"name": "x", "songs": None},
     {"name": "x", "account": "other"}, {"name": "x", "songs": ["x" * 65]}, [], "x"],
)  # fmt: skip
def test_a_playlist_that_makes_no_sense_is_refused(ann: Client, body: object) -> None:
    before = ann.ask("GET", "/api/playlists").body
    assert ann.ask("POST", "/api/playlists", json=body).status == 422
    assert ann.ask("GET", "/api/playlists").body == before


def test_a_playlist_of_unknown_songs_is_refused(shared_world: World, ann: Client) -> None:
    body = {"name": "x", "songs": [shared_world.songs[0], "0123456789abcdef"]}
    assert ann.ask("POST", "/api/playlists", json=body).status == 404
    address = saved(ann, "y", shared_world.songs[:1])
    assert ann.ask("PUT", address, json={"name": "z", "songs": ["0123456789abcdef"]}).status == 404
    shown = ann.ask("GET", address).json()
    assert (shown["name"], shown["count"]) == ("y", 1)  # all of a change, or nothing
    assert ann.ask("PUT", address, json={}).status == 422


def _places(form: str, body: bytes) -> list[str]:
    """Return where the songs of a playlist file are."""
    match form:
        case "m3u8":
            return [line for line in body.decode().splitlines() if not line.startswith("#")]
        case "xspf":
            tracks = ET.fromstring(body)
            return [str(place.text) for place in tracks.iter(f"{XSPF}location")]
        case _:
            return [one["location"][0] for one in json.loads(body)["playlist"]["track"]]
