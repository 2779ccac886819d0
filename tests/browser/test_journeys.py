"""Evenings with the radio: what leads from one page to another, with real sound."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.navigation import enter, hush, pressed, star, way
from tests.fixtures.browser.player import (
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

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

    from tests.fixtures.web.servers import Server

XSPF: Final = "{http://xspf.org/ns/0/}"
FORMATS: Final = ("M3U8", "XSPF", "JSPF")


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
    chromium: Browser, people: Server
) -> None:
    with visit(chromium, people, "a") as watched:
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
        way(page, "History")
        expect(event_row(page, skip)).to_contain_text("Undone")
        assert watched.complaints == []


def test_a_song_is_found_rated_and_taken_back(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "b") as watched:
        page = listen(watched)
        hush(page)
        playing = title(page).inner_text()
        wanted = "Song 7" if playing != "Song 7" else "Song 8"
        way(page, "Library")
        page.get_by_role("searchbox").fill(wanted)
        expect(page.locator(".song")).to_have_count(1)
        page.get_by_role("link", name=wanted, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(wanted)
        star(page, 5).click()
        rating = watched.wait_for_event({})
        assert (rating["title"], rating["stars"]) == (wanted, 5)
        pressed(star(page, 5))
        way(page, "Taste")
        expect(page.locator("main")).to_contain_text("1 rating")
        way(page, "History")
        event_row(page, rating).get_by_role("button", name="Undo").click()
        expect(event_row(page, rating)).to_contain_text("Undone")
        event_row(page, rating).get_by_role("link", name=wanted).click()
        expect(page.locator(".said li").first).to_contain_text("undone")
        pressed(star(page, 5), is_so=False)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("History")
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text("Taste")
        page.go_forward()
        page.go_forward()
        expect(page.get_by_role("heading", level=1)).to_have_text(wanted)
        assert page.locator("#bar").inner_text().startswith(playing)  # it was there all the time
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


def test_a_list_is_saved_exported_and_played(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "c") as watched:
        page = listen(watched)
        hush(page)
        expect(page.locator(".coming > li")).to_have_count(8)
        coming = page.locator(".coming-title").all_inner_texts()
        choose(page, "Keep this list", "Save as playlist")
        page.get_by_label("Name").fill("Tonight")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Tonight")
        expect(page.locator(".song-title")).to_have_text(coming)
        page.get_by_role("button", name="Move down").first.click()
        shown = [coming[1], coming[0], *coming[2:]]
        expect(page.locator(".song-title")).to_have_text(shown)
        page.get_by_role("button", name="Export").click()
        for label in FORMATS:
            with page.expect_download() as waiting:
                page.get_by_role("link", name=re.compile(f"^{label}")).click()
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


def test_what_was_banned_is_allowed_again(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "d") as watched:
        page = listen(watched)
        song = watched.ask(f"/api/songs/{title(page).get_attribute('data-now-playing')}")["song"]
        choose(page, "Never again", "This song")
        expect(title(page)).not_to_have_text(song["title"])
        ban = watched.wait_for_event({})
        hush(page)
        way(page, "Settings")
        allow = page.get_by_role("button", name=f"Allow again: {song['title']}")
        expect(allow).to_be_visible()
        page.locator(".rule").get_by_role("link", name=song["title"]).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(song["title"])
        page.go_back()
        allow.click()
        expect(allow).to_have_count(0)
        assert watched.wait_for_event(ban)["retracts"] == ban["seq"]
        way(page, "History")
        expect(event_row(page, ban)).to_contain_text("Undone")
        assert watched.complaints == []


def test_in_private_nothing_is_stored(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "e") as watched:
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


def test_another_way_to_choose_goes_on_at_once(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "f") as watched:
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
        page.keyboard.press("w")
        expect(page.get_by_role("dialog", name="Why “")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_label("From familiar to discover").press("ArrowRight")
        expect(page.locator(".coming > li")).to_have_count(8)
        way(page, "Taste")
        expect(page.locator("figure").first).to_be_visible()
        assert watched.complaints == []


def test_tabs_of_one_listener_know_of_each_other(chromium: Browser, people: Server) -> None:
    with visit(chromium, people, "g") as watched:
        page = listen(watched)
        song = title(page).get_attribute("data-now-playing")
        other = Watched(page.context.new_page(), people.address)
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
    chromium: Browser, people: Server
) -> None:
    with visit(chromium, people, "h") as watched, visit(chromium, people, None) as device:
        page = listen(watched)
        hush(page)
        enter(device.open(), "h")
        device.until_playing()
        before = device.last_event()
        star(page, 2).click()
        assert device.wait_for_event(before)["stars"] == 2  # the same listener
        way(device.page, "Settings")
        device.page.get_by_role("button", name="Log out everywhere else").click()
        expect(device.page.get_by_text("You are logged in nowhere else.")).to_be_visible()
        page.evaluate("location.hash = '#/history'")  # the next question, which is refused
        expect(page.get_by_role("heading", name="Welcome back")).to_be_visible()
        enter(page, "h")
        expect(page.get_by_role("heading", level=1)).to_have_text("History")
        expect(page.locator(".event[data-kind=rating]")).to_have_count(1)
        watched.until_playing()
        assert all("401" in said for said in watched.complaints)
        assert device.complaints == []
