"""What an app says becomes events of the log, each play once, with the app's name."""

from typing import Any

import pytest

from bandstand.store.events import events
from bandstand.store.events.events import Event
from bandstand.web.rest.answers import moment
from bandstand.web.rest.entries import UNCOUNTED
from tests.fixtures.web.rest_apps import RestApp, app_of, rest_app
from tests.fixtures.web.worlds import World

MINUTE = 60_000


def log(world: World, app: RestApp) -> list[Event]:
    with world.store.reading() as connection:
        return list(events.after(connection, app.account.id))


def brief(world: World, app: RestApp) -> list[tuple[Any, ...]]:
    return [(it.kind, it.song or it.target, it.stars or it.played_ms) for it in log(world, app)]


def report(app: RestApp, song: str, state: str, seconds: float, **more: Any) -> None:
    position = round(1_000 * seconds)
    about = {"mediaId": f"tr-{song}", "mediaType": "song", "state": state, "positionMs": position}
    app.call("reportPlayback", **about, **more)


def test_a_rating_is_an_event_and_none_takes_all_back(world: World) -> None:
    app, song = rest_app(world), world.songs[0]
    for stars in (4, 4, 2):
        app.call("setRating", id=f"tr-{song}", rating=stars)
    assert brief(world, app) == [("rating", song, 4), ("rating", song, 2)]
    assert app.call("getSong", id=f"tr-{song}")["song"]["userRating"] == 2
    app.call("setRating", id=f"tr-{song}", rating=0)
    app.call("setRating", id=f"tr-{song}", rating=0)
    assert [it.retracts for it in log(world, app)][2:] == [1, 2]
    assert "userRating" not in app.call("getSong", id=f"tr-{song}")["song"]
    assert app.code("setRating", id=f"tr-{song}", rating=6) == 10
    report(app, song, "starting", 0)
    for _ in range(2):  # while it plays, the same stars are another judgement
        app.call("setRating", id=f"tr-{song}", rating=3)
    assert brief(world, app)[4:] == [("rating", song, 3)] * 2


def test_albums_and_artists_are_rated_and_teach_nothing(world: World) -> None:
    app = rest_app(world)
    song = app.call("getSong", id=f"tr-{world.songs[0]}")["song"]
    for kind, endpoint in (("album", "getAlbum"), ("artist", "getArtist")):
        wanted = song[f"{kind}Id"]
        app.call("setRating", id=wanted, rating=5)
        assert app.call(endpoint, id=wanted)[kind]["userRating"] == 5
        app.call("setRating", id=wanted, rating=0)
        assert "userRating" not in app.call(endpoint, id=wanted)[kind]
    assert log(world, app) == []


def test_a_mark_is_the_favourite_of_the_page(world: World) -> None:
    app, page = rest_app(world), None
    song = app.call("getSong", id=f"tr-{world.songs[0]}")["song"]
    app.call("star", id=[song["id"], song["albumId"]], artistId=song["artistId"])
    app.call("star", id=song["id"])
    found = app.call("getStarred2")["starred2"]
    assert [[it["id"] for it in found[kind]] for kind in ("song", "album", "artist")] == [
        [song["id"]], [song["albumId"]], [song["artistId"]],
    ]  # fmt: skip
    assert all(it["starred"] for it in (*found["song"], *found["album"], *found["artist"]))
    page = world.member(app.account)
    assert len(page.ask("GET", "/api/favourites").json()["favourites"]) == 3
    listed = app.call("getAlbumList2", type="starred")["albumList2"]["album"]
    assert [it["id"] for it in listed] == [song["albumId"]]
    app.call("unstar", id=song["id"], albumId=song["albumId"], artistId=song["artistId"])
    assert app.call("getStarred2")["starred2"] == {"artist": [], "album": [], "song": []}
    assert app.code("star", id="al-0000000000000000") == 70


@pytest.mark.parametrize("ignores", ["true", "false"])
def test_a_play_through_two_ways_is_one_event_with_the_name_of_the_app(
    world: World, ignores: str
) -> None:
    app, (song, other) = rest_app(world), world.songs[:2]
    app.login["c"] = "Supersonic"
    length = app.call("getSong", id=f"tr-{song}")["song"]["duration"]
    report(app, song, "starting", 0, ignoreScrobble=ignores)
    app.call("scrobble", id=f"tr-{song}", submission="false")
    world.clock.now += 1_000 * length
    app.call("scrobble", id=f"tr-{song}")
    report(app, song, "stopped", length, ignoreScrobble=ignores)
    (event,) = log(world, app)
    assert (event.kind, event.song) == ("listen", song)
    assert event.key.startswith("app:Supersonic:")
    shown = app.call("getSong", id=f"tr-{song}")["song"]
    assert (shown["playCount"], shown["played"]) == (1, moment(world.clock.now))
    report(app, other, "starting", 0, ignoreScrobble=ignores)
    world.clock.now += 10_000
    report(app, song, "starting", 0, ignoreScrobble=ignores)
    skip = log(world, app)[1]
    assert (skip.kind, skip.song, skip.played_ms) == ("skip", other, 10_000)
    assert skip.key.startswith(UNCOUNTED) == (ignores == "true")


def test_what_is_ignored_teaches_and_is_not_counted(world: World) -> None:
    app, song = rest_app(world), world.songs[0]
    length = app.call("getSong", id=f"tr-{song}")["song"]["duration"]
    report(app, song, "starting", 0, ignoreScrobble="true")
    world.clock.now += 1_000 * length
    report(app, song, "stopped", length, ignoreScrobble="true")
    (play,) = world.context.radio.ledger(app.account.id).plays
    assert play.weight > 0
    assert app.call("getSong", id=f"tr-{song}")["song"]["playCount"] == 0


def test_plays_that_were_delivered_late_are_noted_once_at_their_time(world: World) -> None:
    app, songs = rest_app(world), world.songs[:3]
    times = [world.clock.now - minutes * MINUTE for minutes in (30, 20, 10)]
    for _ in range(2):  # the app did not get the first answer
        app.call("scrobble", id=[f"tr-{song}" for song in songs], time=times)
    assert [(it.song, it.at) for it in log(world, app)] == list(zip(songs, times, strict=True))
    assert [play.weight for play in world.context.radio.ledger(app.account.id).plays] == [0, 0, 0]


def test_private_mode_is_the_way_to_keep_a_play_from_the_log(world: World) -> None:
    app, song = rest_app(world), world.songs[0]
    settings = {"private": True}
    assert world.member(app.account).ask("PATCH", "/api/settings", json=settings).status == 200
    report(app, song, "starting", 0)
    world.clock.now += 20_000
    report(app, song, "stopped", 20)
    app.call("scrobble", id=f"tr-{song}")
    assert log(world, app) == []


def test_two_apps_of_a_listener_are_two_players_and_only_they_are_shown(world: World) -> None:
    phone = rest_app(world)
    desk, other = app_of(world, phone.account), rest_app(world, "Bob")
    report(phone, world.songs[0], "starting", 0)
    desk.call("scrobble", id=f"tr-{world.songs[1]}", submission="false")
    report(other, world.songs[2], "playing", 5)
    world.clock.now += MINUTE
    found = phone.call("getNowPlaying")["nowPlaying"]["entry"]
    assert [it["id"] for it in found] == [f"tr-{song}" for song in world.songs[:2]]
    assert [it["minutesAgo"] for it in found] == [1, 1]
    assert (found[0]["state"], found[0]["positionMs"]) == ("starting", MINUTE)
    assert "state" not in found[1]
    world.clock.now += 60 * MINUTE
    assert phone.call("getNowPlaying")["nowPlaying"]["entry"] == []
    assert log(world, phone) == []


def test_the_queue_is_where_one_is_and_no_evidence(world: World) -> None:
    app, ids = rest_app(world), [f"tr-{song}" for song in world.songs[:3]]
    assert "playQueue" not in app.call("getPlayQueue")
    app.call("savePlayQueue", id=ids, current=ids[1], position=5_000)
    second = app_of(world, app.account).call("getPlayQueueByIndex")["playQueueByIndex"]
    assert (second["currentIndex"], second["position"], second["changedBy"]) == (1, 5_000, "tests")
    app.call("savePlayQueueByIndex", id=ids + ids, currentIndex=4)
    found = app.call("getPlayQueue")["playQueue"]
    assert (found["current"], len(found["entry"])) == (ids[1], 6)
    assert app.code("savePlayQueue", id=ids, current="tr-0") == 0
    assert app.code("savePlayQueueByIndex", id=ids) == 10
    app.call("savePlayQueue")
    assert "playQueue" not in app.call("getPlayQueue")
    assert log(world, app) == []
