"""Evenings with the radio: what leads from one page to another, with real sound."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.fixtures.browser.navigation import enter, hush, pressed, star, way
from tests.fixtures.browser.player import (
    KEPT,
    PLAYING,
    choose,
    listen,
    near_the_end,
    next_up,
    title,
    toast,
)
from tests.fixtures.browser.silence import give_silence
from tests.fixtures.browser.visit import Watched, visit
from tests.fixtures.cli.run_command import SOURCE, environment
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.servers import Server, serving

XSPF: Final = "{http://xspf.org/ns/0/}"


def titles_in(text: str) -> list[str]:
    """Return the songs that an exported file lists, in whichever format."""
    if text.startswith("#EXTM3U"):
        return re.findall(r"#EXTINF:[^,]*,.* - (.*)", text)
    if text.startswith("{"):
        return [found["title"] for found in json.loads(text)["playlist"]["track"]]
    tracks = ET.fromstring(text).iter(f"{XSPF}track")  # we wrote it
    return [str(found.findtext(f"{XSPF}title")) for found in tracks]


def is_list_from(address: str, song: str) -> bool:
    """Return whether the page asks for what comes after starting from a song."""
    return "/api/playlist?" in address and f"&song={song}" in address


def event_row(page: Page, event: dict[str, Any]) -> Locator:
    """Return an event in the history."""
    return page.locator(f".event[data-seq='{event['seq']}']")


def test_what_is_told_to_the_player_stands_in_the_history(
    chromium: Browser, server: Server
) -> None:
    with visit(chromium, server, "t") as watched:
        page = listen(watched)
        hush(page)
        song = title(page).inner_text()
        star(page, 4).click()
        rating = watched.wait_for_event({})
        way(page, "History")
        expect(event_row(page, rating)).to_contain_text(song)
        event_row(page, rating).get_by_role("button", name="Undo").click()
        taken = watched.wait_for_event(rating)
        assert taken["retracts"] == rating["seq"]
        expect(event_row(page, rating)).to_contain_text("Undone")
        way(page, "Radio")
        expect(title(page)).to_have_text(song)
        pressed(star(page, 4), is_so=False)
        page.keyboard.press("n")
        skip = watched.wait_for_event(taken)
        assert (skip["kind"], skip["title"]) == ("skip", song)
        page.get_by_role("button", name="Undo").click()
        watched.wait_for_event(skip)
        way(page, "Taste")
        way(page, "History")
        expect(event_row(page, skip)).to_contain_text("Undone")
        event_row(page, rating).get_by_role("link", name=song).click()
        expect(page.locator(".said li").first).to_contain_text("undone")
        page.go_back()
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
        page.go_forward()
        page.go_forward()
        expect(page.get_by_role("heading", level=1)).to_have_text(song)
        assert watched.complaints == []


@pytest.mark.parametrize("place", ["library", "song"])
def test_the_radio_starts_from_a_song(chromium: Browser, quiet_server: Server, place: str) -> None:
    with visit(chromium, quiet_server, "ben") as watched:
        give_silence(watched.page)
        page = listen(watched)
        song = watched.ask("/api/songs?q=song+77&limit=1")["songs"][0]
        if place == "library":
            page = watched.open("library?q=song+77")
            page.get_by_role("button", name=f"More for “{song['title']}”").click()
            page.get_by_role("menuitem", name="Start radio from here").click()
        else:
            page = watched.open(f"song/{song['id']}")
            page.get_by_role("button", name="Start radio from here").click()
        expect(page.locator("#bar")).to_contain_text(song["title"])
        with page.expect_response(lambda answer: is_list_from(answer.url, song["id"])) as found:
            way(page, "Radio")
        expect(title(page)).to_have_text(song["title"])
        watched.until(f"{PLAYING}.dataset.song === '{song['id']}'")
        expect(page.get_by_text(f"Starting from {song['title']}", exact=True)).to_be_visible()
        near = [offer["song"]["id"] for offer in found.value.json()["songs"]]
        shown = "[...document.querySelectorAll('.coming > li')].map((row) => row.dataset.song)"
        watched.until(f"{shown}.slice(1).join() === '{','.join(near)}'")
        page.get_by_role("button", name="Stop starting from").click()
        expect(page.get_by_text("Starting from")).to_have_count(0)
        assert watched.complaints == []


def test_a_list_is_saved_exported_and_played(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "u") as watched:
        page = listen(watched)
        hush(page)
        expect(page.locator(".coming > li")).to_have_count(8)
        coming = page.locator(".coming-title").all_inner_texts()
        choose(page, "Keep this list", "Save as playlist")
        field, save = page.get_by_label("Name"), page.get_by_role("button", name="Save", exact=True)
        field.fill("   ")
        save.click()
        assert field.evaluate("(field) => field.validationMessage") == "Give it a name."
        field.fill("Tonight")
        save.click()
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Tonight")
        expect(page.locator(".song-title")).to_have_text(coming)
        page.get_by_role("button", name="Move down").first.click()
        shown = [coming[1], coming[0], *coming[2:]]
        expect(page.locator(".song-title")).to_have_text(shown)
        page.get_by_role("button", name="Export").click()
        for label in ("M3U8", "XSPF", "JSPF"):
            with page.expect_download() as waiting:
                page.get_by_role("link", name=re.compile(f"^{label}")).click()
            assert waiting.value.suggested_filename == f"Tonight.{label.lower()}"
            assert titles_in(waiting.value.path().read_text("utf-8")) == shown
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Play", exact=True).first.click()
        expect(page.locator("#bar")).to_contain_text(shown[0])
        way(page, "Radio")
        expect(page.locator(".coming-title").nth(6)).to_be_visible()
        assert page.locator(".coming-title").all_inner_texts()[:7] == shown[1:]
        watched.until_playing()
        near_the_end(watched)
        expect(title(page)).to_have_text(shown[1])
        assert watched.complaints == []


def test_in_private_nothing_is_stored(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "v") as watched:
        page = listen(watched)
        hush(page)
        way(page, "Settings")
        page.get_by_role("switch", name="Private mode").click()
        expect(toast(page)).to_contain_text("Private mode is on.")
        way(page, "Radio")
        expect(page.get_by_text("Private mode: nothing is learned")).to_be_visible()
        song = title(page).inner_text()
        star(page, 1).click()
        expect(toast(page)).to_contain_text("Private mode: this is not learned.")
        page.keyboard.press("n")
        expect(title(page)).not_to_have_text(song)
        second = title(page).inner_text()
        near_the_end(watched)
        expect(title(page)).not_to_have_text(second)
        watched.until_playing()
        assert page.evaluate(KEPT) == 0
        hush(page)
        way(page, "History")
        expect(page.get_by_text("Nothing yet.")).to_be_visible()
        assert watched.ask("/api/history")["events"] == []
        assert watched.ask("/api/songs?heard=yes")["songs"] == []
        way(page, "Settings")
        page.get_by_role("switch", name="Private mode").click()
        expect(toast(page)).to_contain_text("Private mode is off.")
        page.keyboard.press("3")
        assert watched.wait_for_event({})["stars"] == 3
        assert watched.complaints == []


def test_another_way_to_choose_goes_on_at_once(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "w") as watched:
        page = listen(watched)
        hush(page)
        for stars in "425":
            before = watched.last_event()
            page.keyboard.press(stars)
            watched.wait_for_event(before)
        way(page, "Settings")
        page.get_by_text("How songs are chosen").click()
        with page.expect_response(lambda answer: "/api/next" in answer.url) as chosen:
            page.get_by_role("radio", name="Thompson sampling").click()
        assert chosen.value.ok
        way(page, "Radio")
        expect(next_up(page)).to_have_text(chosen.value.json()["song"]["title"])
        assert watched.complaints == []


def test_tabs_of_one_listener_know_of_each_other(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "x") as watched:
        page = listen(watched)
        song = title(page).get_attribute("data-now-playing")
        other = Watched(page.context.new_page(), server.address)
        listen(other)
        watched.until(f"{PLAYING}.paused")
        other.open(f"song/{song}")
        expect(star(other.page, 3)).to_be_visible()
        star(page, 3).click()
        rating = watched.wait_for_event({})
        pressed(star(other.page, 3))
        expect(other.page.locator(".said li")).to_have_count(1)
        other.open("history")
        event_row(other.page, rating).get_by_role("button", name="Undo").click()
        pressed(star(page, 3), is_so=False)
        other.page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
        expect(other.page.get_by_role("heading", name="Welcome back")).to_be_visible()
        assert watched.complaints + other.complaints == []


def test_a_session_that_ends_elsewhere_asks_for_the_password_and_goes_on(
    chromium: Browser, server: Server
) -> None:
    with visit(chromium, server, "y") as watched, visit(chromium, server, None) as device:
        page = listen(watched)
        hush(page)
        enter(device.open(), "y")
        device.until_playing()
        before = device.last_event()
        star(page, 2).click()
        assert device.wait_for_event(before)["stars"] == 2  # the same listener
        way(device.page, "Settings")
        device.page.get_by_role("button", name="Log out everywhere else").click()
        expect(device.page.get_by_text("You are logged in nowhere else.")).to_be_visible()
        page.evaluate("location.hash = '#/history'")  # the next question, which is refused
        expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
        enter(page, "y")
        expect(page.get_by_role("heading", level=1)).to_have_text("History")
        expect(page.locator(".event[data-kind=rating]")).to_have_count(1)
        watched.until_playing()
        assert all("401" in said for said in watched.complaints)
        assert device.complaints == []


# A page and its server: the demo, a restart and an update under an open page.


_ADDRESS: Final = re.compile(r"^Bandstand plays at (\S+)$", re.MULTILINE)
_PATIENCE: Final = 120.0  # seconds
# What a browser says of a server that is not there; nobody can keep it from saying so.
REFUSED: Final = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


def is_about_the_server(said: str) -> bool:
    """Return whether a complaint is only that nobody has answered."""
    return any(code in said for code in REFUSED)


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


def test_the_demo_knows_a_guest_with_a_made_up_history_who_starts_afresh(
    chromium: Browser, tmp_path: Path
) -> None:
    with demo(tmp_path) as address, open_context(chromium) as context:
        watched = Watched(context.new_page(), address)
        page = listen(watched)
        hush(page)
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)
        way(page, "Taste")
        about = page.get_by_role("complementary", name="About this listener")
        expect(about).to_contain_text("This listener's history is made up")
        expect(page.get_by_role("heading", name="The sound you like")).to_be_visible()
        assert watched.ask("/api/taste")["counts"]["plays"] == 112
        before = watched.last_event()
        page.keyboard.press("4")
        assert watched.wait_for_event(before)["stars"] == 4
        way(page, "Settings")
        expect(page.get_by_text("This is a demo")).to_be_visible()
        expect(page.get_by_text("history is made up")).to_be_visible()
        for name in ("Change password", "Log out everywhere else", "Delete me"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_role("link", name="People")).to_have_count(0)
        expect(page.get_by_role("link", name="Export my data")).to_be_visible()
        way(page, "Library")
        expect(page.locator(".song").first).to_be_visible()
        expect(page.get_by_role("link", name="Scan")).to_have_count(0)
        way(page, "Taste")
        dialog = page.get_by_role("dialog", name="Start afresh?")
        for answer, plays in (("Cancel", 113), ("Start afresh", 0)):
            about.get_by_role("button", name="Start afresh").click()
            if plays:
                dialog.get_by_role("button", name=answer).click()
            else:
                with page.expect_navigation():
                    dialog.get_by_role("button", name=answer).click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
            assert watched.ask("/api/taste")["counts"]["plays"] == plays
        expect(about).to_have_count(0)
        way(page, "Settings")
        expect(page.get_by_role("button", name="Start afresh")).to_be_visible()
        assert watched.complaints == []


def test_addresses_of_pages_lead_there_from_anywhere(chromium: Browser, server: Server) -> None:
    found = server.client("ben").get("/api/songs").json()["songs"]
    song = next(song for song in found if song["title"] == "Song 3")
    with visit(chromium, server, "ben") as watched:
        page = watched.open(f"song/{song['id']}")
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        watched.until_playing()
        page = watched.open("library?artist=Band+1&sort=title")
        expect(page.locator(".song-title").first).to_be_visible()
        assert page.locator(".song-title").all_inner_texts() == ["Song 1", "Song 5", "Song 9"]
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        assert watched.complaints == []
    with visit(chromium, server, None) as stranger:
        page = stranger.open(f"song/{song['id']}")
        enter(page, "ben")
        expect(page.get_by_role("heading", level=1)).to_have_text("Song 3")
        assert stranger.complaints == []


def test_an_open_page_outlives_its_server_and_an_update(
    chromium: Browser, music: Path, home_with: Callable[[str], Path], tmp_path: Path
) -> None:
    with (
        serving(home_with("own"), folders=[music]) as own,
        visit(chromium, own, "ben") as watched,
    ):
        page = listen(watched)
        way(page, "History")
        old = page.evaluate("document.querySelector('script[type=module]').src")
        own.stop()
        shutil.copytree(SOURCE, tmp_path / "newer")
        sheet = tmp_path / "newer/bandstand/web/static/style/base.css"
        sheet.write_text(sheet.read_text("utf-8") + "\n/* newer */\n", "utf-8")
        own.variables["PYTHONPATH"] = str(tmp_path / "newer")
        own.start()
        way(page, "Taste")  # fetched for the first time, from the new one
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
