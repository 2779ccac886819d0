"""Whoever is shut out while a password is being checked does not come in by it (PROMISES E7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bandstand.store import accounts
from bandstand.web.requests.authentication import Proof
from bandstand.web.security.passwords import Verdict
from tests.fixtures.web.worlds import PASSWORD, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand.store.accounts import Account
    from tests.fixtures.web.requests import Answer, Client

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
