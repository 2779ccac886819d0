"""A page and its server: the first start, the demo, restarts and updates under an open page."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.navigation import enter, hush, pressed, star, way
from tests.fixtures.browser.player import PLAYING, listen, title, toast
from tests.fixtures.browser.visit import Watched, visit
from tests.fixtures.cli.run_command import SOURCE, environment
from tests.fixtures.music.audio_files import make
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.servers import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.fixtures.web.servers import Server

NEW_PASSWORD: Final = "a brass band on Sunday"
_ADDRESS: Final = re.compile(r"^Bandstand plays at (\S+)$", re.MULTILINE)
_PATIENCE: Final = 120.0  # seconds
# What a browser says of a server that is not there; nobody can keep it from saying so.
REFUSED: Final = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


def is_about_the_server(said: str) -> bool:
    """Return whether a complaint is only that nobody has answered."""
    return any(code in said for code in REFUSED)


def test_from_the_first_start_to_a_second_listener(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "music").mkdir()
    for number in range(3):
        make(tmp_path / f"music/{number}.flac", seconds=6, tags={"title": f"Song {number}"})
    with (
        serving(tmp_path, folders=[tmp_path / "music"], names={}) as server,
        visit(chromium, server, None) as ann,
        visit(chromium, server, None) as zoe,
    ):
        page = ann.open()
        page.get_by_label("Token").fill(str(server.setup_token))
        page.get_by_label("Name").fill("Ann")
        page.get_by_label("Password").fill(NEW_PASSWORD)
        page.get_by_role("button", name="Create the account and start").click()
        ann.until_playing()
        page.get_by_role("button", name="Log out").click()
        enter(page, "Ann", NEW_PASSWORD)
        ann.until_playing()
        hush(page)
        way(page, "Settings")
        page.get_by_role("link", name="People").click()
        page.get_by_role("button", name="Add a person").click()
        dialog = page.get_by_role("dialog", name="Add a person")
        dialog.get_by_label("Name").fill("Zoë")
        dialog.get_by_label("Password").fill(NEW_PASSWORD)
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".person")).to_have_count(2)
        enter(zoe.open(), "Zoë", NEW_PASSWORD)
        zoe.until_playing()
        zoe.page.keyboard.press("5")
        assert zoe.wait_for_event({})["stars"] == 5
        assert ann.ask("/api/history")["events"] == []
        assert ann.complaints + zoe.complaints == []


@contextmanager
def demo(home: Path) -> Iterator[str]:
    """Give the address of `bandstand demo`, of which nobody has seen anything before."""
    with (home / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "bandstand", "demo", "--no-browser", "--port", "0"],
            env=environment(XDG_DATA_HOME=str(home)),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + _PATIENCE
        while not (found := _ADDRESS.search(text := (home / "out").read_text("utf-8"))):
            assert process.poll() is None, text
            assert time.monotonic() < until, text
            time.sleep(0.05)
        yield found[1].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE)


def test_the_demo_knows_a_guest_and_shows_nothing_else(chromium: Browser, tmp_path: Path) -> None:
    with demo(tmp_path) as address, open_context(chromium) as context:
        watched = Watched(context.new_page(), address)
        page = listen(watched)
        before = watched.last_event()
        page.keyboard.press("4")
        rating = watched.wait_for_event(before)
        assert rating["stars"] == 4
        hush(page)
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)
        way(page, "Settings")
        expect(page.get_by_text("This is a demo")).to_be_visible()
        expect(page.get_by_text("history is made up")).to_be_visible()
        for name in ("Change password", "Log out everywhere else", "Delete me"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        for name in ("People", "Scan"):
            expect(page.get_by_role("link", name=name)).to_have_count(0)
        expect(page.get_by_role("link", name="Export my data")).to_be_visible()
        way(page, "Library")
        expect(page.locator(".song").first).to_be_visible()
        expect(page.get_by_role("link", name="Scan")).to_have_count(0)
        assert watched.complaints == []


def test_the_demo_shows_a_made_up_history_and_starts_afresh(
    chromium: Browser, tmp_path: Path
) -> None:
    with demo(tmp_path) as address, chromium.new_context() as context:
        watched = Watched(context.new_page(), address)
        page = listen(watched)
        hush(page)
        way(page, "Taste")
        about = page.get_by_role("complementary", name="About this listener")
        expect(about).to_contain_text("This listener's history is made up")
        expect(page.get_by_role("heading", name="The sound you like")).to_be_visible()
        assert watched.ask("/api/taste")["counts"]["plays"] == 112
        about.get_by_role("button", name="Start afresh").click()
        dialog = page.get_by_role("dialog", name="Start afresh?")
        dialog.get_by_role("button", name="Cancel").click()
        assert watched.ask("/api/taste")["counts"]["plays"] == 112
        about.get_by_role("button", name="Start afresh").click()
        with page.expect_navigation():
            dialog.get_by_role("button", name="Start afresh").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
        expect(about).to_have_count(0)
        assert watched.ask("/api/taste")["counts"]["plays"] == 0
        way(page, "Settings")
        expect(page.get_by_role("button", name="Start afresh")).to_be_visible()
        assert watched.complaints == []


@pytest.fixture(scope="module")
def own(music: Path, home_with: Callable[[str], Path]) -> Iterator[Server]:
    """A server that goes and comes back."""
    with serving(home_with("own"), folders=[music]) as server:
        server.wait_for_songs(12)
        yield server


def test_addresses_of_pages_lead_there_from_anywhere(chromium: Browser, own: Server) -> None:
    found = own.client("ben").get("/api/songs").json()["songs"]
    song = next(song for song in found if song["title"] == "Song 3")
    with visit(chromium, own, "ben") as watched:
        page = watched.open(f"song/{song['id']}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        watched.until_playing()
        page = watched.open("library?artist=Band+1&sort=title")
        expect(page.locator(".song-title").first).to_be_visible()
        assert page.locator(".song-title").all_inner_texts() == ["Song 1", "Song 5", "Song 9"]
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        assert watched.complaints == []
    with visit(chromium, own, None) as stranger:
        page = stranger.open(f"song/{song['id']}")
        enter(page, "ben")
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        assert stranger.complaints == []


def test_an_open_page_outlives_its_server(chromium: Browser, own: Server) -> None:
    with visit(chromium, own, "ben") as watched:
        page = listen(watched)
        hush(page)
        song, before = title(page).inner_text(), watched.last_event()
        own.stop()
        star(page, 4).click()
        expect(toast(page)).to_contain_text("Not delivered yet; trying again.")
        own.start()
        rating = watched.wait_for_event(before)
        assert rating["stars"] == 4
        expect(toast(page)).not_to_contain_text("trying again")
        expect(title(page)).to_have_text(song)
        page.keyboard.press("n")
        assert watched.wait_for_event(rating)["kind"] == "skip"
        expect(title(page)).not_to_have_text(song)
        watched.until_playing()
        way(page, "Taste")  # fetched for the first time, from the new one
        expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
        assert all(map(is_about_the_server, watched.complaints))


def test_an_open_page_outlives_an_update(chromium: Browser, own: Server, tmp_path: Path) -> None:
    with visit(chromium, own, "ben") as watched:
        page = listen(watched)
        way(page, "History")
        old = page.evaluate("document.querySelector('script[type=module]').src")
        own.stop()
        shutil.copytree(SOURCE, tmp_path / "newer")
        sheet = tmp_path / "newer/bandstand/web/static/style/base.css"
        sheet.write_text(sheet.read_text("utf-8") + "\n/* newer */\n", "utf-8")
        own.variables["PYTHONPATH"] = str(tmp_path / "newer")
        own.start()
        way(page, "Taste")
        expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
        bar = page.get_by_role("region", name="Now playing")
        before = watched.last_event()
        bar.get_by_role("button", name="5 stars").click()
        event = watched.wait_for_event(before)
        assert event["stars"] == 5
        pressed(bar.get_by_role("button", name="5 stars"))
        assert page.evaluate("document.querySelectorAll('audio').length") == 2  # one player
        page.reload()
        watched.until_playing()
        assert page.evaluate("document.querySelector('script[type=module]').src") != old
        assert page.evaluate(f"{PLAYING}.dataset.song") == event["song"]
        assert all(map(is_about_the_server, watched.complaints))
