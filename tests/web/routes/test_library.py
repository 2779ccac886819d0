"""How much music there is, names for filters, and orders of songs over HTTP."""

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bandstand.settings import Settings
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand.web.app import create_app
from bandstand.web.server import server_context
from tests.fixtures.store.examples import analysis
from tests.fixtures.web.requests import Client
from tests.fixtures.web.worlds import Clock, World

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
     "year_to=10000", "year_to=1.0", "album_artist=", "limit=0", "limit=201", "limit=x",
     "limit=1.0", "limit=", "artist=", "after=" + "x" * 99, "q=a%00b", "q=" + "x" * 501],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(reader: Client, query: str) -> None:
    assert reader.ask("GET", f"/api/songs?{query}").status == 422


@pytest.mark.parametrize("sort", ["artist", "title", "album", "newest", "expected"])
def test_a_page_behind_no_song_is_not_found_in_any_order(reader: Client, sort: str) -> None:
    answer = reader.ask("GET", f"/api/songs?sort={sort}&after=0123456789abcdef")
    assert (answer.status, answer.code) == (404, "not_found")


def test_no_answer_tells_where_files_are(shared_world: World, reader: Client) -> None:
    songs = ("", f"/{shared_world.songs[0]}", "?sort=expected", "/names?of=album")
    for target in ("/api/library", "/api/playlist?count=3", *(f"/api/songs{it}" for it in songs)):
        assert b"/music/" not in reader.ask("GET", target).body


# The library over HTTP: searching, paging, one song as it stands with a listener.


SONG_SHAPE = {
    "id", "title", "artist", "album", "album_artist", "genre", "year", "track", "disc", "duration",
    "replay_gain", "has_cover", "audio", "cover", "recording_mbid", "is_present", "favourite",
}  # fmt: skip


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


@pytest.mark.parametrize("sort", ["artist", "title", "album", "newest", "expected"])
@pytest.mark.parametrize("limit", [1, 7, 40, 200])
def test_every_song_is_on_one_page_in_every_order(
    shared_world: World, reader: Client, sort: str, limit: int
) -> None:
    found = pages(reader, f"&sort={sort}", limit=limit)
    assert sorted(song["id"] for song in found) == sorted(shared_world.songs)
    assert all(set(song) == SONG_SHAPE for song in found)
    if sort == "artist":
        names = [(song["artist"], song["title"]) for song in found]
        assert names == sorted(names)


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


def test_a_song_without_a_title_is_called_by_its_file(world: World) -> None:
    path = b"/music/Some \xff\nname.mp3"
    with world.store.writing() as connection:
        record_analyses(connection, [(path, analysis(999, title=None))], scan=2, now=1)
    found = pages(world.listener(), "&q=name", limit=10)
    assert [song["title"] for song in found] == ["Some ��name"]
