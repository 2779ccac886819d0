"""Logging in and out, passwords, sessions that end at once (PROMISES E7, E9, E10, E11)."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bandstand.store import accounts
from bandstand.store.database.schema import SESSION
from bandstand.web.security import passwords
from bandstand.web.security.browser_sessions import NAME, SECURE_NAME
from tests.fixtures.web.requests import Answer, Client
from tests.fixtures.web.worlds import PASSWORD, World, make_world

OTHER = "quite another tune 7"


def log_in(client: Client, name: str = "Ann", password: str = PASSWORD) -> Answer:
    return client.ask("POST", "/api/session", json={"name": name, "password": password})


def test_logging_in_gives_a_new_token_each_time_and_ends_the_one_before(world: World) -> None:
    world.account("Ann")
    client = world.stranger()
    client.cookies[NAME] = "fixed-by-somebody-else"
    tokens = []
    for _ in range(3):
        answer = log_in(client)
        assert answer.status == 200
        assert answer.json()["name"] == "Ann"
        tokens.append(client.cookies[NAME])
    assert len({*tokens, "fixed-by-somebody-else"}) == 4
    for old in tokens[:-1]:
        client.cookies[NAME] = old
        assert client.ask("GET", "/api/session").status == 401


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(world: World) -> None:
    world.account("Ann")
    given = log_in(world.stranger()).header("set-cookie") or ""
    token = re.fullmatch(rf"{NAME}=([\w-]{{43}}); (.*)", given)
    assert token is not None
    assert {"HttpOnly", "Path=/", "SameSite=strict", "Max-Age=2592000"} == set(token[2].split("; "))


def test_under_tls_the_cookie_is_bound_to_this_host(tmp_path: Path) -> None:
    with make_world(tmp_path, public_url="https://music.example") as world:
        world.account("Ann")
        client = world.stranger()
        given = log_in(client).header("set-cookie") or ""
        assert given.startswith(f"{SECURE_NAME}=")
        assert {"HttpOnly", "Secure", "Path=/", "SameSite=strict"} < set(given.split("; "))
        assert "domain" not in given.lower()
        assert client.ask("GET", "/api/session").status == 200
        # Set without TLS, the plain name is worth nothing.
        client.cookies = {NAME: client.cookies[SECURE_NAME]}
        assert client.ask("GET", "/api/session").status == 401


def test_the_store_keeps_only_hashes_of_tokens(world: World) -> None:
    world.account("Ann")
    client = world.stranger()
    log_in(client)
    token = client.cookies[NAME].encode()
    with world.store.reading() as connection:
        (row,) = connection.execute(SESSION.select()).mappings()
    assert len(row["token_hash"]) == 32
    for file in world.store.location.data_folder.rglob("*"):
        if file.is_file():
            assert token not in file.read_bytes()


ENDINGS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "disabled": ("PATCH", "/api/admin/users/ANN", {"disabled": True}),
    "removed": ("DELETE", "/api/admin/users/ANN", None),
    "given another password": ("PATCH", "/api/admin/users/ANN", {"password": OTHER}),
    "logged out": ("DELETE", "/api/session", None),
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_whoever_is_out_is_out_at_once(
    world: World, ending: tuple[str, str, dict[str, Any] | None]
) -> None:
    """Although the cache has just been told who they are."""
    account, admin = world.account("Ann"), world.admin()
    ann, leaving = world.member(account), world.stranger()
    leaving.cookies = dict(ann.cookies)
    method, path, body = ending
    actor = admin if "admin" in path else leaving

    async def end_and_ask() -> Answer:
        assert (await ann.asking("GET", "/api/session")).status == 200
        ended = await actor.asking(method, path.replace("ANN", account.id), json=body)
        assert ended.status in {200, 204}
        return await ann.asking("GET", "/api/session")

    assert world.runner.run(end_and_ask()).status == 401


def test_what_another_process_ends_is_known_within_a_second(world: World) -> None:
    account = world.account("Ann")
    ann = world.member(account)
    timer = 100.0
    world.context.sessions._timer = lambda: timer
    assert ann.ask("GET", "/api/session").status == 200
    with world.store.writing() as connection:
        accounts.set_disabled(connection, account.id, disabled=True)
    timer += 1.0
    assert ann.ask("GET", "/api/session").status == 401


def test_a_session_that_ends_while_the_store_is_asked_does_not_come_back(world: World) -> None:
    account = world.account("Ann")
    ann = world.member(account)
    cache = world.context.sessions
    asked = cache._load

    def slow(token: str) -> object:
        found = asked(token)
        cache.forget(account.id)  # in between
        return found

    cache._load = slow  # type: ignore[method-assign,assignment]
    ann.ask("GET", "/api/session")
    assert not cache._entries


def test_changing_the_password_ends_all_other_sessions(world: World) -> None:
    account = world.account("Ann")
    here, there = world.member(account), world.member(account)
    assert there.ask("GET", "/api/session").status == 200
    weak = {"old": PASSWORD, "new": "password123"}
    assert here.ask("PUT", "/api/session/password", json=weak).code == "weak_password"
    answer = here.ask("PUT", "/api/session/password", json={"old": PASSWORD, "new": OTHER})
    assert answer.status == 204
    assert here.ask("GET", "/api/session").status == 200
    assert there.ask("GET", "/api/session").status == 401
    assert log_in(world.stranger()).status == 401
    assert log_in(world.stranger(), password=OTHER).status == 200


def test_devices_are_listed_and_ended(world: World) -> None:
    account = world.account("Ann")
    here, there = world.member(account), world.member(account)
    bob = world.listener("Bob")
    listed = here.ask("GET", "/api/session/devices").json()["devices"]
    assert sorted(one["is_current"] for one in listed) == [False, True]
    assert here.ask("DELETE", "/api/session/devices").status == 204
    assert there.ask("GET", "/api/session").status == 401
    assert here.ask("GET", "/api/session").status == bob.ask("GET", "/api/session").status == 200


def test_leaving_takes_everything_along(world: World) -> None:
    world.admin()
    ann = world.listener()
    assert ann.ask("DELETE", "/api/settings/account", json={"password": "no"}).status == 401
    assert ann.ask("DELETE", "/api/settings/account", json={"password": PASSWORD}).status == 204
    assert NAME not in ann.cookies
    assert log_in(world.stranger()).status == 401
    with world.store.reading() as connection:
        assert [one.name for one in accounts.all_accounts(connection)] == ["Zoe"]


def test_the_last_administrator_cannot_go(world: World) -> None:
    account = world.account("Zoe", "admin")
    zoe = world.member(account)
    target = f"/api/admin/users/{account.id}"
    gone = zoe.ask("DELETE", "/api/settings/account", json={"password": PASSWORD})
    refused = [
        zoe.ask("PATCH", target, json=one) for one in ({"role": "listener"}, {"disabled": True})
    ]
    refused.append(zoe.ask("DELETE", target))
    assert {(one.status, one.code) for one in [gone, *refused]} == {(409, "last_admin")}


# ── Guessing ─────────────────────────────────────────────────────────────────────────────


def no_password(world: World) -> str:
    return world.account("Mute", password=False).name


def disabled_account(world: World) -> str:
    account = world.account("Out")
    with world.store.writing() as connection:
        accounts.set_disabled(connection, account.id, disabled=True)
    return account.name


def nobody(_world: World) -> str:
    return "Nobody"


def somebody(world: World) -> str:
    return world.account("Ann").name


GUESSED = (somebody, nobody, no_password, disabled_account)


@pytest.mark.parametrize("who", GUESSED)
def test_nobody_gets_in_by_a_wrong_password_and_all_hear_the_same(
    world: World, who: Callable[[World], str]
) -> None:
    name = who(world)
    for number, password in enumerate(["", " ", "wrong", "%", "x" * 1_000]):
        answer = log_in(world.stranger(f"203.0.113.{number}"), name, password)
        assert answer.status == 401
        error = answer.json()["error"]
        assert error["code"] == "wrong_password"
        assert error["message"] == "no account has this name and password"
        assert answer.header("set-cookie") is None
    for number, pattern in enumerate(["%", "_nn", "A%", "Ann\u200b", "Ann'--", "*"]):
        assert log_in(world.stranger(f"203.0.112.{number}"), pattern).status == 401


def test_an_account_without_a_password_has_the_same_check_made(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever guesses cannot tell by the time whether there is such an account (E10)."""
    checked: list[str] = []
    real = passwords.check

    def watched(kept: str | None, password: str) -> passwords.Verdict:
        checked.append(passwords._unmatchable_hash() if kept is None else kept)
        return real(kept, password)

    monkeypatch.setattr(passwords, "check", watched)
    for who in GUESSED:
        log_in(world.stranger(), who(world), "wrong")
    assert [kept.split("$")[3] for kept in checked] == ["m=19456,t=2,p=1"] * len(GUESSED)


def test_two_hundred_guesses_at_once_are_checked_five_times(world: World) -> None:
    world.account("Ann")
    checks = 0
    real = world.context.password_pool.check

    async def counted(kept: str | None, password: str) -> passwords.Verdict:
        nonlocal checks
        checks += 1
        return await real(kept, password)

    world.context.password_pool.check = counted  # type: ignore[method-assign]
    client = world.stranger()

    async def guess() -> list[Answer]:
        body = [{"name": "Ann", "password": f"guess {number}"} for number in range(200)]
        return await asyncio.gather(
            *(client.asking("POST", "/api/session", json=one) for one in body)
        )

    answers = world.runner.run(guess())
    assert checks == 5
    assert sorted({answer.status for answer in answers}) == [401, 429]
    refused = [answer for answer in answers if answer.status == 429]
    assert all(int(answer.header("retry-after") or 0) >= 1 for answer in refused)
    # The owner, elsewhere, gets in meanwhile.
    assert log_in(world.stranger("198.51.100.4")).status == 200


def test_saying_to_be_elsewhere_gives_no_new_guesses(world: World) -> None:
    world.account("Ann")
    client = world.stranger()
    statuses = [
        client.ask(
            "POST",
            "/api/session",
            json={"name": "Ann", "password": "wrong"},
            headers={"X-Forwarded-For": f"203.0.113.{number}", "Forwarded": f"for=10.0.0.{number}"},
        ).status
        for number in range(20)
    ]
    assert statuses == [401] * 5 + [429] * 15


def test_behind_a_trusted_proxy_every_client_has_guesses_of_its_own(tmp_path: Path) -> None:
    with make_world(tmp_path, trusted_proxies=("127.0.0.1",)) as world:
        world.account("Ann")
        proxy = world.stranger()

        def guess(said: str) -> int:
            body = {"name": "Ann", "password": "wrong"}
            headers = {"X-Forwarded-For": said}
            return proxy.ask("POST", "/api/session", json=body, headers=headers).status

        assert [guess("203.0.113.7") for _ in range(7)] == [401] * 5 + [429] * 2
        # What stands further left is the client's own invention.
        assert [guess(f"10.9.8.{number}, 203.0.113.7") for number in range(3)] == [429] * 3
        assert guess("198.51.100.4") == 401


@pytest.mark.parametrize("path", ["/api/session/password", "/api/settings/account"])
def test_every_place_that_checks_a_password_is_limited(world: World, path: str) -> None:
    world.admin()
    ann = world.listener()
    method, body = (
        ("PUT", {"old": "wrong", "new": OTHER})
        if path.endswith("password")
        else ("DELETE", {"password": "wrong"})
    )
    assert [ann.ask(method, path, json=body).status for _ in range(8)] == [401] * 5 + [429] * 3


def test_a_hash_of_lower_parameters_is_renewed_at_the_next_login(world: World) -> None:
    from argon2 import PasswordHasher

    account = world.account("Ann")
    old = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    with world.store.writing() as connection:
        accounts.set_password(connection, account.id, old)
    assert log_in(world.stranger()).status == 200
    with world.store.reading() as connection:
        kept = accounts.password_hash(connection, account.id) or ""
    assert kept.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert log_in(world.stranger()).status == 200


# ── The first account ────────────────────────────────────────────────────────────────────


def set_up(client: Client, token: str, name: str = "Zoe", password: str = PASSWORD) -> Answer:
    body = {"token": token, "name": name, "password": password}
    return client.ask("POST", "/api/session/setup", json=body)


def test_the_first_account_needs_the_token_of_the_console_which_works_once(world: World) -> None:
    assert set_up(world.stranger("198.51.100.9"), "").status == 404
    token = world.context.setup.issue()
    client = world.stranger()
    for wrong in ("", "guess", token[:-1], token + "x", token.swapcase()):
        answer = set_up(client, wrong)
        assert (answer.status, answer.code) == (401, "wrong_token")
    other = world.stranger("198.51.100.4")
    assert set_up(other, token, "Zoe", "password123").status == 422
    answer = set_up(other, token)
    assert answer.status == 201
    assert answer.json()["role"] == "admin"
    assert other.ask("GET", "/api/admin/users").status == 200
    for again in (token, "other"):
        answer = set_up(world.stranger("198.51.100.5"), again, name="Second")
        assert (answer.status, answer.code) == (404, "not_found")
    another = world.context.setup.issue()  # which opens nothing where there is an account
    assert set_up(world.stranger("198.51.100.6"), another, name="Second").status == 404


def test_of_two_who_set_up_at_once_one_is_the_first(world: World) -> None:
    token = world.context.setup.issue()

    async def both() -> list[int]:
        bodies = [
            {"token": token, "name": name, "password": PASSWORD} for name in ("One", "Two", "Three")
        ]
        clients = [world.stranger(f"198.51.100.{number}") for number in range(3)]
        answers = await asyncio.gather(
            *(
                client.asking("POST", "/api/session/setup", json=body)
                for client, body in zip(clients, bodies, strict=True)
            )
        )
        return sorted(answer.status for answer in answers)

    assert world.runner.run(both()) == [201, 404, 404]


def test_no_account_comes_with_the_server(world: World) -> None:
    with world.store.reading() as connection:
        assert accounts.count(connection) == 0
    for name in ("admin", "root", "bandstand", "guest"):
        assert log_in(world.stranger(), name, name).status == 401
