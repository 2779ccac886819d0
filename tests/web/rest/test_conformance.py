"""Every documented endpoint answers as OpenSubsonic describes it, in JSON, and in XML the same."""

import json
import secrets
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from bandstand.store.app_passwords import SCOPES, AppScope, allows
from bandstand.web.rest import calls
from bandstand.web.rest.calls import ENDPOINTS
from bandstand.web.rest.system import EXTENSIONS
from tests.fixtures.web.rest_apps import RestApp, app_of, as_json, rest_app
from tests.fixtures.web.worlds import World

BINARY = {"stream", "download", "getCoverArt"}  # which refuse here: there are no files
# Answered with "Bandstand does not have this".
NOT_THERE = {
    "addChatMessage", "changePassword", "createBookmark", "createInternetRadioStation",
    "createPodcastChannel", "createShare", "createUser", "deleteBookmark",
    "deleteInternetRadioStation", "deletePodcastChannel", "deletePodcastEpisode", "deleteShare",
    "deleteUser", "downloadPodcastEpisode", "getAvatar", "getCaptions", "getPodcastEpisode",
    "getTranscodeDecision", "getTranscodeStream", "getVideoInfo", "hls.m3u8", "jukeboxControl",
    "refreshPodcasts", "search", "updateInternetRadioStation", "updateShare", "updateUser",
}  # fmt: skip


@pytest.fixture(scope="module")
def described(shared_data: Path) -> dict[str, Any]:
    """The description of OpenSubsonic, as one document."""
    text = (shared_data / "opensubsonic" / "openapi.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture(scope="module")
def app(shared_world: World) -> RestApp:
    """An app whose listener has marked, rated, heard, saved and queued something."""
    app = rest_app(shared_world, f"app {secrets.token_hex(4)}")
    first, second = (f"tr-{song}" for song in shared_world.songs[:2])
    album = app.call("getSong", id=first)["song"]["albumId"]
    artist = app.call("getSong", id=first)["song"]["artistId"]
    app.call("star", id=first, albumId=album, artistId=artist)
    for rated in (first, album, artist):
        app.call("setRating", id=rated, rating=4)
    app.call("scrobble", id=first)
    app.call("reportPlayback", mediaId=second, mediaType="song", positionMs=5, state="playing")
    app.call("savePlayQueue", id=[first, second], current=second, position=7)
    app.call("createPlaylist", name="Some", songId=[first, second])
    return app


def examples(app: RestApp, world: World) -> dict[str, dict[str, Any]]:
    """Return parameters for each endpoint that needs some."""
    first, second = (f"tr-{song}" for song in world.songs[:2])
    song = app.call("getSong", id=first)["song"]
    album, artist = {"id": song["albumId"]}, {"id": song["artistId"]}
    own = app.call("getPlaylists")["playlists"]["playlist"][-1]["id"]
    spare = app.call("createPlaylist", name="Spare")["playlist"]["id"]
    return {
        "createPlaylist": {"playlistId": own, "songId": [first, second]},
        "deletePlaylist": {"id": spare},
        "findSonicPath": {"startSongId": first, "endSongId": second, "count": 4},
        "getAlbum": album,
        "getAlbumInfo": album,
        "getAlbumInfo2": album,
        "getAlbumList": {"type": "random"},
        "getAlbumList2": {"type": "starred"},
        "getArtist": artist,
        "getArtistInfo": artist,
        "getArtistInfo2": artist,
        "getLyricsBySongId": {"id": first},
        "getMusicDirectory": album,
        "getPlaylist": {"id": own},
        "getSimilarSongs": {"id": first, "count": 3},
        "getSimilarSongs2": {**artist, "count": 3},
        "getSong": {"id": first},
        "getSongsByGenre": {"genre": "Jazz"},
        "getSonicSimilarTracks": {"id": first},
        "getTopSongs": {"artist": song["artist"]},
        "reportPlayback": {"mediaId": second, "mediaType": "song", "positionMs": 9,
                           "state": "paused"},
        "savePlayQueue": {"id": [first, second], "current": first},
        "savePlayQueueByIndex": {"id": [first, second], "currentIndex": 1},
        "scrobble": {"id": first, "submission": "false"},
        "search2": {"query": "song 1"},
        "search3": {"query": '""'},
        "setRating": {"id": first, "rating": 4},
        "star": {"id": first},
        "unstar": {"id": second},
        "updatePlaylist": {"playlistId": own, "name": "Others"},
    }  # fmt: skip


def problems(described: dict[str, Any], name: str, tree: dict[str, Any]) -> list[str]:
    """Return where an answer in JSON is not as the description has it."""
    operations = described["paths"][f"/rest/{name}"]
    answer = operations.get("get", operations.get("post"))["responses"]["200"]
    if "$ref" in answer:
        answer = described["components"]["schemas"][answer["$ref"].rpartition("/")[2]]
    schema = {
        **answer["content"]["application/json"]["schema"],
        "components": described["components"],
    }
    validator = jsonschema_rs.validator_for(schema)
    return [str(error)[:300] for error in validator.iter_errors({"subsonic-response": tree})]


def test_all_of_the_protocol_has_an_answer(described: dict[str, Any]) -> None:
    known = {path.removeprefix("/rest/") for path in described["paths"]}
    assert known - {"getOpenSubsonicExtensions"} == set(ENDPOINTS) | NOT_THERE
    assert not NOT_THERE & set(ENDPOINTS)


@pytest.mark.parametrize("name", sorted(set(ENDPOINTS) - BINARY - {"startScan"}))
def test_an_answer_is_as_described_and_the_same_in_xml_and_by_form(
    app: RestApp, shared_world: World, described: dict[str, Any], name: str
) -> None:
    params = examples(app, shared_world).get(name, {})
    tree = app.call(name, **params)
    assert tree["version"] == "1.16.1"
    assert problems(described, name, tree) == []
    if params.get("type") == "random" or name == "deletePlaylist":
        return
    xml = app.send(f"{name}.view", **params)
    assert (xml.status, xml.header("content-type")) == (200, "text/xml; charset=utf-8")
    assert as_json(xml.body, tree) == tree
    assert app.send(name, post=True, f="json", **params).json()["subsonic-response"] == tree


def test_an_answer_that_lacks_something_is_found_out(
    app: RestApp, shared_world: World, described: dict[str, Any]
) -> None:
    """The twin: the same checks see a field that is missing, or that only one form has."""
    tree = app.call("getSong", id=f"tr-{shared_world.songs[0]}")
    del tree["song"]["title"]
    assert problems(described, "getSong", tree) != []
    with pytest.raises(AssertionError):
        as_json(app.send("getSong", id=f"tr-{shared_world.songs[0]}").body, tree)


@pytest.mark.parametrize("name", sorted(BINARY | NOT_THERE | {"startScan", "nothing", "", "a/b"}))
def test_what_is_not_there_is_refused_in_the_words_of_the_protocol(
    app: RestApp, shared_world: World, described: dict[str, Any], name: str
) -> None:
    params = {"id": f"tr-{shared_world.songs[0]}"}
    codes = {"startScan": 50} | dict.fromkeys(BINARY, 70)
    assert app.code(name, **params) == codes.get(name, 0)
    assert problems(described, "ping", app.tree(name, **params)) == []
    assert b'status="failed"' in app.send(name, **params).body


def open_to(app: RestApp, scope: AppScope | None) -> set[str]:
    """Return the endpoints that let a caller in who should be kept out."""
    found = set()
    for name, one in ENDPOINTS.items():
        tree = app.tree(name)
        is_meant = scope is not None and allows(scope, one.scope)
        codes = {10} if scope is None else {50}
        is_open = tree["status"] == "ok" or tree["error"]["code"] not in codes
        if is_open and not is_meant:
            found.add(name)
        assert is_open or not is_meant or name == "startScan", name
    return found


def test_nobody_gets_anything_but_the_extensions(shared_world: World) -> None:
    stranger = RestApp(shared_world.stranger(), shared_world.account(secrets.token_hex(4)))
    assert open_to(stranger, None) == set()
    stranger.client.cookies = shared_world.admin(secrets.token_hex(4)).cookies
    assert open_to(stranger, None) == set(), "a session counts for nothing here"
    known = stranger.call("getOpenSubsonicExtensions")["openSubsonicExtensions"]
    assert known == [{"name": name, "versions": [1]} for name in EXTENSIONS]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("role", ["listener", "admin"])
def test_an_app_does_what_its_scope_is_for(shared_world: World, scope: AppScope, role: Any) -> None:
    owner = shared_world.account(f"owner {secrets.token_hex(4)}", role)
    assert open_to(app_of(shared_world, owner, scope), scope) == set()


def test_an_endpoint_without_a_check_is_found_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without the comparison of scopes the same walk finds doors open."""
    monkeypatch.setattr(calls, "check_scope", lambda _scope, _wanted: None)
    app = rest_app(shared_world, f"owner {secrets.token_hex(4)}", "read")
    assert open_to(app, "read") == {n for n, one in ENDPOINTS.items() if one.scope != "read"}


def test_an_endpoint_must_declare_its_scope() -> None:
    with pytest.raises(ValueError, match="must declare one of"):
        calls.endpoint("getSecret", scope="everything")  # type: ignore[arg-type]


def test_odd_values_are_no_error_of_the_server(app: RestApp) -> None:
    odd = ("", "\0", "x" * 3_000, "-1", "9" * 40, "tr-", "al-0", "pl-radio", "\ud800", "1e9", "é")
    for name in ENDPOINTS:
        for value in odd:
            text = value.encode(errors="surrogatepass")
            given = dict.fromkeys(
                ("id", "query", "type", "genre", "artist", "size", "count", "songOffset", "rating",
                 "playlistId", "mediaId", "state", "positionMs", "time", "current", "fromYear",
                 "username", "startSongId", "endSongId", "songIndexToRemove"), text,
            )  # fmt: skip
            assert app.send(name, f="json", **given).status == 200, (name, value)
