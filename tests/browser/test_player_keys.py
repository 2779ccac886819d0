"""Shortcuts of the keyboard, and what a lock screen is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.fixtures.browser.player import PLAYING, listen, title, toast

if TYPE_CHECKING:
    from tests.fixtures.browser.visit import Watched


def test_keys_rate_pause_and_go_on(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.keyboard.press("2")
    event = ben.wait_for_event(before)
    assert (event["kind"], event["stars"]) == ("rating", 2)
    page.keyboard.press("Space")
    ben.until(f"{PLAYING}.paused")
    page.keyboard.press("k")
    ben.until(f"!{PLAYING}.paused")
    page.keyboard.press("Space")
    heard = title(page).inner_text()
    page.keyboard.press("n")
    assert ben.wait_for_event(event)["kind"] == "skip"
    expect(title(page)).not_to_have_text(heard)
    ben.until_playing()


def test_keys_seek_and_make_it_quiet(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("Space")
    page.evaluate(f"{PLAYING}.currentTime = 0.5")
    page.keyboard.press("ArrowRight")
    ben.until(f"{PLAYING}.currentTime > 5")
    page.keyboard.press("ArrowLeft")
    ben.until(f"{PLAYING}.currentTime < 1")
    page.keyboard.press("m")
    ben.until(f"{PLAYING}.muted")
    page.keyboard.press("m")
    ben.until(f"!{PLAYING}.muted")
    page.keyboard.press("ArrowDown")
    ben.until(f"{PLAYING}.volume < 1")
    expect(page.get_by_role("slider", name="Volume")).to_have_attribute("aria-valuetext", "95 %")
    page.keyboard.press("ArrowUp")
    ben.until(f"{PLAYING}.volume === 1")


def test_a_key_that_a_control_uses_is_left_to_it(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.get_by_role("button", name="3 stars").focus()
    page.keyboard.press("Space")
    event = ben.wait_for_event(before)
    assert event["stars"] == 3
    assert page.evaluate(f"!{PLAYING}.paused")
    page.keyboard.press("Control+2")
    page.get_by_role("link", name="Library").click()
    page.get_by_role("searchbox").fill("1")
    page.keyboard.press("2")
    page.keyboard.press("n")
    expect(page.get_by_role("searchbox")).to_have_value("12n")
    assert ben.last_event() == event


def test_keys_undo_search_and_show_themselves(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.keyboard.press("4")
    event = ben.wait_for_event(before)
    page.keyboard.press("u")
    expect(toast(page)).to_contain_text("Undone: 4 stars")
    assert ben.wait_for_event(event)["kind"] == "retract"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Mute")
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Library").click()
    page.keyboard.press("q")
    expect(page.get_by_role("heading", name="Coming up")).to_be_focused()


def test_the_seek_bar_says_where_it_is_in_words(ben: Watched) -> None:
    page = listen(ben)
    page.keyboard.press("Space")
    slider = page.get_by_role("slider", name="Position")
    slider.fill("500")
    ben.until(f"{PLAYING}.currentTime > 2.9")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^0:0[34] of 0:0[67]$"))


def test_a_lock_screen_shows_what_plays(ben: Watched) -> None:
    page = listen(ben)
    shown = page.evaluate(
        "({title: navigator.mediaSession.metadata.title,"
        " artist: navigator.mediaSession.metadata.artist,"
        " state: navigator.mediaSession.playbackState})"
    )
    artist = page.locator(".player-artist").inner_text()
    assert shown == {"title": title(page).inner_text(), "artist": artist, "state": "playing"}
    assert page.title() == f"{shown['title']} – {artist}"
    page.keyboard.press("Space")
    ben.until("navigator.mediaSession.playbackState === 'paused'")
