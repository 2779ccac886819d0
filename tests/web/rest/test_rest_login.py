"""An app logs in by its own password in every way of the protocol, from anywhere."""

import logging
from hashlib import md5
from pathlib import Path
from typing import Any

import httpx
import pytest

from bandstand.store import app_passwords
from bandstand.web.app import create_app
from bandstand.web.requests import middleware
from bandstand.web.requests.middleware import MAX_ADDRESS_BYTES, MAX_REST_ADDRESS_BYTES
from bandstand.web.security.throttle import PAIR_FAILURES
from tests.fixtures.web.requests import Client
from tests.fixtures.web.rest_apps import RestApp, rest_app
from tests.fixtures.web.servers import serving
from tests.fixtures.web.worlds import PASSWORD, World

WAYS = ("apiKey", "p", "enc", "token", "key as p")


def login(how: str, secret: str, name: str = "Ann") -> dict[str, str]:
    """Return what an app sends that logs in this way."""
    token = md5(f"{secret}salt".encode(), usedforsecurity=False).hexdigest()
    return {
        "apiKey": {"apiKey": secret},
        "p": {"u": name, "p": secret},
        "enc": {"u": name.upper(), "p": f"enc:{secret.encode().hex()}"},
        "token": {"u": name, "t": token.upper(), "s": "salt"},
        "key as p": {"u": name, "p": secret, "v": "1.16.1"},
    }[how]


@pytest.mark.parametrize("how", WAYS)
def test_every_way_leads_in_and_only_with_the_secret(world: World, how: str) -> None:
    app = rest_app(world)
    world.account("Bob")
    secret = app.login["apiKey"]
    refused = 44 if how == "apiKey" else 40
    app.login = login(how, secret)
    assert app.call("tokenInfo")["tokenInfo"] == {"username": "Ann"}
    assert app.send("ping", post=True, f="json").json()["subsonic-response"]["status"] == "ok"
    for wrong, name in ((PASSWORD, "Ann"), (secret[:-1], "Ann"), (secret, "Bob"), (secret, "x")):
        app.login = login(how, wrong, name)
        is_right = how == "apiKey" and wrong == secret  # a key needs no name
        assert is_right or app.code("ping") == refused
    app.login = login(how, secret)
    with world.store.writing() as connection:
        (own,) = app_passwords.all_of(connection, app.account.id)
        app_passwords.delete(connection, app.account.id, own.id)
    assert app.code("ping") == refused


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, 10), ({"u": "Ann"}, 10), ({"p": "x"}, 10), ({"u": "Ann", "t": "x"}, 10),
        ({"apiKey": ""}, 10), ({"u": "Ann", "p": "x", "t": "y", "s": "z"}, 43),
        ({"apiKey": "x", "u": "Ann"}, 43), ({"apiKey": "x", "t": "y", "s": "z"}, 43),
        ({"apiKey": "x"}, 44), ({"u": "Ann", "p": "enc:zz"}, 40),
    ],
)  # fmt: skip
def test_what_is_missing_or_conflicts_is_said(
    world: World, given: dict[str, str], code: int
) -> None:
    app = RestApp(world.stranger(), world.account("Ann"), given)
    assert app.code("getArtists") == code
    assert f'code="{code}"'.encode() in app.send("getArtists").body


def test_guesses_are_slowed_down(world: World) -> None:
    app = RestApp(world.stranger(), world.account("Ann"), login("token", "x" * 26))
    codes = [app.code("ping") for _ in range(PAIR_FAILURES + 1)]
    assert codes == [40] * PAIR_FAILURES + [0]


def test_no_secret_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    app = rest_app(world)
    secret = app.login["apiKey"]
    for how in WAYS:
        app.login = login(how, secret)
        app.call("getArtists")
        app.login = login(how, secret[::-1])
        app.code("getSong")
        assert not {value for value in app.login.values() if len(value) > 5} & set(
            caplog.text.replace('"', " ").split()
        )
        assert secret not in caplog.text
        assert secret[::-1] not in caplog.text
    assert "/rest/getArtists" in caplog.text


def test_pages_of_any_site_may_ask_and_read_with_a_password_of_their_own(world: World) -> None:
    app = rest_app(world)
    client, elsewhere = (
        app.client,
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    )
    client.cookies = world.admin().cookies
    form = {"Content-Type": "application/x-www-form-urlencoded", **elsewhere}
    body = f"apiKey={app.login['apiKey']}&f=json".encode()
    for answer in (
        client.ask("POST", "/rest/ping", body=body, headers=form),
        client.ask("POST", "/rest/ping", body=b"f=json", headers=form),
        client.ask("OPTIONS", "/rest/ping", headers=elsewhere),
        client.ask("GET", "/rest/nothing"),
    ):
        assert answer.status in {200, 204}
        assert answer.header("access-control-allow-origin") == "*"
        assert answer.header("access-control-allow-credentials") is None
        assert answer.header("cross-origin-resource-policy") == "cross-origin"
        assert answer.header("content-security-policy") == "default-src 'none'; sandbox"
        assert answer.header("x-content-type-options") == "nosniff"
    page = client.ask("GET", "/api/session", headers=elsewhere)
    assert page.header("access-control-allow-origin") is None
    assert client.ask("POST", "/api/events", json={}, headers=elsewhere).status == 403
    assert client.ask("POST", "/restless", json={}, headers=elsewhere).status == 403
    assert client.ask("GET", "/rest/ping", headers={"Host": "evil.example"}).status == 400


def cookie_counts(world: World) -> bool:
    """Return whether a header of a session lets anybody into `/rest`."""
    client = Client(create_app(world.context), world.runner)
    client.cookies = world.listener("Carol").cookies
    seen: list[Any] = []

    async def look(scope: Any, _receive: Any, send: Any) -> None:
        seen.extend(name for name, _ in scope["headers"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    client.app = middleware.SecurityMiddleware(look, world.context)
    client.ask("GET", "/rest/ping", headers={"Authorization": "Bearer x"})
    return bool({b"cookie", b"authorization"} & set(seen))


def test_a_cookie_never_reaches_an_endpoint(world: World) -> None:
    assert not cookie_counts(world)


def test_a_cookie_that_does_is_found_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: where `/rest` is like any other path, the same look sees the cookie."""
    monkeypatch.setattr(middleware, "REST", "/other/")
    assert cookie_counts(world)


def test_a_real_server_reads_a_long_address(tmp_path: Path) -> None:
    with serving(tmp_path, invented=5) as server:
        padding = "x" * (MAX_REST_ADDRESS_BYTES - 100)
        answer = httpx.get(f"{server.address}/rest/ping?x={padding}")
        assert (answer.status_code, 'code="10"' in answer.text) == (200, True)
        assert httpx.get(f"{server.address}/health?x={padding}").status_code == 414


def test_addresses_are_long_for_apps_alone(world: World) -> None:
    app = rest_app(world)
    ids = [f"tr-{song}" for song in world.songs] * 70
    assert MAX_ADDRESS_BYTES < len("&".join(f"id={it}" for it in ids)) < MAX_REST_ADDRESS_BYTES
    app.call("savePlayQueue", id=ids, current=ids[0])
    assert len(app.call("getPlayQueue")["playQueue"]["entry"]) == len(ids)
    assert app.send("ping", x="x" * MAX_REST_ADDRESS_BYTES).status == 414
    assert app.client.ask("GET", f"/api/songs?q={'x' * MAX_ADDRESS_BYTES}").status == 414
