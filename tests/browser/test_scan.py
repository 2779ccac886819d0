"""The scan page, in a real browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.visit import visit
from tests.fixtures.music.audio_files import make
from tests.fixtures.web.servers import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.fixtures.browser.visit import Watched
    from tests.fixtures.web.servers import Server


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two songs and a file that is none."""
    folder = tmp_path_factory.mktemp("tapes")
    for number in range(2):
        make(folder / f"{number}.flac", seconds=6 + number, tags={"title": f"Tape {number}"})
    (folder / "Torn <b>tape.mp3").write_bytes(b"no sound at all" * 100)
    return folder


@pytest.fixture(scope="module")
def live(tapes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), folders=[tapes]) as found:
        found.wait_for_songs(2)
        yield found


@pytest.fixture
def admin(chromium: Browser, live: Server) -> Iterator[Watched]:
    with visit(chromium, live, "ann") as watched:
        yield watched


def test_files_that_failed_are_shown_with_the_reason(admin: Watched, tapes: Path) -> None:
    page = admin.open("scan")
    failed = page.locator(".failed-files li")
    expect(failed).to_have_count(1)
    expect(failed.locator(".path")).to_have_text(f"{tapes.name}/Torn <b>tape.mp3")
    expect(failed.locator(".path")).to_have_attribute("title", f"{tapes}/Torn <b>tape.mp3")
    expect(failed).to_contain_text("expected audio")
    expect(page.get_by_text("Running for")).to_be_visible()
    assert admin.complaints == []


def test_a_scan_finds_a_new_song(admin: Watched, tapes: Path) -> None:
    page = admin.open("scan")
    expect(page.get_by_role("heading", name="The library is up to date")).to_be_visible()
    make(tapes / "new.flac", seconds=9, tags={"title": "A new tape"})
    page.get_by_role("button", name="Scan now").click()
    expect(page.get_by_text("The scan has begun.")).to_be_visible()
    songs = page.locator(".counts > div", has_text="songs").locator("dd")
    expect(songs).to_have_text("3")
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    assert admin.complaints == []


def test_a_scan_under_way_tells_one_story(admin: Watched) -> None:
    """The songs that play lag behind the files that were met; what has failed is not known yet."""
    page = admin.page
    before = admin.ask("/api/admin/scan")
    under_way = {
        **before,
        "counts": {**dict.fromkeys(before["counts"], 0), "found": 72, "added": 70},
        "state": "scanning",
        "done": 72,
        "total": 120,
        "songs": 64,
        "started_at": 1,
        "finished_at": None,
    }
    nothing = {"total": 0, "offset": 0, "folders": [], "problems": []}
    told = f"event: progress\ndata: {json.dumps(under_way)}\n\n"
    page.route("**/api/admin/scan", lambda route: route.fulfill(json=under_way))
    page.route(
        "**/api/admin/scan/progress",
        lambda route: route.fulfill(body=told, content_type="text/event-stream"),
    )
    page.route("**/api/admin/problems?*", lambda route: route.fulfill(json=nothing))
    admin.open("scan")
    expect(page.get_by_text("None so far.")).to_be_visible()
    expect(page.get_by_text("72 of 120 files")).to_be_visible()
    expect(page.locator(".counts > div")).to_have_text([re.compile("songs64")])
    expect(page.get_by_text("Running for")).to_be_visible()
    expect(page.locator(".status")).not_to_contain_text("song")


def test_failed_files_are_read_again_when_asked(admin: Watched) -> None:
    page = admin.open("scan")
    page.get_by_role("button", name="Read failed files again").click()
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    expect(page.locator(".failed-files li")).to_have_count(1)
    assert admin.complaints == []


def test_it_goes_on_after_the_server_was_away(admin: Watched, live: Server) -> None:
    page = admin.open("scan")
    expect(page.get_by_role("heading", name="The library is up to date")).to_be_visible()
    live.stop()
    live.start()
    expect(page.get_by_text(re.compile("No scan since|Last scan"))).to_be_visible()
    page.get_by_role("button", name="Scan now").click()
    expect(page.get_by_role("button", name="Scan now")).to_be_enabled()
    expect(page.get_by_text("Last scan just now")).to_be_visible()


WATCH_STREAMS = """
    const streams = [];
    window.EventSource = class extends EventSource {
        constructor(...all) { super(...all); streams.push(this); }
    };
    window.openStreams = () => streams.filter((one) => one.readyState !== 2).length;
"""


def test_the_stream_ends_with_the_page(admin: Watched) -> None:
    page = admin.page
    page.add_init_script(WATCH_STREAMS)
    admin.open("scan")
    admin.until("openStreams() === 1")
    page.evaluate("location.hash = '#/playlists'")
    expect(page.get_by_role("heading", name="Playlists")).to_be_visible()
    admin.until("openStreams() === 0")


def test_a_listener_has_no_business_there(chromium: Browser, live: Server) -> None:
    with visit(chromium, live, "ben") as watched:
        page = watched.open("library")
        expect(page.get_by_role("link", name="Playlists")).to_be_visible()
        expect(page.get_by_role("link", name="Scan")).to_have_count(0)
        page = watched.open("scan")
        expect(page.get_by_text("Only administrators")).to_be_visible()
    assert watched.complaints == []
