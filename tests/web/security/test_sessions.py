"""Which cookies reach the app: ours, and no other server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import cookie_parser

from bandstand.store import accounts
from bandstand.web.requests import middleware
from bandstand.web.requests.authentication import Proof
from bandstand.web.security.access import Access
from bandstand.web.security.browser_sessions import NAME, strip_foreign_cookies
from bandstand.web.security.passwords import Verdict
from tests.fixtures.web.worlds import PASSWORD, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.store.accounts import Account
    from tests.fixtures.web.requests import Answer, Client
    from tests.fixtures.web.worlds import World

# Python before 3.11.10 and 3.12.6 needs the square of its length to read this (CVE-2024-7592).
SLOW = 'theme="' + "\\1" * 1_000 + '"'


def only(*cookies: bytes) -> list[bytes]:
    found = strip_foreign_cookies([(b"cookie", cookie) for cookie in cookies], Access())
    assert all(name == b"cookie" for name, _ in found)
    return [value for _, value in found]


@pytest.mark.parametrize(
    ("brought", "kept"),
    [
        (b"bandstand_session=abc", [b"bandstand_session=abc"]),
        (b"a=b;bandstand_session=abc;c", [b"bandstand_session=abc"]),
        (b"bandstand_session=abc; bandstand_session=def", [b"bandstand_session=def"]),
        (b"bandstand_session=abc; bandstand_session=", [b"bandstand_session=abc"]),
        (b"bandstand_session=" + b"a" * 64, [b"bandstand_session=" + b"a" * 64]),
        (b"bandstand_session=" + b"a" * 65, []),
        (b'bandstand_session="abc"', []),
        (b"bandstand_session=a\xffc", []),
        (b"Bandstand_Session=abc", []),
        (b"__Host-bandstand_session=abc", []),
        (b"theme=dark", []),
        (b";;;", []),
        (b"", []),
    ],
)
def test_only_our_own_token_is_kept(brought: bytes, kept: list[bytes]) -> None:
    assert only(brought) == kept


def test_other_headers_stay_as_they_are() -> None:
    headers = [(b"host", b"localhost"), (b"range", b"bytes=0-1"), (b"cookie", b"a=b")]
    assert strip_foreign_cookies(headers, Access()) == headers[:2]


def test_cookies_of_other_servers_are_not_even_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: a gate that lets every cookie in."""
    assert _what_is_read(world, monkeypatch) == [f"{NAME}=abc"]
    monkeypatch.setattr(middleware, "strip_foreign_cookies", lambda headers, _: headers)
    assert _what_is_read(world, monkeypatch) == [f"{SLOW}; {NAME}=abc"]


def _what_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the framework, which reads all cookies of every request, gets to read."""
    read = []

    def noting(cookie: str) -> dict[str, str]:
        read.append(cookie)
        return cookie_parser(cookie)

    monkeypatch.setattr("starlette.requests.cookie_parser", noting)
    stranger = world.stranger()
    stranger.ask("GET", "/health", headers={"cookie": f"{SLOW}; {NAME}=abc"})
    return read


# Whoever is shut out while a password is being checked does not come in by it (PROMISES E7).


OTHER = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def another_password(connection: Connection, account: str) -> None:
    accounts.set_password(connection, account, OTHER)


def disabled(connection: Connection, account: str) -> None:
    accounts.set_disabled(connection, account, disabled=True)


SHUT_OUT = [another_password, disabled, accounts.delete]
ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/api/session", {"name": "Ann", "password": PASSWORD}),
    ("PUT", "/api/session/password", {"old": PASSWORD, "new": "quite another tune 7"}),
    ("DELETE", "/api/settings/account", {"password": PASSWORD}),
]


@pytest.mark.parametrize("shut_out", SHUT_OUT)
@pytest.mark.parametrize(("method", "path", "body"), ASKED)
def test_who_was_shut_out_during_the_check_stays_out(
    world: World,
    shut_out: Callable[[Connection, str], None],
    method: str,
    path: str,
    body: dict[str, Any],
) -> None:
    account, client = _ann(world)
    _meanwhile(world, lambda connection: shut_out(connection, account.id))
    answer: Answer = client.ask(method, path, json=body)
    assert (answer.status, answer.code) == (401, "wrong_password")
    assert client.ask("GET", "/api/session").status == 401
    with world.store.reading() as connection:
        left = accounts.get(connection, account.id)
        kept = accounts.password_hash(connection, account.id)
    assert left is None if shut_out is accounts.delete else left is not None
    assert "tune" not in str(kept)


def test_a_proof_that_is_never_checked_again_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Proof, "check", lambda *_: None)
    account, client = _ann(world)
    _meanwhile(world, lambda connection: another_password(connection, account.id))
    method, path, body = ASKED[0]
    assert client.ask(method, path, json=body).status == 200
    assert client.ask("GET", "/api/session").status == 200


def test_nothing_happening_meanwhile_lets_everybody_in(world: World) -> None:
    _, client = _ann(world)
    _meanwhile(world, lambda _: None)
    for method, path, body in ASKED[:2]:
        assert client.ask(method, path, json=body).status in {200, 204}


def _ann(world: World) -> tuple[Account, Client]:
    world.account("Zoe", "admin")
    account = world.account("Ann")
    return account, world.member(account)


def _meanwhile(world: World, change: Callable[[Connection], None]) -> None:
    """Let something happen while a password, which is right, is being checked."""

    async def check(_kept: str | None, _password: str) -> Verdict:
        with world.store.writing() as connection:
            change(connection)
        world.context.sessions.forget_all()
        return Verdict(matches=True)

    world.context.password_pool.check = check  # type: ignore[method-assign,assignment]
