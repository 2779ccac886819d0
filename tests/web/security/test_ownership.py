"""Listeners see and change only what is theirs (PROMISES E3), for every route with an id."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from bandstand.store import playlists
from bandstand.store.database.schema import PLAYLIST
from tests.fixtures.web.studies import begin_study, participant
from tests.fixtures.web.walking import Operation, operations

if TYPE_CHECKING:
    from bandstand.store.accounts import Role
    from tests.fixtures.web.requests import Answer, Client
    from tests.fixtures.web.worlds import World

# Whose ids these are: a song and a file of the page are everybody's, accounts the administrators'.
PARAMETERS = {
    "song_id": "everybody",
    "version": "everybody",
    "path": "everybody",
    "user_id": "admin",
    "playlist_id": "owner",
    "app_id": "owner",
    "target_id": "owner",
    "arm_id": "owner",
}


def test_every_id_in_a_path_is_known_to_this_test() -> None:
    found = {name for one in operations() for name in re.findall(r"\{(\w+)", one.path)}
    assert found <= set(PARAMETERS)


def message(answer: Answer) -> str | None:
    return str(answer.json()["error"]["message"]) if answer.status == 404 else None


def reached(world: World, other: Client) -> list[str]:
    """Return how somebody can see or change a playlist of Ann's."""
    ann = world.listener("Ann")
    body = {"name": "Mine", "songs": world.songs[:3]}
    own = ann.ask("POST", "/api/playlists", json=body).json()["id"]
    before, found = ann.ask("GET", f"/api/playlists/{own}").body, []
    for operation in (one for one in operations() if "{playlist_id}" in one.path):
        change = {"name": "Taken", "songs": []} if operation.method == "PUT" else None
        theirs = other.ask(operation.method, operation.target({"playlist_id": own}), json=change)
        nobodys = other.ask(operation.method, operation.target(), json=change)
        # Not even whether it exists can be told.
        if message(theirs) is None or message(theirs) != message(nobodys):
            found.append(str(operation))
    if own in other.ask("GET", "/api/playlists").body.decode():
        found.append("the list")
    return found if ann.ask("GET", f"/api/playlists/{own}").body == before else [*found, "changed"]


@pytest.mark.parametrize("role", ["listener", "admin"])
def test_somebody_elses_playlist_is_not_there(world: World, role: Role) -> None:
    assert reached(world, world.member(world.account("Bob", role))) == []


def test_a_forgotten_owner_is_found_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playlists, "_is_own", lambda _, playlist: PLAYLIST.c.id == playlist)
    assert len(reached(world, world.listener("Bob"))) > 2


@pytest.mark.parametrize(
    "operation", [one for one in operations() if "{arm_id}" in one.path], ids=str
)
@pytest.mark.parametrize("who", ["listener", "admin"])
def test_somebody_elses_part_of_a_study_is_not_there(
    world: World, operation: Operation, who: Role
) -> None:
    begin_study(world)
    ann = participant(world, "Ann").join()
    own = ann.begin()
    ann.offered(own)
    before = ann.rows()
    bob = participant(world, "Bob", who).join()
    body = {"number": 1, "stars": 1, "known": True} if "ratings" in operation.path else None
    theirs = bob.client.ask(operation.method, operation.target({"arm_id": own}), json=body)
    nobodys = bob.client.ask(operation.method, operation.target(), json=body)
    assert theirs.status == nobodys.status == 404
    assert theirs.json()["error"]["message"] == nobodys.json()["error"]["message"]
    assert ann.rows() == before


def test_histories_tastes_settings_and_exports_are_ones_own(world: World) -> None:
    ann, bob = world.listener("Ann"), world.listener("Bob")
    event = {"key": "secret-key", "kind": "rating", "song": world.songs[0], "stars": 5}
    assert ann.ask("POST", "/api/events", json=event).status == 201
    ann.ask("PATCH", "/api/settings", json={"dial": 0.75})
    ban = {"key": "b", "kind": "ban", "scope": "artist", "target": "Artist 3"}
    ann.ask("POST", "/api/events", json=ban)
    assert bob.ask("GET", "/api/history").json()["events"] == []
    assert bob.ask("GET", "/api/taste").json()["counts"]["ratings"] == 0
    assert bob.ask("GET", "/api/settings").json()["dial"] == 0
    assert bob.ask("GET", "/api/settings/rules").json()["rules"] == []
    assert bob.ask("GET", f"/api/songs/{world.songs[0]}").json()["history"] == []
    assert b"secret-key" in ann.ask("GET", "/api/history/export").body
    exported = bob.ask("GET", "/api/history/export").body
    assert b"secret-key" not in exported
    assert b"Ann" not in exported
    for line in exported.splitlines():
        json.loads(line)


def test_only_ones_own_events_can_be_taken_back(world: World) -> None:
    ann, bob = world.listener("Ann"), world.listener("Bob")
    event = {"key": "1", "kind": "rating", "song": world.songs[0], "stars": 5}
    seq = ann.ask("POST", "/api/events", json=event).json()["seq"]
    changed = ann.ask("POST", "/api/events", json={**event, "stars": 1})
    assert (changed.status, changed.code) == (422, "key_reused")
    answer = bob.ask("POST", "/api/events", json={"key": "r", "kind": "retract", "retracts": seq})
    assert answer.status == 404
    forgotten = bob.ask("POST", "/api/history/forget", json={"from": 0, "to": 2**53})
    assert forgotten.json() == {"forgotten": 0}
    assert bob.ask("POST", "/api/events", json={**event, "stars": 1}).status == 201  # the same key
    assert ann.ask("GET", "/api/taste").json()["counts"]["ratings"] == 1


def test_what_administrators_see_of_others_holds_no_secret(world: World) -> None:
    world.listener("Ann")
    shown = world.admin().ask("GET", "/api/admin/users")
    assert b"argon2" not in shown.body
    assert {"id", "name", "role", "disabled", "has_password", "created_at"} == set(
        shown.json()["users"][0]
    )
