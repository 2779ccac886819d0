"""An app does what its scope is for, and is out as soon as its password is revoked."""

from __future__ import annotations

import asyncio
import secrets
from hashlib import md5
from typing import Any

import pytest

from bandstand.store import accounts, app_passwords
from bandstand.store.app_passwords import HOUR_MS, SCOPES, App, AppScope, allows
from bandstand.store.database.connection import open_store
from bandstand.web.app import create_app
from bandstand.web.http.problems import Problem
from bandstand.web.requests.authentication import verify_secret, verify_token
from bandstand.web.security.throttle import NAME_FAILURES, PAIR_FAILURES
from bandstand.web.server import server_context
from tests.fixtures.web.requests import Client
from tests.fixtures.web.walking import Operation, operations
from tests.fixtures.web.worlds import PASSWORD, World

ADDRESS = "203.0.113.7"


def out_of_bounds(world: World, scope: AppScope) -> list[Operation]:
    """Return the operations that an app of an administrator is let into beyond its scope."""
    app = world.app_of(world.account(f"owner {secrets.token_hex(4)}", "admin"), scope)
    ids = {"song_id": world.songs[0]}
    found = []
    for one in operations():
        if one.policy == "public":
            continue
        answer = app.ask(one.method, one.target(ids), json=None if one.method == "GET" else {})
        is_open = answer.status not in {401, 403}
        is_meant = one.policy in SCOPES and allows(scope, one.policy)
        assert is_open or not is_meant, (one, answer)
        assert is_open or one.method == "HEAD" or answer.code == "beyond_scope"
        if is_open and not is_meant:
            found.append(one)
    return found


@pytest.mark.parametrize("scope", SCOPES)
def test_an_app_does_what_its_scope_is_for_and_nothing_else(
    shared_world: World, scope: AppScope
) -> None:
    assert out_of_bounds(shared_world, scope) == []


def test_a_guard_that_takes_every_scope_is_found_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without the comparison of scopes the same walk finds doors open."""
    monkeypatch.setattr(
        "bandstand.web.requests.authentication.check_scope", lambda _scope, _wanted: None
    )
    assert {one.policy for one in out_of_bounds(shared_world, "read")} == {"play", "rate"}


# Written out: a route that is opened to apps is opened on purpose.
CLOSED_TO_APPS = {
    "/api/session", "/api/session/password", "/api/session/devices", "/api/session/apps",
    "/api/session/apps/{app_id}", "/api/settings", "/api/settings/account", "/api/history/forget",
    "/api/history/export", "/api/demo/history", "/api/settings/scrobbling",
    "/api/settings/scrobbling/{target_id}",
}  # fmt: skip


def test_what_changes_the_account_is_never_for_an_app() -> None:
    closed = {one.path for one in operations() if one.policy in {"listener", "admin"}}
    others = {path for path in closed if not path.startswith(("/api/admin/", "/api/study"))}
    assert others == CLOSED_TO_APPS


def test_playing_is_no_rating(shared_world: World) -> None:
    song = shared_world.songs[0]
    app = shared_world.app_of(shared_world.account(f"plays {secrets.token_hex(4)}"), "play")
    listen = app.ask("POST", "/api/events", json={"key": "1", "kind": "listen", "song": song})
    assert listen.status == 201
    others: list[dict[str, Any]] = [
        {"kind": "rating", "song": song, "stars": 5},
        {"kind": "ban", "scope": "artist", "target": "x"},
        {"kind": "retract", "retracts": 1},
    ]
    for number, event in enumerate(others):
        answer = app.ask("POST", "/api/events", json={"key": f"other {number}", **event})
        assert (answer.status, answer.code) == (403, "beyond_scope")
        assert answer.header("www-authenticate") == 'Bearer error="insufficient_scope"'


def test_an_app_of_an_administrator_sees_no_paths(shared_world: World) -> None:
    app = shared_world.app_of(shared_world.account(f"chief {secrets.token_hex(4)}", "admin"))
    assert app.ask("GET", "/api/session").json()["role"] == "listener"
    assert app.ask("GET", "/api/session").json()["scope"] == "rate"
    assert app.ask("GET", "/api/playlist?format=m3u8&paths=true").code == "forbidden"


def test_a_token_decides_alone_whatever_cookie_comes_with_it(world: World) -> None:
    ann, bob = world.account("Ann", "admin"), world.account("Bob")
    client = world.member(ann)
    client.secret = world.app_of(bob, "read").secret
    assert client.ask("GET", "/api/session").json()["name"] == "Bob"
    assert client.ask("GET", "/api/admin/users").code == "beyond_scope"
    client.secret = "x" * 26
    answer = client.ask("GET", "/api/session")
    assert (answer.status, answer.code) == (401, "wrong_app_password")
    assert answer.header("www-authenticate") == 'Bearer error="invalid_token"'
    client.secret = None
    other = {"Authorization": "Basic eDp4"}  # of a proxy before the server, say
    assert client.ask("GET", "/api/session", headers=other).json()["name"] == "Ann"


def test_one_that_is_revoked_is_out_at_once_at_every_server(world: World) -> None:
    ann = world.account("Ann")
    app, page = world.app_of(ann), world.member(ann)
    with (
        open_store(str(world.store.location)) as store,
        server_context(store, world.context.settings, clock=world.clock) as second,
    ):
        there = Client(create_app(second), world.runner)
        there.secret = app.secret
        assert [it.ask("GET", "/api/session").status for it in (app, there)] == [200, 200]
        (one,) = page.ask("GET", "/api/session/apps").json()["apps"]
        stranger = world.listener("Bob")
        assert stranger.ask("DELETE", f"/api/session/apps/{one['id']}").status == 404
        assert page.ask("DELETE", f"/api/session/apps/{one['id']}").status == 204
        assert [it.ask("GET", "/api/session").status for it in (app, there)] == [401, 401]


def test_a_password_is_made_with_that_of_the_account_and_shown_once(world: World) -> None:
    page = world.listener("Ann")
    wanted = {"name": "My phone", "scope": "play", "password": PASSWORD}
    assert page.ask("POST", "/api/session/apps", json={**wanted, "password": "x"}).status == 401
    made = page.ask("POST", "/api/session/apps", json=wanted)
    assert made.status == 201
    secret = made.json().pop("secret")
    listed = page.ask("GET", "/api/session/apps")
    assert secret.encode() not in listed.body
    expected = {name: value for name, value in made.json().items() if name != "secret"}
    assert listed.json() == {"apps": [expected]}
    app = world.stranger()
    app.secret = secret
    assert app.ask("GET", "/api/session").json()["scope"] == "play"
    used, began = [], world.clock.now
    for after in (0, HOUR_MS - 1, 1):
        world.clock.now += after
        assert app.ask("GET", "/api/session").status == 200
        world.context.radio.write(lambda _store: None).result()  # the note came before this
        used += [it["used_at"] for it in page.ask("GET", "/api/session/apps").json()["apps"]]
    assert used == [began, began, began + HOUR_MS]


def verified(world: World, how: str, secret: str, name: str = "Ann", address: str = ADDRESS) -> App:
    """Return the app that one of the ways of proving knowledge of a secret leads to."""
    if how == "token":
        mark = md5(f"{secret}salt".encode(), usedforsecurity=False).hexdigest()
        found = verify_token(world.context, address, name, token=mark, salt="salt")
    elif how == "key":
        found = verify_secret(world.context, address, secret)
    else:
        spelt = f"enc:{secret.encode().hex()}" if how == "enc" else secret
        found = verify_secret(world.context, address, spelt, name=name)
    return world.runner.run(found)


WAYS = ("plain", "enc", "token", "key")


@pytest.mark.parametrize("how", WAYS)
def test_every_way_finds_the_app_and_refuses_the_password_of_the_account(
    world: World, how: str
) -> None:
    ann = world.account("Ann")
    world.account("Bob")
    secret = world.app_of(ann, "play").secret or ""
    assert verified(world, how, secret).account == ann
    wrong = [(PASSWORD, "Ann"), (secret[:-1], "Ann"), ("enc:zz", "Ann")]
    if how != "key":
        wrong += [(secret, "Bob"), (secret, "nobody")]
    for guess, name in wrong:
        with pytest.raises(Problem, match="wrong_app_password"):
            verified(world, how, guess, name)
    with world.store.writing() as connection:
        accounts.set_disabled(connection, ann.id, disabled=True)
    with pytest.raises(Problem, match="wrong_app_password"):
        verified(world, how, secret, address="203.0.113.9")


@pytest.mark.parametrize("how", WAYS)
def test_guesses_are_slowed_down_and_nobody_else_with_them(world: World, how: str) -> None:
    secret = world.app_of(world.account("Ann")).secret or ""
    for number in range(2 * NAME_FAILURES):
        with pytest.raises(Problem, match="wrong_app_password"):
            verified(world, how, "x" * 26, address=f"10.0.{number // 100}.{number % 100}")
    assert verified(world, how, secret, address="203.0.113.9").account.name == "Ann"
    for address in (ADDRESS, "203.0.113.9"):
        for _ in range(PAIR_FAILURES):
            with pytest.raises(Problem, match="wrong_app_password"):
                verified(world, how, "x" * 26, address=address)
        with pytest.raises(Problem, match="too_many"):
            verified(world, how, "x" * 26, address=address)
    # Not where nobody got in before, whatever comes; elsewhere the right one is let in.
    with pytest.raises(Problem, match="too_many"):
        verified(world, how, secret)
    assert verified(world, how, secret, address="203.0.113.9").account.name == "Ann"
    body = {"name": "Ann", "password": PASSWORD}
    assert world.stranger(ADDRESS).ask("POST", "/api/session", json=body).status == 200


def test_an_app_may_ask_for_many_things_at_once(world: World) -> None:
    app = world.app_of(world.account("Ann"))

    async def at_once() -> list[int]:
        asked = [app.asking("GET", "/api/session") for _ in range(40)]
        return [answer.status for answer in await asyncio.gather(*asked)]

    assert world.runner.run(at_once()) == [200] * 40


def test_an_app_is_heard_while_nothing_can_be_stored(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = world.app_of(world.account("Ann"))

    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(app_passwords, "note_use", fail)
    assert app.ask("GET", "/api/session").status == 200
