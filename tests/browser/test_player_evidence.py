"""What the log is told: seconds that were played, and nothing that was taken back."""

from contextlib import suppress
from typing import Final

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect

from tests.fixtures.browser.navigation import hush
from tests.fixtures.browser.player import (
    KEPT,
    PLAYING,
    hurry,
    listen,
    log_of,
    near_the_end,
    next_up,
    title,
    toast,
)
from tests.fixtures.browser.visit import Watched, intercept, visit
from tests.fixtures.web.servers import Server

EVENTS: Final = "**/api/events"


def cut_off(page: Page) -> None:
    """Let nothing that is told arrive, though everything else does."""

    def abort(route: Route) -> None:
        with suppress(Error):  # the tab was closed meanwhile
            route.abort()

    intercept(page, EVENTS, abort)


def play_until(watched: Watched, seconds: float) -> None:
    """Let the song play on until it is there."""
    watched.until(f"{PLAYING}.currentTime > {seconds} && !{PLAYING}.seeking")


# ── Seconds ─────────────────────────────────────────────────────────────────────────────────


def test_seeking_is_not_playing(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    page.keyboard.press("k")
    began = page.evaluate(f"{PLAYING}.currentTime")
    page.get_by_role("slider", name="Position").fill("700")
    ben.until(f"{PLAYING}.currentTime > 4 && !{PLAYING}.seeking")
    page.keyboard.press("3")
    rating = ben.wait_for_event(before)
    assert rating["played_seconds"] == pytest.approx(began, abs=0.4)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    ben.until(f"{PLAYING}.currentTime === 0 && !{PLAYING}.seeking")
    page.keyboard.press("k")
    play_until(ben, 1)
    page.keyboard.press("k")
    went_on = page.evaluate(f"{PLAYING}.currentTime")
    page.keyboard.press("n")
    skip = ben.wait_for_event(rating)
    assert skip["kind"] == "skip"
    played = skip["played_seconds"] - rating["played_seconds"]
    assert played == pytest.approx(went_on, abs=0.4)


def test_the_end_of_a_song_that_was_not_heard_is_a_skip(ben: Watched) -> None:
    page, before = ben.open(), ben.last_event()
    ben.until_playing()
    page.keyboard.press("k")
    began = page.evaluate(f"{PLAYING}.currentTime")
    heard, coming = title(page).inner_text(), next_up(page).inner_text()
    near_the_end(ben)
    page.keyboard.press("k")
    expect(title(page)).to_have_text(coming)
    event = ben.wait_for_event(before)
    assert (event["kind"], event["title"]) == ("skip", heard)
    assert event["played_seconds"] == pytest.approx(began + 0.3, abs=0.4)


def test_a_pause_and_what_was_played_outlive_a_reload(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    play_until(ben, 4.2)
    page.keyboard.press("k")
    song, place = title(page).inner_text(), page.evaluate(f"{PLAYING}.currentTime")
    page.reload()
    ben.until(f"{PLAYING}.readyState > 2 && {PLAYING}.currentTime >= {place - 0.1}")
    expect(title(page)).to_have_text(song)
    assert page.evaluate(f"{PLAYING}.paused")
    page.get_by_role("button", name="Play", exact=True).click()
    ben.until_playing()
    near_the_end(ben)
    event = ben.wait_for_event(before)
    assert (event["kind"], event["title"]) == ("listen", song)
    assert 4 < event["played_seconds"] < 7


def test_a_broken_connection_goes_on_where_it_was(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "ben") as watched:
        page, before = listen(watched), watched.last_event()
        song = title(page).inner_text()
        play_until(watched, 3.2)
        # As when the server has hung up: the element fails in the middle of a song.
        intercept(page, "**/audio", lambda route: route.abort())
        page.evaluate(f"{PLAYING}.src = {PLAYING}.src; {PLAYING}.currentTime = 3; 0")
        expect(toast(page)).to_contain_text("Offline")
        page.unroute("**/audio")
        watched.until(f"{PLAYING}.readyState > 2 && {PLAYING}.currentTime > 2.5")
        expect(title(page)).to_have_text(song)
        expect(toast(page)).not_to_contain_text("Offline")
        assert watched.last_event() == before
        hurry(watched)
        page.evaluate(f"{PLAYING}.play(), 0")  # another source has paused it
        event = watched.wait_for_event(before)
        assert event["kind"] == "listen"
        assert 5 < event["played_seconds"] < 9


# ── Undo ────────────────────────────────────────────────────────────────────────────────────


def test_what_was_undone_stays_undone_after_the_tab_is_closed(
    chromium: Browser, server: Server
) -> None:
    """The first may have arrived, for all one knows; the second was never sent."""
    with visit(chromium, server, "k") as watched:
        page = listen(watched)
        hush(page)
        cut_off(page)
        page.keyboard.press("2")
        expect(toast(page)).to_contain_text("2 stars")
        page.keyboard.press("4")
        expect(toast(page)).to_contain_text("4 stars")
        expect(toast(page)).to_contain_text("trying again")
        watched.until(f"{KEPT} === 2")
        page.keyboard.press("u")
        watched.until(f"{KEPT} === 1")
        page.keyboard.press("u")
        expect(toast(page)).to_contain_text("Undone: 2 stars")
        page.close()
        again = Watched(page.context.new_page(), server.address)
        again.open("history")
        again.until(f"{KEPT} === 0")
        rating, undo = log_of(server, "k")
        assert (rating["stars"], rating["is_retracted"]) == (2, True)
        assert undo["retracts"] == rating["seq"]
        assert again.complaints == []


def test_an_undo_overtakes_an_answer_that_is_late(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "l") as watched:
        page, held = listen(watched), []
        intercept(page, EVENTS, lambda route: held.append(route))  # noqa: PLW0108  # it is marked
        hush(page)
        page.keyboard.press("5")
        watched.until_so(lambda: len(held) == 1, "tell of the stars")
        page.keyboard.press("u")
        expect(toast(page)).to_contain_text("Undone: 5 stars")
        held[0].continue_()
        watched.until_so(lambda: len(held) == 2, "tell what was taken back")
        held[1].continue_()
        watched.until(f"{KEPT} === 0")
        assert [event["kind"] for event in log_of(server, "l")] == ["rating", "retract"]
        expect(page.get_by_role("button", name="5 stars")).to_have_attribute(
            "aria-pressed", "false"
        )
        assert watched.complaints == []


def test_offline_what_is_undone_was_never_said(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "m") as watched:
        page = listen(watched)
        page.keyboard.press("k")
        watched.go_offline()
        expect(toast(page)).to_contain_text("Offline")
        page.keyboard.press("1")
        watched.until(f"{KEPT} === 1")
        page.keyboard.press("u")
        watched.until(f"{KEPT} === 0")
        page.context.set_offline(False)
        page.keyboard.press("3")
        expect(next_up(page)).to_have_attribute("data-seq", "1")
        assert [event["stars"] for event in log_of(server, "m")] == [3]
