"""Favourites over HTTP: marked, listed, unmarked, and said of every song."""

from typing import Any

import pytest

from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import World


def put(client: Client, scope: str, target: str, *, favourite: Any = True) -> Answer:
    body = {"scope": scope, "target": target, "favourite": favourite}
    return client.ask("PUT", "/api/favourites", json=body)


def test_every_song_object_says_whether_it_is_one(world: World) -> None:
    ann, ben, song = world.listener("Ann"), world.listener("Ben"), world.songs[3]
    for client, is_marked in ((ann, True), (ben, False)):
        if is_marked:
            assert put(client, "song", song).json() == {"favourite": True}
        saved = client.ask("POST", "/api/playlists", json={"name": "x", "songs": [song]})
        one = client.ask("GET", f"/api/songs/{song}").json()["song"]
        following = client.ask("GET", f"/api/next?song={song}").json()["song"]
        (planned,) = client.ask("GET", f"/api/playlist?count=1&song={song}").json()["songs"]
        (listed,) = client.ask("GET", str(saved.header("location"))).json()["songs"]
        whole = client.ask("GET", "/api/songs?limit=200").json()["songs"]
        marked = {it["id"] for it in whole if it["favourite"]}
        assert marked == ({song} if is_marked else set())
        best = client.ask("GET", "/api/songs?limit=200&sort=expected").json()["songs"]
        assert {it["id"] for it in best if it["favourite"]} == marked
        for said in (one, following, planned["song"], listed):
            assert (said["id"], said["favourite"]) == (song, is_marked)
        only = client.ask("GET", "/api/songs?favourite=yes").json()
        assert ([it["id"] for it in only["songs"]], only["total"]) == ([*marked], len(marked))


def test_they_are_listed_until_they_are_unmarked(world: World) -> None:
    ann, song = world.listener(), world.songs[0]
    for scope, target in (("song", song), ("artist", "Björk"), ("album", "Debut · Björk")):
        assert put(ann, scope, target).status == 200
        assert put(ann, scope, target).status == 200
    assert put(ann, "artist", "BJÖRK", favourite=False).json() == {"favourite": False}
    now = world.clock()
    assert ann.ask("GET", "/api/favourites").json()["favourites"] == [
        {"scope": "song", "target": song, "at": now},
        {"scope": "album", "target": "Debut · Björk", "at": now},
    ]
    (event,) = ann.ask("GET", "/api/history?kind=retract").json()["events"]
    assert event["retracted"]["target"] == "Björk"
    assert ann.ask("GET", "/api/settings/rules").json()["rules"] == []
    assert put(ann, "song", song, favourite=False).status == 200
    assert ann.ask("GET", "/api/songs?favourite=yes").json()["songs"] == []


def test_one_that_is_marked_while_it_plays_is_learnt_from_until_it_is_unmarked(
    world: World,
) -> None:
    ann, song = world.listener(), world.songs[0]
    ledger = world.context.radio.ledger
    account = ann.ask("GET", "/api/session").json()["id"]
    put(ann, "song", song)
    world.clock.now += 60_000
    listen = {"key": "1", "kind": "listen", "song": song, "played_seconds": 180}
    assert ann.ask("POST", "/api/events", json=listen).status == 201
    assert ledger(account).plays[0].rating == 5
    put(ann, "song", song, favourite=False)
    assert ledger(account).plays[0].rating == 4


@pytest.mark.parametrize(
    "body",
    [
        {"scope": "song", "target": "x", "favourite": True},
        {"scope": "genre", "target": "Jazz", "favourite": True},
        {"scope": "artist", "target": "", "favourite": True},
        {"scope": "artist", "target": "x", "favourite": "yes"},
        {"scope": "artist", "target": "x"},
    ],
)
def test_what_makes_no_sense_is_refused(world: World, body: dict[str, Any]) -> None:
    ann = world.listener()
    assert ann.ask("PUT", "/api/favourites", json=body).status == 422
    assert put(ann, "song", "0" * 16).status == 404
    assert ann.ask("GET", "/api/favourites").json() == {"favourites": []}
