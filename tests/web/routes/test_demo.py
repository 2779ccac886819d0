"""Starting afresh: for the listener of a demo, and for no one else."""

from pathlib import Path

from bandstand.store import accounts
from tests.fixtures.web.worlds import World, make_world


def test_the_demos_guest_starts_afresh(tmp_path: Path) -> None:
    with make_world(tmp_path, guest=True) as world:
        guest = world.stranger()
        before = guest.ask("GET", "/api/session").json()
        assert (before["guest"], before["made_up"]) == (True, False)
        assert b'data-session="open"' in guest.ask("GET", "/").body
        event = {"key": "1", "kind": "rating", "song": world.songs[0], "stars": 4}
        elsewhere = {"Origin": "http://evil.example"}
        assert guest.ask("POST", "/api/events", json=event, headers=elsewhere).status == 403
        assert guest.ask("GET", "/api/admin/users").status == 403
        assert guest.ask("DELETE", "/api/settings/account", json={"password": ""}).status == 403
        # Browsers share cookies among all ports of a computer: it may be another server's.
        guest.cookies["bandstand_session"] = "x" * 43
        assert guest.ask("POST", "/api/events", json=event).status == 201
        assert guest.ask("GET", "/api/next").json()["seq"] == 1
        playlist = {"name": "Mine", "songs": world.songs[:2]}
        assert guest.ask("POST", "/api/playlists", json=playlist).status == 201
        assert guest.ask("DELETE", "/api/demo/history", headers=elsewhere).status == 403
        assert guest.ask("GET", "/api/next").json()["seq"] == 1
        assert guest.ask("DELETE", "/api/demo/history").status == 204
        after = guest.ask("GET", "/api/session").json()
        assert after["id"] != before["id"]
        assert (after["name"], after["guest"]) == (before["name"], True)
        assert guest.ask("GET", "/api/next").json()["seq"] == 0
        assert guest.ask("GET", "/api/history").json()["events"] == []
        assert guest.ask("GET", "/api/playlists").json()["playlists"] == []
        # What waited in a browser for the listener before is not taken for the new one's.
        late = {**event, "key": "2", "account": before["id"]}
        assert guest.ask("POST", "/api/events", json=late).status == 409
        zoe = world.admin()  # another listener of the demo
        assert zoe.ask("GET", "/api/session").json()["guest"] is False
        assert zoe.ask("DELETE", "/api/demo/history").status == 403
        with world.store.reading() as connection:
            assert accounts.count(connection) == 2


def test_outside_a_demo_nobody_starts_afresh(world: World) -> None:
    assert world.stranger().ask("DELETE", "/api/demo/history").status == 401
    for somebody in (world.listener(), world.admin()):
        refused = somebody.ask("DELETE", "/api/demo/history")
        assert (refused.status, refused.json()["error"]["code"]) == (403, "forbidden")
        assert somebody.ask("GET", "/api/session").status == 200
