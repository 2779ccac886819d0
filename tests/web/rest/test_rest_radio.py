"""The radio inside an app: what the page would play, and lists that renew themselves."""

import secrets
from typing import Any

import pytest

from bandstand.web.rest.lists import DAY_MS, KeptList
from tests.fixtures.web.rest_apps import RestApp, rest_app
from tests.fixtures.web.worlds import World


def ids(songs: list[dict[str, Any]]) -> list[str]:
    return [song["id"].removeprefix("tr-") for song in songs]


def hear(world: World, app: RestApp, song: str, *, stars: int | None = None) -> None:
    """Play a song to its end as an app does, with both ways of saying so."""
    about = {"mediaId": f"tr-{song}", "mediaType": "song"}
    length = app.call("getSong", id=f"tr-{song}")["song"]["duration"]
    app.call("reportPlayback", **about, state="starting", positionMs=0)
    app.call("scrobble", id=f"tr-{song}", submission="false")
    world.clock.now += 1_000 * length
    if stars is not None:
        app.call("setRating", id=f"tr-{song}", rating=stars)
    app.call("reportPlayback", **about, state="stopped", positionMs=1_000 * length)
    app.call("scrobble", id=f"tr-{song}")


def test_an_app_follows_the_radio_of_the_page_and_each_play_counts_once(world: World) -> None:
    app = rest_app(world)
    page = world.member(app.account)
    for number in range(12):
        wanted = page.ask("GET", "/api/next").json()["song"]["id"]
        planned = [
            it["song"]["id"] for it in page.ask("GET", "/api/playlist?count=5").json()["songs"]
        ]
        random = app.call("getRandomSongs", size=5)["randomSongs"]["song"]
        assert ids(random) == planned
        assert planned[0] == wanted
        hear(world, app, wanted, stars=1 + number % 5 if number % 2 else None)
        world.context.radio.wait_until_rebuilt()
    plays = world.context.radio.ledger(app.account.id).plays
    assert len(plays) == 12
    assert [play.kind for play in plays] == ["listen", "rating"] * 6
    assert [play.weight > 0 for play in plays] == [True] * 12


@pytest.mark.parametrize("of", ["song", "album", "artist", "playlist"])
@pytest.mark.parametrize("endpoint", ["getSimilarSongs", "getSimilarSongs2"])
def test_any_id_starts_a_radio(shared_world: World, endpoint: str, of: str) -> None:
    app = rest_app(shared_world, f"app {secrets.token_hex(4)}")
    song = app.call("getSong", id=f"tr-{shared_world.songs[3]}")["song"]
    made = app.call("createPlaylist", name="x", songId=song["id"])["playlist"]["id"]
    wanted = {"song": song["id"], "playlist": made}.get(of) or song[f"{of}Id"]
    (answer,) = (it for it in app.call(endpoint, id=wanted, count=4).values() if type(it) is dict)
    assert len(ids(answer["song"])) == len(set(ids(answer["song"]))) == 4
    assert app.code(endpoint, id=f"{wanted[:3]}0000000000000000") == 70


def test_a_list_of_songs_has_none_twice_however_many_are_wanted(shared_world: World) -> None:
    app = rest_app(shared_world, f"app {secrets.token_hex(4)}")
    for number in (0, 1, 500):
        found = ids(app.call("getRandomSongs", size=number)["randomSongs"]["song"])
        assert len(found) == len(set(found)) <= number
    years = {"fromYear": 1990, "toYear": 1800}
    assert app.call("getRandomSongs", **years)["randomSongs"]["song"] == []
    assert app.call("getRandomSongs", genre="Polka")["randomSongs"]["song"] == []


def test_top_songs_are_the_artists_and_the_best_come_first(world: World) -> None:
    app = rest_app(world)
    for number, song in enumerate(world.songs[:12]):
        hear(world, app, song, stars=1 + number % 5)
    world.clock.now += 40 * DAY_MS
    expected = world.context.radio.expected(app.account.id)
    artist = app.call("getSong", id=f"tr-{world.songs[0]}")["song"]
    for about in ({"artist": artist["artist"]}, {"id": artist["artistId"], "artist": "x"}):
        found = app.call("getTopSongs", **about)["topSongs"]["song"]
        assert {it["artist"] for it in found} == {artist["artist"]}
        values = [expected[song] for song in ids(found)]
        assert values == sorted(values, key=lambda it: -(it or 0))
    assert app.call("getTopSongs", artist="nobody")["topSongs"] == {"song": []}
    assert app.code("getTopSongs") == 10


def test_likeness_is_of_the_sound_alone(shared_world: World) -> None:
    first, last = (f"tr-{song}" for song in shared_world.songs[:2])
    answers = []
    for _ in range(2):
        app = rest_app(shared_world, f"app {secrets.token_hex(4)}")
        app.call("setRating", id=last, rating=1)
        near = app.call("getSonicSimilarTracks", id=first, count=39)["sonicMatch"]
        answers.append([(it["entry"]["id"], it["similarity"]) for it in near])
        path = app.call("findSonicPath", startSongId=first, endSongId=last, count=6)["sonicMatch"]
        through = [it["entry"]["id"] for it in path]
        assert (through[0], through[-1], len(set(through))) == (first, last, 6)
        assert app.code("findSonicPath", startSongId=first, endSongId="tr-0") == 70
    assert answers[0] == answers[1]
    values = [similarity for _, similarity in answers[0]]
    assert values == sorted(values, reverse=True)
    assert 1 > values[0] > values[-1] >= 0
    assert first not in dict(answers[0])


def test_lists_are_made_by_the_radio_and_stay_while_they_are_played(world: World) -> None:
    app = rest_app(world)
    names = [it["name"] for it in app.call("getPlaylists")["playlists"]["playlist"]]
    assert names == ["Radio"]  # of nothing heard, no more can be made
    radio = ids(app.call("getPlaylist", id="pl-radio")["playlist"]["entry"])
    for song in radio[:12]:
        hear(world, app, song, stars=5)
    world.clock.now += 40 * DAY_MS
    shown = {it["id"]: it for it in app.call("getPlaylists")["playlists"]["playlist"]}
    assert list(shown) == ["pl-radio", "pl-rediscover", "pl-new"]
    assert all(it["readonly"] and it["validUntil"] and it["comment"] for it in shown.values())
    again = ids(app.call("getPlaylist", id="pl-rediscover")["playlist"]["entry"])
    new = ids(app.call("getPlaylist", id="pl-new")["playlist"]["entry"])
    assert set(again) == set(radio[:12])
    assert new
    assert not set(new) & set(radio[:12])
    for _ in range(2):
        assert app.code("deletePlaylist", id="pl-new") == 50
        assert app.code("updatePlaylist", playlistId="pl-new", name="Mine") == 50
        hear(world, app, new[0])
        world.clock.now += DAY_MS // 3
        assert ids(app.call("getPlaylist", id="pl-new")["playlist"]["entry"]) == new
    world.clock.now += DAY_MS
    assert new[0] not in ids(app.call("getPlaylist", id="pl-new")["playlist"]["entry"])


def test_a_list_is_due_after_a_day_and_not_while_it_is_played() -> None:
    kept = KeptList(songs=("a", "b"), made_at=DAY_MS)
    assert KeptList().is_due({}, now=DAY_MS)
    assert not kept.is_due({}, now=2 * DAY_MS - 1)
    assert kept.is_due({}, now=2 * DAY_MS)
    assert not kept.is_due({"b": 2 * DAY_MS}, now=2 * DAY_MS + 60_000)
    assert kept.is_due({"c": 2 * DAY_MS}, now=2 * DAY_MS + 60_000)
