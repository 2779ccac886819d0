"""Songs that will not play, servers that do not answer, browsers that want a click."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.fixtures.browser.player import PLAYING, PREPARED, hurry, listen, next_up, title, toast
from tests.fixtures.browser.visit import Watched, visit
from tests.fixtures.programs import require_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Route

    from tests.fixtures.web.servers import Server

OFFLINE = "Offline: what you do is kept and delivered later."
IS_REFUSED = "document.body?.textContent.includes('Press play to begin') === true"


@pytest.fixture
def noisy(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A tab of ben in which the browser may complain: what it asks for is refused or lost."""
    with visit(chromium, server, "ben") as watched:
        yield watched


@pytest.fixture(scope="module")
def volumes(chromium: Browser, quiet_server: Server) -> Iterator[Watched]:
    """A tab with the page in it; one for all questions of loudness."""
    with visit(chromium, quiet_server, None) as watched:
        watched.open()
        yield watched


def test_the_next_song_is_fetched_ahead_and_takes_its_turn(ben: Watched) -> None:
    page = listen(ben)
    coming = page.locator(".coming > li").first.get_attribute("data-song")
    ben.until(f"{PREPARED}.readyState === 4")
    assert page.evaluate(f"{PREPARED}.dataset.song") == coming
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hurry(ben)
    ben.until(f"{PLAYING}.dataset.song === '{coming}' && {PLAYING}.currentTime > 0.1")
    assert not [url for url in asked if url.endswith(f"{coming}/audio")]


def test_a_song_that_cannot_be_played_is_left_behind(noisy: Watched) -> None:
    page = listen(noisy)
    page.route("**/audio", lambda route: route.fulfill(status=415, json={}))
    heard = title(page).inner_text()
    before = noisy.last_event()
    page.keyboard.press("n")
    skipped = noisy.wait_for_event(before)
    expect(title(page)).not_to_have_text(heard)
    refused = title(page).inner_text()
    expect(toast(page)).to_contain_text("cannot be played")
    page.unroute("**/audio")
    expect(title(page)).not_to_have_text(refused)
    noisy.until_playing()
    assert noisy.last_event() == skipped  # that it would not play is nobody's judgement


def test_a_song_whose_connection_breaks_goes_on_where_it_was(noisy: Watched) -> None:
    page = listen(noisy)
    song = title(page).inner_text()
    before = noisy.last_event()
    page.evaluate(f"{PLAYING}.pause(); {PLAYING}.currentTime = 3")
    # What a browser does when the server has hung up: the element fails in the middle of a song.
    page.route("**/audio", lambda route: route.abort())
    page.evaluate(f"{PLAYING}.src = {PLAYING}.src; {PLAYING}.currentTime = 3; 0")
    expect(toast(page)).to_contain_text(OFFLINE)
    page.unroute("**/audio")
    noisy.until(f"{PLAYING}.readyState > 2 && {PLAYING}.currentTime > 2.5")
    expect(title(page)).to_have_text(song)
    expect(toast(page)).not_to_contain_text(OFFLINE)
    assert noisy.last_event() == before


def test_a_song_that_is_converted_is_announced(ben: Watched) -> None:
    page = listen(ben)
    held: list[Route] = []
    page.route("**/audio", lambda route: held.append(route))  # noqa: PLW0108  # it is marked
    page.keyboard.press("n")
    expect(page.get_by_text("Getting this song ready …")).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute("**/audio")
    ben.until_playing()
    expect(page.get_by_text("Getting this song ready …")).to_be_hidden()


def test_what_is_not_acknowledged_is_told_again_and_counts_once(noisy: Watched) -> None:
    page = listen(noisy)
    page.keyboard.press("Space")
    before = noisy.last_event().get("seq", 0)
    keys: list[str] = []

    def lose_the_first(route: Route) -> None:
        keys.append(json.loads(route.request.post_data or "{}")["key"])
        if len(keys) == 1:
            route.fetch()  # it arrives, but the answer is lost
            route.abort()
        else:
            route.continue_()

    page.route("**/api/events", lose_the_first)
    page.get_by_role("button", name="3 stars").click()
    expect(toast(page)).to_contain_text("trying again")
    expect(toast(page)).not_to_contain_text("trying again")
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert noisy.last_event()["seq"] == before + 1


def test_without_a_network_music_goes_on_and_ratings_are_kept(ben: Watched) -> None:
    page, before = listen(ben), ben.last_event()
    ben.until(f"{PREPARED}.readyState === 4")
    coming = next_up(page).inner_text()
    ben.go_offline()
    expect(toast(page)).to_contain_text(OFFLINE)
    page.keyboard.press("4")
    hurry(ben)
    expect(title(page)).to_have_text(coming)
    page.keyboard.press("n")
    waiting = page.get_by_text("Waiting for the server …")
    expect(waiting).to_be_visible()
    # A browser may tell of the beginning of a song when it was left already.
    page.evaluate(f"{PLAYING}.dispatchEvent(new Event('playing')), 0")
    expect(waiting).to_be_visible()
    page.context.set_offline(False)
    expect(title(page)).not_to_have_text(coming)
    expect(toast(page)).not_to_contain_text(OFFLINE)
    ben.until_playing()
    history = ben.ask("/api/history?limit=10")["events"]
    told = [event["kind"] for event in history if event["seq"] > before.get("seq", 0)]
    assert told == ["skip", "listen", "rating"]


def test_one_tab_plays_and_the_other_gives_way(ben: Watched) -> None:
    page = listen(ben)
    other = Watched(page.context.new_page(), ben.address)
    listen(other)
    ben.until(f"{PLAYING}.paused")
    expect(toast(page)).to_contain_text("Playing in another tab.")
    page.get_by_role("button", name="Play here").click()
    ben.until_playing()
    other.until(f"{PLAYING}.paused")
    expect(toast(page)).not_to_contain_text("Playing in another tab.")
    seq = next_up(other.page).get_attribute("data-seq")
    page.keyboard.press("5")
    expect(next_up(other.page)).not_to_have_attribute("data-seq", str(seq))
    assert other.complaints == []


def test_a_reload_goes_on_with_the_song(ben: Watched) -> None:
    page = listen(ben)
    page.evaluate(f"{PLAYING}.currentTime = 3")
    song = title(page).inner_text()
    page.reload()
    ben.until_playing()
    expect(title(page)).to_have_text(song)
    assert page.evaluate(f"{PLAYING}.currentTime") >= 3


def test_a_browser_that_wants_a_click_is_given_one(chromium: Browser, server: Server) -> None:
    options = ["--no-sandbox", "--mute-audio", "--autoplay-policy=user-gesture-required"]
    strict = chromium.browser_type.launch(executable_path=require_program("chromium"), args=options)
    with strict, visit(strict, server, "ben") as watched:
        page = watched.page
        # To look for something in the page is, for the browser, a gesture, unless it is said that
        # it is none: not before it has refused.
        browser = page.context.new_cdp_session(page)
        asked = {"expression": IS_REFUSED, "userGesture": False, "returnByValue": True}
        watched.open()
        watched.until_so(
            lambda: browser.send("Runtime.evaluate", asked)["result"]["value"] is True,
            "a wish for a click",
        )
        page.get_by_role("button", name="Press play to begin").click()
        watched.until_playing()
        expect(page.get_by_role("button", name="Press play to begin")).to_be_hidden()
        assert watched.complaints == []


def test_a_song_without_a_picture_gets_one_that_is_always_the_same(ben: Watched) -> None:
    listen(ben)
    drawn = ben.page.evaluate(
        """async () => {
          const root = document.querySelector("script[type=module]").src.replace("app/main.js", "");
          const { coverOf } = await import(`${root}player/cover.js`);
          const song = (id, artist) => ({ id, artist, album: null, cover: null });
          const draw = (...names) => coverOf(song(...names), 48).outerHTML;
          return [draw("a", "X"), draw("a", "X"), draw("b", "X"), draw("a", "Y")];
        }"""
    )
    assert "<svg" in drawn[0]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize(
    ("gains", "mode", "volume", "expected"),
    [
        (None, "track", 1.0, 1.0),
        (None, "track", 0.5, 0.25),
        ({"track_gain": -6.0}, "track", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": -6.0}, "off", 1.0, 1.0),
        ({"track_gain": -6.0, "album_gain": -9.0}, "album", 1.0, 10 ** (-9 / 20)),
        ({"track_gain": -6.0, "album_gain": None}, "album", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": None, "album_gain": -9.0}, "track", 1.0, 10 ** (-9 / 20)),
        ({"track_gain": 6.0}, "track", 0.5, 0.25 * 10 ** (6 / 20)),
        ({"track_gain": 6.0, "track_peak": 0.8}, "track", 0.5, 0.25 / 0.8),
        ({"track_gain": -6.0, "track_peak": 1.2}, "track", 1.0, 10 ** (-6 / 20)),
        ({"track_gain": 12.0}, "track", 1.0, 1.0),
    ],
)
def test_loudness_follows_the_tags(
    volumes: Watched, gains: object, mode: str, volume: float, expected: float
) -> None:
    found = volumes.page.evaluate(
        """async ([volume, gains, mode]) => {
          const root = document.querySelector("script[type=module]").src.replace("app/main.js", "");
          const { elementVolume } = await import(`${root}player/sound.js`);
          return elementVolume(volume, gains, mode);
        }""",
        [volume, gains, mode],
    )
    assert found == pytest.approx(expected)
