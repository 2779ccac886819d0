"""How much music there is, names for filters, and orders of songs over HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bandstand.settings import Settings
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.web.app import create_app
from bandstand.web.server import server_context
from tests.fixtures.store.examples import analysis
from tests.fixtures.web.worlds import Clock, World
from tests.web.routes.test_songs import pages

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.web.requests import Client

SHAPE = {
    "songs", "artists", "albums", "genres", "duration", "is_scanning", "state", "done", "total",
    "change",
}  # fmt: skip


@pytest.fixture(scope="module")
def reader(shared_world: World) -> Client:
    """Somebody who only looks."""
    return shared_world.listener("Library reader")


def rate(listener: Client, song: str, stars: int, key: str) -> None:
    event = {"key": key, "kind": "rating", "song": song, "stars": stars}
    assert listener.ask("POST", "/api/events", json=event).status == 201


def names(listener: Client, query: str, *, limit: int = 100) -> list[dict[str, Any]]:
    """Return all names that a query finds, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        body = listener.ask("GET", f"/api/songs/names?{query}&limit={limit}{after}").json()
        assert len(body["names"]) <= limit
        found += body["names"]
        if body["next"] is None:
            assert body["total"] == len(found)
            return found
        after = f"&after={quote(body['next'])}"


# ── How much there is ────────────────────────────────────────────────────────────────────


def test_a_listener_knows_how_much_music_there_is(world: World) -> None:
    ann = world.listener()
    body = ann.ask("GET", "/api/library").json()
    assert set(body) == SHAPE
    assert body["songs"] == len(world.songs) == len(pages(ann, limit=200))
    for of, name in (("artist", "artists"), ("album", "albums"), ("genre", "genres")):
        assert body[name] == len(names(ann, f"of={of}"))
    assert body["duration"] == sum(song["duration"] for song in pages(ann, limit=200))
    assert (body["is_scanning"], body["state"], body["total"]) == (False, "idle", None)


def test_new_songs_count_when_they_can_be_played(world: World) -> None:
    ann = world.listener()
    with world.store.writing() as connection:
        new = analysis(999, artist="New", album="New", genre="New/Old")
        record_analyses(connection, [(b"/music/new.ogg", new)], scan=2, now=1)
    before = ann.ask("GET", "/api/library").json()
    world.context.radio.refresh()
    after = ann.ask("GET", "/api/library").json()
    grown = {name: after[name] - before[name] for name in ("songs", "artists", "albums", "genres")}
    assert grown == {"songs": 1, "artists": 1, "albums": 1, "genres": 2}


def test_an_empty_library_is_no_error(tmp_path: Path) -> None:
    clock = Clock()
    with (
        open_store(str(tmp_path / "radio.db"), now=clock()) as store,
        server_context(store, Settings(), clock=clock) as context,
        asyncio.Runner() as runner,
    ):
        world = World(store, context, create_app(context), clock, runner)
        ann = world.listener()
        body = ann.ask("GET", "/api/library").json()
        assert set(body) == SHAPE
        assert (body["songs"], body["artists"], body["duration"]) == (0, 0, 0)
        assert names(ann, "of=artist") == []
        for sort in ("artist", "title", "album", "newest", "expected"):
            assert pages(ann, f"&sort={sort}", limit=9) == []


def test_only_who_is_logged_in_may_ask(world: World) -> None:
    for target in ("/api/library", "/api/songs/names?of=artist"):
        assert world.stranger().ask("GET", target).status == 401


# ── Names ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("limit", [1, 3, 500])
def test_each_name_is_on_one_page_and_finds_its_songs(reader: Client, limit: int) -> None:
    artists = names(reader, "of=artist", limit=limit)
    assert [it["name"] for it in artists] == [f"Artist {number}" for number in range(7)]
    for it in artists:
        assert len(pages(reader, f"&artist={quote(it['name'])}", limit=200)) == it["songs"]
    albums = names(reader, "of=album", limit=limit)
    for it in albums[:5]:
        query = f"&album={quote(it['name'])}&album_artist={quote(it['artist'])}"
        assert len(pages(reader, query, limit=200)) == it["songs"]
    assert sum(it["songs"] for it in albums) == sum(it["songs"] for it in artists)
    assert names(reader, "of=genre", limit=limit) == [{"name": "Jazz", "songs": 40}]


def test_names_are_found_by_words(reader: Client) -> None:
    assert [it["name"] for it in names(reader, "of=artist&q=ARTIST%203")] == ["Artist 3"]
    assert names(reader, "of=genre&q=nothing") == []
    found = names(reader, "of=album&q=artist%202")
    assert {it["artist"] for it in found if it["name"] != "Album 2"} == {"Artist 2"}


@pytest.mark.parametrize(
    "query",
    ["", "of=", "of=year", "of=Artist", "of=artist&limit=0", "of=artist&limit=501",
     "of=artist&q=a%00", "of=artist&after=%00", "of=artist&after=" + "x" * 501,
     "of=artist&q=" + "x" * 501],
)  # fmt: skip
def test_names_of_what_makes_no_sense_are_refused(reader: Client, query: str) -> None:
    assert reader.ask("GET", f"/api/songs/names?{query}").status == 422


# ── Orders and filters ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sort", ["artist", "title", "album", "newest", "expected"])
@pytest.mark.parametrize("limit", [7, 200])
def test_every_song_is_on_one_page_in_every_order(
    shared_world: World, reader: Client, sort: str, limit: int
) -> None:
    found = pages(reader, f"&sort={sort}", limit=limit)
    assert sorted(song["id"] for song in found) == sorted(shared_world.songs)


def test_what_should_please_best_comes_first(world: World) -> None:
    ann = world.listener()
    for number in range(12):
        world.clock.now += 300_000
        rate(ann, world.songs[number], 1 + number % 5, str(number))
    ban = {"key": "b", "kind": "ban", "scope": "song", "target": world.songs[20]}
    assert ann.ask("POST", "/api/events", json=ban).status == 201
    body = ann.ask("GET", "/api/songs?sort=expected&limit=200").json()
    assert {song["id"] for song in body["songs"]} == set(world.songs) - {world.songs[20]}
    stars = [body["expected"][song["id"]] for song in body["songs"]]
    assert stars == sorted(stars, reverse=True)
    for song in (body["songs"][0]["id"], world.songs[3]):
        shown = ann.ask("GET", f"/api/songs/{song}").json()
        assert body["expected"][song] == pytest.approx(shown["expected"], abs=1e-9)
    left = ann.ask("GET", f"/api/songs?sort=expected&limit=3&after={world.songs[20]}").json()
    assert left["songs"] == body["songs"][:3]  # behind what was banned meanwhile it begins again
    some = ann.ask("GET", "/api/songs?sort=expected&artist=Artist%202&heard=no").json()
    assert {song["artist"] for song in some["songs"]} == {"Artist 2"}
    assert set(some["expected"]) == {song["id"] for song in some["songs"]}


def test_of_somebody_who_has_said_nothing_nothing_is_expected(world: World) -> None:
    ann = world.listener()
    body = ann.ask("GET", "/api/songs?sort=expected&limit=9").json()
    assert set(body["expected"].values()) == {None}
    by_name = ann.ask("GET", "/api/songs?limit=9").json()
    assert body["songs"] == by_name["songs"]


def test_heard_is_what_oneself_has_heard(world: World) -> None:
    ann, bob = world.listener("Ann"), world.listener("Bob")
    rate(ann, world.songs[0], 3, "a")
    rate(bob, world.songs[1], 3, "b")
    assert [song["id"] for song in pages(ann, "&heard=yes", limit=9)] == [world.songs[0]]
    unheard = {song["id"] for song in pages(ann, "&heard=no", limit=9)}
    assert unheard == set(world.songs) - {world.songs[0]}


@pytest.mark.parametrize(
    "query",
    ["sort=", "sort=best", "sort=Title", "heard=", "heard=true", "year_from=x", "year_from=-1",
     "year_to=10000", "year_to=1.0", "album_artist="],
)  # fmt: skip
def test_other_orders_and_filters_are_refused(reader: Client, query: str) -> None:
    assert reader.ask("GET", f"/api/songs?{query}").status == 422


@pytest.mark.parametrize("sort", ["artist", "title", "album", "newest", "expected"])
def test_a_page_behind_no_song_is_not_found_in_any_order(reader: Client, sort: str) -> None:
    answer = reader.ask("GET", f"/api/songs?sort={sort}&after=0123456789abcdef")
    assert (answer.status, answer.code) == (404, "not_found")


def test_no_answer_tells_where_files_are(reader: Client) -> None:
    for target in ("/api/library", "/api/songs?sort=expected", "/api/songs/names?of=album"):
        assert b"/music/" not in reader.ask("GET", target).body
