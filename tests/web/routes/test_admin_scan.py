import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bandstand.store import accounts
from tests.fixtures.music.audio_files import encoded, piece
from tests.fixtures.web.requests import Client
from tests.fixtures.web.worlds import SONGS, World, make_world

PATIENCE = 60.0


@pytest.fixture
def music(tmp_path: Path) -> Path:
    folder = tmp_path / "music"
    folder.mkdir()
    (folder / "one.wav").write_bytes(encoded("wav", piece(1, seconds=1.0)))
    (folder / "broken.mp3").write_bytes(b"nothing that sounds")
    return folder


@pytest.fixture
def scanning_world(tmp_path: Path, music: Path) -> Iterator[World]:
    with make_world(tmp_path, folders=(str(music),), rescan_minutes=0, workers=1) as made:
        assert made.context.scanner is not None
        made.context.scanner.start()
        yield made


def rested(client: Client, *, after: int = 0) -> dict[str, Any]:
    """Return the progress when the scan is over; `after` is the change before it began."""
    until = time.monotonic() + PATIENCE
    while True:
        progress: dict[str, Any] = client.ask("GET", "/api/admin/scan").json()
        is_over = progress["state"] == "idle" and progress["finished_at"] is not None
        if is_over and progress["change"] > after:
            return progress
        assert time.monotonic() < until
        time.sleep(0.02)


def events(text: str) -> list[dict[str, Any]]:
    """Return the data of server-sent events, read as a browser would."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if lines.get("event") == "progress":
            found.append(json.loads(lines["data"]))
    return found


# ── Scans ────────────────────────────────────────────────────────────────────────────────


def test_a_scan_is_followed_to_its_end_and_says_what_failed_and_why(
    scanning_world: World, music: Path
) -> None:
    admin = scanning_world.admin()
    answer = admin.ask("GET", "/api/admin/scan/progress")
    assert answer.status == 200
    assert answer.header("content-type") == "text/event-stream; charset=utf-8"
    assert answer.header("cache-control") == "no-store"
    followed = events(answer.body.decode())
    changes = [progress["change"] for progress in followed]
    assert changes == sorted(set(changes))
    progress = rested(admin)
    assert followed[-1]["state"] == progress["state"] == "idle"
    assert progress["counts"]["added"] == progress["counts"]["failed"] == 1
    assert progress["songs"] == SONGS + 1
    assert progress["problem"] is None
    found = admin.ask("GET", "/api/admin/problems").json()
    assert found["total"] == 1
    assert found["folders"] == [str(music.resolve())]
    assert found["problems"][0]["path"] == str(music / "broken.mp3")
    assert found["problems"][0]["reason"]


def test_a_second_scan_joins_the_first_and_problems_come_in_pages(
    scanning_world: World, music: Path
) -> None:
    admin = scanning_world.admin()
    before = rested(admin)["change"]
    for number in range(5):
        (music / f"{number}.mp3").write_bytes(b"x" * number)
    first = admin.ask("POST", "/api/admin/scan", json={"retry": True})
    second = admin.ask("POST", "/api/admin/scan", json={})
    assert (first.status, second.status) == (202, 202)
    assert (first.json()["started"], second.json()["started"]) == (True, False)
    assert rested(admin, after=before)["counts"]["failed"] == 6
    pages = [
        admin.ask("GET", f"/api/admin/problems?offset={offset}&limit=4").json()
        for offset in (0, 4, 8)
    ]
    assert [len(page["problems"]) for page in pages] == [4, 2, 0]
    assert {page["total"] for page in pages} == {6}
    paths = [problem["path"] for page in pages for problem in page["problems"]]
    assert paths == sorted(set(paths))


def test_the_stream_ends_when_the_server_stops(scanning_world: World) -> None:
    scanning_world.context.stopping.set()
    answer = scanning_world.admin().ask("GET", "/api/admin/scan/progress")
    assert events(answer.body.decode()) == []


def test_the_stream_ends_when_the_admin_is_shown_the_door(
    scanning_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def is_busy(_scanner: object) -> bool:
        looks.append(1)
        return True

    rested(scanning_world.admin())  # so that nothing changes between two looks
    monkeypatch.setattr("bandstand.web.routes.admin._HEARTBEAT_SECONDS", 0.0)
    # A scan that never ends: otherwise the stream would end with it.
    monkeypatch.setattr(type(scanning_world.context.scanner), "is_busy", property(is_busy))
    account = scanning_world.account("Ann", "admin")

    async def demoted() -> bytes:
        client = scanning_world.member(account)
        stream = asyncio.ensure_future(client.asking("GET", "/api/admin/scan/progress"))
        async with asyncio.timeout(PATIENCE):
            while len(looks) < 2:  # what it saw at the first look was told  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        with scanning_world.store.writing() as connection:
            accounts.set_disabled(connection, account.id, disabled=True)
        return (await stream).body

    body = scanning_world.runner.run(demoted()).decode()
    assert events(body)
    assert "\n: still here\n" in body  # nothing has changed at the second look


def test_without_folders_there_is_nothing_to_scan(world: World) -> None:
    admin = world.admin()
    assert admin.ask("GET", "/api/admin/scan").json()["state"] == "idle"
    assert admin.ask("POST", "/api/admin/scan", json={}).status == 409
    assert admin.ask("GET", "/api/admin/scan/progress").status == 200


@pytest.mark.parametrize("body", [{"retry": 1}, {"retry": None}, {"more": True}, [], 3])
def test_a_request_for_a_scan_is_read_strictly(world: World, body: Any) -> None:
    assert world.admin().ask("POST", "/api/admin/scan", json=body).status == 422


# ── Problems, status ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("query", ["offset=-1", "limit=0", "limit=1001", "limit=x", "offset=1e3"])
def test_pages_that_cannot_be_are_refused(world: World, query: str) -> None:
    assert world.admin().ask("GET", f"/api/admin/problems?{query}").status == 422


def test_the_status_tells_how_the_server_is(world: World) -> None:
    admin = world.admin()
    world.clock.now += 90_500
    status = admin.ask("GET", "/api/admin/status").json()
    assert status["store"] == "sqlite"
    assert (status["songs"], status["accounts"], status["uptime_seconds"]) == (SONGS, 1, 90)
    assert status["memory_bytes"] > 10_000_000
    assert status["store_failure"] is None
    assert {"version", "store_warning", "isolation", "missing_songs", "failed_files"} < set(status)
