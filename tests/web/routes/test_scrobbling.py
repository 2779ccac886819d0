"""Listeners choose where their plays go; other programs submit listens, as ListenBrainz has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bandstand.radio.scrobbling import incoming
from bandstand.store import scrobble_targets
from bandstand.store.events import events
from bandstand.store.events.events import Event
from bandstand.web.routes import scrobbling
from tests.fakes.listen_server import listen_server, wait_until
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import World, make_world

URL, TOKEN = "https://listens.example.org", "s3cret-token"
SUBMIT = "/apis/listenbrainz/1/submit-listens"
VALIDATE = "/apis/listenbrainz/1/validate-token"
MINUTE = 60_000


def connect(client: Client, url: str = URL, token: str = TOKEN) -> Answer:
    return client.ask("PUT", "/api/settings/scrobbling", json={"url": url, "token": token})


def listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask("GET", "/api/settings/scrobbling").json()["targets"]
    return found


# ── Out ──────────────────────────────────────────────────────────────────────────────────


def test_a_listener_names_a_server_and_removes_it(world: World) -> None:
    ann, bob = world.listener("Ann"), world.listener("Bob")
    made = connect(ann, URL + "/1/").json()
    assert listed(ann) == [made]
    assert made["url"] == URL
    assert connect(ann, URL, "another").json() == made
    usual = bob.ask("PUT", "/api/settings/scrobbling", json={"token": TOKEN}).json()
    assert usual["url"] == "https://api.listenbrainz.org"
    assert bob.ask("DELETE", f"/api/settings/scrobbling/{usual['id']}").status == 204
    assert listed(bob) == []
    where = f"/api/settings/scrobbling/{made['id']}"
    theirs, nobodys = bob.ask("DELETE", where), bob.ask("DELETE", where[:-16] + "0" * 16)
    assert theirs.status == nobodys.status == 404
    assert theirs.json()["error"]["message"] == nobodys.json()["error"]["message"]
    assert ann.ask("DELETE", where).status == 204
    assert listed(ann) == []


def test_addresses_and_tokens_that_cannot_be_are_refused(world: World) -> None:
    ann = world.admin("Ann")  # no administrator of the page may name a host at home either
    for url in ("http://192.168.1.5", "http://localhost:1", "ftp://a.example", "https://u:p@a.b"):
        answer = connect(ann, url)
        assert (answer.status, answer.code) == (422, "invalid")
    for token in ("", "a b", "ключ", "a\r\nX: 1"):
        assert connect(ann, token=token).status == 422
    for number in range(scrobble_targets.MAX_TARGETS):
        assert connect(ann, f"https://a{number}.example").status == 200
    assert connect(ann).status == 409


def shown(world: World, ann: Client) -> list[str]:
    """Return the answers to Ann, and to an administrator, that have her token."""
    made = connect(ann)
    zoe = world.admin()
    answers = {
        "put": made,
        "settings": ann.ask("GET", "/api/settings/scrobbling"),
        "export": ann.ask("GET", "/api/history/export"),
        "users": zoe.ask("GET", "/api/admin/users"),
        "status": zoe.ask("GET", "/api/admin/status"),
    }
    return [name for name, answer in answers.items() if TOKEN.encode() in answer.body]


def test_the_token_is_in_no_answer(world: World) -> None:
    assert shown(world, world.listener("Ann")) == []


def test_an_answer_with_the_token_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: one more field, and the answer is not as described, whatever its name."""
    monkeypatch.setattr(scrobbling, "_SHOWN", (*scrobbling._SHOWN, "token"))
    with pytest.raises(AssertionError):
        shown(world, world.listener("Ann"))


def test_what_is_heard_in_the_page_arrives_at_a_server_at_home(tmp_path: Any) -> None:
    with listen_server() as server, make_world(tmp_path, scrobble_hosts=("127.0.0.1",)) as world:
        ann = world.listener("Ann")
        assert connect(ann, server.url).status == 200
        song = world.songs[0]
        assert ann.ask("POST", "/api/playing", json={"song": song}).status == 204
        world.clock.now += 5 * MINUTE
        ann.ask("POST", "/api/events", json={"key": "1", "kind": "listen", "song": song})
        wait_until(lambda: server.titles == ["Song 1"])
        wait_until(lambda: listed(ann)[0]["delivered_at"] == world.clock.now)
    assert [body["listen_type"] for *_, body in server.requests] == ["playing_now", "single"]


# ── In ───────────────────────────────────────────────────────────────────────────────────


class Player:
    """A program that submits listens of Ann's."""

    def __init__(self, world: World, scope: Any = "play", name: str = "Ann") -> None:
        self.world, self.account = world, world.account(name)
        self.client, self.page = world.app_of(self.account, scope), world.member(self.account)

    def listen(self, number: int = 1, minutes_ago: float = 10, **info: Any) -> dict[str, Any]:
        track = {"artist_name": f"ARTIST {number % 7}", "track_name": f"Song {number}"}
        at = round(self.world.clock() / 1_000 - 60 * minutes_ago)
        details = {"media_player": "x", "duration_ms": 1_000 * (180 + number), **info}
        return {"listened_at": at, "track_metadata": {**track, "additional_info": details}}

    def submit(self, *listens: dict[str, Any], kind: str | None = None) -> Answer:
        kind = kind or ("single" if len(listens) == 1 else "import")
        body = {"listen_type": kind, "payload": list(listens)}
        secret = {"Authorization": f"Token {self.client.secret}"}
        return self.client.ask("POST", SUBMIT, json=body, headers=secret)

    def counted(self, *listens: dict[str, Any]) -> dict[str, int]:
        answer = self.submit(*listens)
        assert answer.json()["status"] == "ok", answer
        return dict(answer.json()["bandstand"])

    @property
    def log(self) -> list[Event]:
        with self.world.store.reading() as connection:
            return list(events.after(connection, self.account.id))


@pytest.fixture
def player(world: World) -> Player:
    return Player(world)


def test_a_token_is_an_app_password_that_may_play(world: World) -> None:
    rating, reading = Player(world, "rate", "Ann"), Player(world, "read", "Bob")
    good = {"code": 200, "message": "Token valid.", "valid": True, "user_name": "Ann"}
    bad = {"code": 200, "message": "Token invalid.", "valid": False}
    asked = world.stranger("192.0.2.1")
    for secret, expected in (
        (rating.client.secret, good),
        (reading.client.secret, bad),
        ("x", bad),
    ):
        answer = asked.ask("GET", VALIDATE, headers={"Authorization": f"Token {secret}"})
        assert (answer.status, answer.json()) == (200, expected)
    assert asked.ask("GET", VALIDATE).status == 400
    assert reading.submit(reading.listen()).code == "beyond_scope"
    reading.client.secret = "wrong"
    assert reading.submit(reading.listen()).code == "wrong_app_password"
    rating.client.secret = None
    assert rating.page.ask("POST", SUBMIT, json={}).status == 422  # the page may, too
    guesser = world.stranger("192.0.2.2")
    found = [
        guesser.ask("GET", VALIDATE, headers={"Authorization": f"Token {it}"}) for it in "abcdefg"
    ]
    assert found[-1].status == 429


def test_a_revoked_password_submits_nothing(player: Player) -> None:
    [app] = player.page.ask("GET", "/api/session/apps").json()["apps"]
    player.page.ask("DELETE", f"/api/session/apps/{app['id']}")
    assert player.submit(player.listen()).status == 401
    assert player.log == []


def test_a_listen_is_in_the_log_once_with_its_source(player: Player) -> None:
    listen = player.listen(1, minutes_ago=10)
    assert player.counted(listen) == {"stored": 1}
    assert player.counted(listen) == {"known": 1}
    assert player.counted(
        {**listen, "track_metadata": player.listen(1, duration_played=181)["track_metadata"]}
    ) == {"known": 1}
    [event] = player.log
    assert event.key == f"listenbrainz/{event.song}/{listen['listened_at']}"
    assert (event.kind, event.song, event.played_ms) == ("listen", player.world.songs[0], None)
    assert event.at == 1_000 * listen["listened_at"] + 181_000


def test_how_much_was_played_says_whether_it_was_skipped(player: Player) -> None:
    listens = [
        player.listen(1, 60, duration_played=181),
        player.listen(2, 50, duration_played=20),
        player.listen(3, 40, duration_played=175.5),
        player.listen(4, 30),
    ]
    assert player.counted(*listens) == {"stored": 4}
    found = [(event.kind, event.played_ms) for event in player.log]
    assert found == [("listen", 181_000), ("skip", 20_000), ("listen", 175_500), ("listen", None)]
    taste = player.page.ask("GET", "/api/taste").json()
    assert taste["counts"]["plays"] == 4


def test_what_the_page_or_the_listener_has_settled_is_not_noted_again(player: Player) -> None:
    world = player.world
    world.clock.now += 10 * MINUTE
    heard = {"key": "1", "kind": "listen", "song": world.songs[0], "played_seconds": 181}
    seq = player.page.ask("POST", "/api/events", json=heard).json()["seq"]
    # The same play in the words of an extension of the browser, and then after an undo.
    assert player.counted(player.listen(1, minutes_ago=181 / 60)) == {"known": 1}
    player.page.ask("POST", "/api/events", json={"key": "2", "kind": "retract", "retracts": seq})
    assert player.counted(player.listen(1, minutes_ago=181 / 60)) == {"known": 1}
    # The song again, right afterwards.
    world.clock.now += 4 * MINUTE
    assert player.counted(player.listen(1, minutes_ago=4)) == {"stored": 1}


def test_time_only_rises(player: Player) -> None:
    world = player.world
    assert player.counted(player.listen(3, 60), player.listen(2, 120)) == {"stored": 2}
    assert [event.song for event in player.log] == [world.songs[1], world.songs[2]]
    times = [event.at for event in player.log]
    # A little too late: it gets the time of the last event. Too late: the answer says so.
    assert player.counted(player.listen(4, 70)) == {"stored": 1}
    assert player.log[-1].at == times[-1]
    late = player.submit(player.listen(5, 300))
    assert (late.status, late.code) == (400, "bad_request")
    assert player.counted(player.listen(5, 300), player.listen(6, 30)) == {
        "stored": 1,
        "too_old": 1,
    }
    assert player.submit(player.listen(7, 8 * 24 * 60)).status == 400
    assert player.submit(player.listen(7, -2 * 24 * 60)).status == 400
    # Some programs give the time at which they submit: it is over when we hear of it.
    assert player.counted(player.listen(8, 0)) == {"stored": 1}
    assert player.log[-1].at == world.clock()


def test_songs_that_the_library_has_not_are_counted_and_passed_over(player: Player) -> None:
    stranger = player.listen(1)
    stranger["track_metadata"]["artist_name"] = "Another Artist"
    longer = player.listen(2, duration_ms=400_000)
    assert player.counted(stranger, longer, player.listen(3)) == {"unmatched": 2, "stored": 1}


def test_private_mode_keeps_nothing(player: Player) -> None:
    player.page.ask("PATCH", "/api/settings", json={"private": True})
    assert player.counted(player.listen()) == {"private": 1}
    assert player.log == []


def test_what_comes_in_does_not_go_out(player: Player) -> None:
    """Or a play would go round between two servers for ever."""
    connect(player.page)
    player.counted(player.listen())
    with player.world.store.reading() as connection:
        [(target, _)] = scrobble_targets.behind(connection, player.world.clock())
        assert player.world.context.sender is not None
        assert player.world.context.sender._next(connection, target, player.log) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"listen_type": "single", "payload": []},
        {"listen_type": "other", "payload": [{}]},
        {"listen_type": "single", "payload": [{"listened_at": 1_699_999_000}]},
        {"listen_type": "single", "payload": [{"track_metadata": {"artist_name": "a"}}]},
        {"listen_type": "single", "payload": 7},
    ],
)
def test_what_is_no_submission_is_refused(player: Player, body: Any) -> None:
    assert player.client.ask("POST", SUBMIT, json=body).status == 422
    assert player.log == []


def test_the_limits_are_those_of_listenbrainz(player: Player) -> None:
    listens = [player.listen(1 + n % 40, 5_000 - 4 * n, note="x" * 700) for n in range(1_000)]
    assert player.submit(*listens, player.listen()).status == 422
    assert player.counted(*listens) == {"stored": 1_000}
    assert player.submit(player.listen(1, note="x" * 2_100_000)).status == 413
    now = {"track_metadata": player.listen()["track_metadata"]}
    assert player.submit(now, kind="playing_now").json() == {"status": "ok"}
    assert len(player.log) == 1_000


def test_the_requests_of_known_programs_are_understood(player: Player) -> None:
    """Facts of their sources: the fields that they send, beside those that are needed."""
    track = player.listen(1)["track_metadata"]
    navidrome = {
        "submission_client": "navidrome", "submission_client_version": "0.58", "tracknumber": 1,
        "recording_mbid": "", "artist_names": ["Artist 1"], "artist_mbids": [],
        "duration_ms": 181_000, "release_group_mbid": "",
    }  # fmt: skip
    pano = {
        "duration_ms": 181_000,
        "media_player": "x.android",
        "submission_client": "Pano Scrobbler",
    }
    liblistenbrainz = {
        "duration": 181,
        "tags": [],
        "isrc": None,
        "listening_from": "musicassistant",
    }
    for number, details in enumerate((navidrome, pano, liblistenbrainz, None)):
        listen = player.listen(1, 100 - 10 * number)
        listen["track_metadata"] = {**track, "release_name": "Album 1", "additional_info": details}
        # liblistenbrainz takes no path in the address, and names no type.
        is_bare = details is liblistenbrainz
        path = SUBMIT.removeprefix("/apis/listenbrainz") if is_bare else SUBMIT
        headers = {"Authorization": f"Token {player.client.secret}"}
        headers |= {} if is_bare else {"Content-Type": "application/json; charset=UTF-8"}
        body = json.dumps({"listen_type": "single", "payload": [listen]}).encode()
        answer = player.world.stranger().ask("POST", path, body=body, headers=headers)
        assert answer.json() == {"status": "ok", "bandstand": {"stored": 1}}, details


def test_a_body_without_a_type_needs_the_header_that_no_foreign_page_can_send(
    player: Player,
) -> None:
    body = json.dumps({"listen_type": "single", "payload": [player.listen()]}).encode()
    assert player.page.ask("POST", SUBMIT, body=body).code == "not_json"
    headers = {"Authorization": f"Token {player.client.secret}", "Content-Type": "text/plain"}
    assert player.page.ask("POST", SUBMIT, body=body, headers=headers).code == "not_json"
    headers = {"Authorization": f"Token {player.client.secret}"}
    song = json.dumps({"song": player.world.songs[0]}).encode()
    assert player.page.ask("POST", "/api/playing", body=song, headers=headers).code == "not_json"


def test_a_forgotten_key_would_count_a_listen_twice(
    player: Player, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: with a key of its own each time, what is noted at once is noted twice."""
    listen = player.listen(1, 0)
    assert player.counted(listen, listen) == {"stored": 1, "known": 1}
    monkeypatch.setattr(incoming, "SUBMITTED", "again/")
    assert player.counted(listen) == {"stored": 1}
