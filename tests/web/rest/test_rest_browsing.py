"""The library in an app: whole, in a stable order, with ids that stay, and playlists."""

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bandstand.music.catalogue.refresh import refreshed
from bandstand.settings import Settings
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.web.app import create_app
from bandstand.web.rest.library import album_id, artist_id
from bandstand.web.server import server_context
from tests.fixtures.store.examples import analysis
from tests.fixtures.web.rest_apps import RestApp, rest_app
from tests.fixtures.web.worlds import Clock, World, make_world

# (title, artist, album artist, album, genre, year)
SONGS = (
    ("One", "Björk", None, "Homogenic", "Pop; Electronic", 1997),
    ("Two", "BJÖRK", "Björk", "homogenic", "Pop", 1998),
    ("Three", "The Guest", "Various", "A Sampler", "Jazz", 1980),
    ("Four", "Björk", "Various", "A Sampler", None, None),
    ("Five", None, None, None, None, None),
    ("Six", "The Guest", None, None, "Jazz", 2001),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("world")) as made:
        with made.store.writing() as connection:
            found = [
                (
                    f"/music/x/{number}.flac".encode(),
                    analysis(
                        100 + number, title=title, artist=artist, album_artist=whose, album=album,
                        genre=genre, year=year, track=number,
                    ),
                )
                for number, (title, artist, whose, album, genre, year) in enumerate(SONGS)
            ]  # fmt: skip
            record_analyses(connection, found, scan=1, now=made.clock() + 1)
        refreshed(made.store, now=made.clock() + 1)
        made.context.radio.refresh()
        yield made


@pytest.fixture
def app(world: World) -> RestApp:
    return rest_app(world, f"app {secrets.token_hex(4)}")


def pages(app: RestApp, kind: str, query: str, size: int) -> list[str]:
    """Return the ids of everything of a kind, asked for page by page."""
    found: list[str] = []
    while True:
        counts = {"artistCount": 0, "albumCount": 0, "songCount": 0, f"{kind}Count": size}
        page = app.call("search3", query=query, **counts, **{f"{kind}Offset": len(found)})
        inside = [it["id"] for it in page["searchResult3"][kind]]
        found += inside
        if len(inside) < size:
            return found


@pytest.mark.parametrize("kind", ["artist", "album", "song"])
@pytest.mark.parametrize("query", ["", '""', " "])
def test_a_search_for_nothing_pages_through_everything_once(
    app: RestApp, kind: str, query: str
) -> None:
    whole = pages(app, kind, query, 500)
    assert whole == pages(app, kind, query, 7)
    assert len(whole) == len(set(whole))
    if kind == "song":
        assert len(whole) == app.call("getScanStatus")["scanStatus"]["count"] == 46


def test_words_find_what_has_all_of_them(app: RestApp) -> None:
    found = app.call("search3", query="polka homogenic")["searchResult3"]
    assert found["album"] == []
    found = app.call("search3", query="björk HOMOGENIC")["searchResult3"]
    assert [it["title"] for it in found["song"]] == ["One", "Two"]
    assert [it["name"] for it in found["album"]] == ["Homogenic"]
    assert app.call("search3", query="guest")["searchResult3"]["artist"] != []
    assert app.code("search3") == 10


def test_spellings_are_one_and_an_id_follows_from_the_name(app: RestApp) -> None:
    (album,) = (
        it
        for it in app.call("getArtist", id=artist_id("björk"))["artist"]["album"]
        if it["name"].lower() == "homogenic"
    )
    assert album["id"] == album_id("HOMOGENIC ", "Björk")
    assert (album["songCount"], album["year"], album["genre"]) == (2, 1997, "Pop")
    inside = app.call("getAlbum", id=album["id"])["album"]["song"]
    assert [it["title"] for it in inside] == ["One", "Two"]
    assert inside[0]["genres"] == [{"name": "Pop"}, {"name": "Electronic"}]
    assert inside[0]["parent"] == inside[0]["albumId"] == album["id"]


def test_songs_without_names_are_to_be_found_too(app: RestApp) -> None:
    unknown = app.call("getArtist", id=artist_id(None))["artist"]
    assert (unknown["name"], unknown["album"][0]["name"]) == ("Unknown Artist", "Unknown Album")
    (song,) = app.call("getAlbum", id=unknown["album"][0]["id"])["album"]["song"]
    assert (song["title"], song["artist"], song["coverArt"]) == (
        "Five",
        "Unknown Artist",
        song["id"],
    )
    guest = app.call("getArtist", id=artist_id("The Guest"))["artist"]
    assert [it["name"] for it in guest["album"]] == ["Unknown Album"]
    letters = {it["name"]: it["artist"] for it in app.call("getArtists")["artists"]["index"]}
    assert "The Guest" in [it["name"] for it in letters["G"]]


def test_a_song_has_all_that_clients_insist_on(app: RestApp) -> None:
    for song in app.call("search3", query="", songCount=500)["searchResult3"]["song"]:
        assert song["type"] == "music"
        assert song["duration"] >= 1
        assert {"size", "suffix", "contentType", "created", "discNumber", "path"} <= set(song)
        assert song["isDir"] is song["isVideo"] is False
        assert "/music" not in song["path"]


def listed(app: RestApp, kind: str, **more: Any) -> list[str]:
    answer = app.send("getAlbumList2", f="json", type=kind, size=500, **more)
    found = [it["id"] for it in answer.json()["subsonic-response"]["albumList2"]["album"]]
    total = int(str(answer.header("x-total-count")))
    assert total == len(found) + int(more.get("offset", 0))
    return found


def test_albums_come_in_every_order(app: RestApp, world: World) -> None:
    named = listed(app, "alphabeticalByName")
    for kind in ("random", "newest", "alphabeticalByArtist"):
        assert sorted(listed(app, kind)) == sorted(named)
    assert listed(app, "alphabeticalByName", offset=3) == named[3:]
    assert album_id("Homogenic", "Björk") in listed(app, "newest")[:5]
    homogenic, sampler = album_id("Homogenic", "Björk"), album_id("A Sampler", "Various")
    years = listed(app, "byYear", fromYear=1980, toYear=2000)
    assert years == [sampler, homogenic]
    assert listed(app, "byYear", fromYear=2000, toYear=1980) == years[::-1]
    assert listed(app, "byGenre", genre="electronic") == [homogenic]
    assert app.code("getAlbumList2", type="best") == 0
    assert [listed(app, it) for it in ("highest", "frequent", "recent", "starred")] == [[]] * 4
    songs = {
        it["title"]: it["id"]
        for name in ("homogenic", "sampler")
        for it in app.call("search3", query=name)["searchResult3"]["song"]
    }
    app.call("setRating", id=songs["Three"], rating=5)
    app.call("setRating", id=songs["One"], rating=2)
    assert listed(app, "highest") == [sampler, homogenic]
    app.call("setRating", id=sampler, rating=1)
    assert listed(app, "highest") == [homogenic, sampler]
    world.clock.now += 1
    app.call("scrobble", id=songs["Two"])
    assert listed(app, "frequent") == [homogenic]
    assert listed(app, "recent")[0] == homogenic


def test_folders_lead_from_artists_to_songs(app: RestApp) -> None:
    top = app.call("getMusicDirectory", id=1)["directory"]["child"]
    artist = next(it for it in top if it["title"] == "Björk")
    album = app.call("getMusicDirectory", id=artist["id"])["directory"]["child"][0]
    assert (album["isDir"], album["parent"]) == (True, artist["id"])
    (song, _) = app.call("getMusicDirectory", id=album["id"])["directory"]["child"]
    assert song == app.call("getSong", id=song["id"])["song"]
    for wanted in ("2", "al-0", "ar-0", "tr-0"):
        assert app.code("getMusicDirectory", id=wanted) == 70


def test_playlists_are_those_of_the_page(app: RestApp, world: World) -> None:
    first, second, third = (f"tr-{song}" for song in world.songs[:3])
    made = app.call("createPlaylist", name="Mine", songId=[first, second])["playlist"]
    page = world.member(app.account)
    assert page.ask("GET", "/api/playlists").json()["playlists"][0]["name"] == "Mine"
    own = {"playlistId": made["id"]}
    app.call("updatePlaylist", **own, name="Ours", songIdToAdd=[third, first], songIndexToRemove=0)
    found = app.call("getPlaylist", id=made["id"])["playlist"]
    assert (found["name"], [it["id"] for it in found["entry"]]) == ("Ours", [second, third, first])
    assert (found["readonly"], found["songCount"], found["public"]) == (False, 3, False)
    app.call("createPlaylist", **own, songId=third)
    assert [it["id"] for it in app.call("getPlaylist", id=made["id"])["playlist"]["entry"]] == [
        third
    ]
    other = rest_app(world, f"other {secrets.token_hex(4)}")
    for name, about in (("getPlaylist", {"id": made["id"]}), ("deletePlaylist", {"id": made["id"]}),
                        ("updatePlaylist", own), ("createPlaylist", own)):  # fmt: skip
        assert other.code(name, **about) == 70
    app.call("deletePlaylist", id=made["id"])
    assert app.code("getPlaylist", id=made["id"]) == 70
    assert app.code("createPlaylist", songId=first) == 10
    assert app.code("createPlaylist", name="x", songId="tr-0") == 70


def test_a_user_is_no_administrator_whoever_they_are(world: World) -> None:
    owner = world.account(f"chief {secrets.token_hex(4)}", "admin")
    app = RestApp(world.app_of(owner), owner)
    app.login, app.client.secret = {"apiKey": app.client.secret or ""}, None
    user = app.call("getUser", username=owner.name)["user"]
    assert len([name for name in user if name.endswith("Role")]) == 12
    assert (user["adminRole"], user["streamRole"], user["folder"]) == (False, True, [1])
    assert app.code("getUser", username="another") == 50


def test_a_library_of_nothing_is_empty_lists(tmp_path: Path) -> None:
    clock = Clock()
    with (
        open_store(str(tmp_path / "radio.db"), now=clock()) as store,
        server_context(store, Settings(), clock=clock) as context,
        asyncio.Runner() as runner,
    ):
        app = rest_app(World(store, context, create_app(context), clock, runner, []))
        empty: dict[str, list[Any]] = {"artist": [], "album": [], "song": []}
        assert app.call("search3", query="")["searchResult3"] == empty
        assert app.call("getArtists")["artists"]["index"] == []
        assert app.call("getPlaylists")["playlists"] == {"playlist": []}
        assert app.call("getRandomSongs")["randomSongs"] == {"song": []}
        for kind in ("newest", "byYear", "random", "starred"):
            assert app.call("getAlbumList2", type=kind)["albumList2"] == {"album": []}
