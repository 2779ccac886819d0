"""Only the server's own pages may change something (PROMISES E6), on every unsafe route."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from bandstand.store.accounts import all_accounts
from bandstand.store.events.events import end
from bandstand.web.app import create_app
from bandstand.web.requests import middleware
from tests.fixtures.web.requests import HOST, Client
from tests.fixtures.web.walking import UNSAFE, Operation, operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fixtures.web.worlds import World

FOREIGN: list[Mapping[str, str]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # another port of this computer, too
    {"Sec-Fetch-Site": "junk"},
    {"Sec-Fetch-Site": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:9999"},
    {"Origin": "https://localhost:8260"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Sec-Fetch-Site": "cross-site", "Origin": f"http://{HOST}"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
]
OURS: list[Mapping[str, str]] = [
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "same-origin", "Origin": f"http://{HOST}"},
    {"Origin": f"http://{HOST}"},
    {},  # a program, which no page can make say anything
]
OPERATIONS = [one for one in operations() if one.method in UNSAFE]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_another_sites_page_changes_nothing(shared_world: World, operation: Operation) -> None:
    client = shared_world.admin(f"lured {secrets.token_hex(4)}")
    for headers in FOREIGN:
        answer = client.ask(operation.method, operation.target(), json={}, headers=headers)
        assert (answer.status, answer.code) == (403, "cross_origin"), headers


@pytest.mark.parametrize("headers", OURS)
def test_our_own_page_does(shared_world: World, headers: Mapping[str, str]) -> None:
    client = shared_world.listener(f"own {secrets.token_hex(4)}")
    event = {"key": "1", "kind": "rating", "song": shared_world.songs[0], "stars": 4}
    assert client.ask("POST", "/api/events", json=event, headers=headers).status == 201


def test_a_gate_without_the_rule_is_found_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: where every page is believed, a foreign one stores a rating."""
    monkeypatch.setattr(middleware._Exchange, "_is_from_our_page", lambda *_: True)
    client = Client(create_app(shared_world.context), shared_world.runner)
    client.cookies = shared_world.listener(f"naive {secrets.token_hex(4)}").cookies
    event = {"key": "1", "kind": "rating", "song": shared_world.songs[0], "stars": 4}
    answer = client.ask(
        "POST", "/api/events", json=event, headers={"Origin": "http://evil.example"}
    )
    assert answer.status == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "text/json"])
def test_what_a_form_can_send_is_no_json(shared_world: World, kind: str) -> None:
    client = shared_world.listener(f"form {secrets.token_hex(4)}")
    event = b'{"key": "1", "kind": "ban", "scope": "genre", "target": "Jazz"}'
    answer = client.ask("POST", "/api/events", body=event, headers={"Content-Type": kind})
    assert (answer.status, answer.code) == (415, "not_json")


def test_asking_changes_nothing(shared_world: World) -> None:
    """No state change on GET: not by any route, not by any listener or administrator."""
    client = shared_world.admin(f"reader {secrets.token_hex(4)}")
    before = _state(shared_world)
    for operation in operations():
        if operation.method in {"GET", "HEAD"}:
            client.ask(operation.method, operation.target({"song_id": shared_world.songs[0]}))
    assert _state(shared_world) == before


def _state(world: World) -> object:
    with world.store.reading() as connection:
        people = all_accounts(connection)
        return people, [end(connection, one.id) for one in people]
