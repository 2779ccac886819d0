"""What nobody expects: servers in trouble, rules that leave nothing, tabs that meet, garbage."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.fixtures.browser.player import (
    KEPT,
    PLAYING,
    PREPARED,
    hurry,
    listen,
    next_up,
    title,
    toast,
)
from tests.fixtures.browser.visit import Watched, intercept, visit
from tests.fixtures.web.chromium import launched
from tests.fixtures.web.servers import Server

OFFLINE: Final = "Offline: what you do is kept"
IS_REFUSED: Final = "document.body?.textContent.includes('Press play to begin') === true"
NOTHING: Final = "Nothing can be played: every song is banned or snoozed."
LIT: Final = "document.querySelectorAll('.player .star.lit').length"
GENRES: Final = 3
# Whatever is said from now on, however short.
LISTEN_TO_NOTICES: Final = """() => {
  window.said = [];
  const watch = new MutationObserver((changes) => changes.forEach(({ addedNodes }) =>
    addedNodes.forEach(({ textContent }) => window.said.push(textContent))));
  watch.observe(document.getElementById("notices"), { childList: true });
}"""
FILL_THE_STORAGE: Final = """() => {
  for (const size of [200_000, 1_000, 1]) {
    try {
      for (let i = 0; ; i += 1) localStorage.setItem(`${size}.${i}`, "x".repeat(size));
    } catch { /* full, for pieces of this size */ }
  }
}"""


@pytest.fixture
def noisy(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A tab in which the browser may complain: what it asks for is refused or lost."""
    with visit(chromium, server, "n") as watched:
        yield watched


@pytest.fixture
def calm(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A tab in which nothing may be complained of."""
    with visit(chromium, server, "o") as watched:
        yield watched
    assert watched.complaints == []


# ── The server ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [415, 503])
def test_a_song_that_the_server_cannot_send_is_left_behind(noisy: Watched, status: int) -> None:
    page, before = listen(noisy), noisy.last_event()
    asked: list[str] = []

    def refuse_the_first_song(route: Route) -> None:
        asked.append(route.request.url)
        if asked[-1] == asked[0]:
            route.fulfill(status=status, headers={"Retry-After": "1"}, body="")
        else:
            route.continue_()

    page.evaluate(LISTEN_TO_NOTICES)
    intercept(page, "**/audio", refuse_the_first_song)
    page.keyboard.press("n")
    expect(toast(page)).to_contain_text("cannot be played")
    refused = asked[0].split("/")[-2]
    noisy.until(f"{PLAYING}.dataset.song !== '{refused}' && {PLAYING}.currentTime > 0.2")
    assert asked.count(asked[0]) <= 6  # asked for and looked at, three times at most
    skipped = noisy.wait_for_event(before)
    assert skipped["song"] != refused  # that it would not play is nobody's judgement
    assert noisy.last_event() == skipped
    assert not [text for text in page.evaluate("window.said") if OFFLINE in text]


def test_whoever_cannot_log_out_is_told_so(calm: Watched) -> None:
    page = listen(calm)
    calm.go_offline()
    page.get_by_role("button", name="Log out").click()
    said = "You are still logged in: the server cannot be reached."
    expect(toast(page)).to_contain_text(said)
    page.context.set_offline(False)
    expect(title(page)).to_be_visible()
    calm.until_playing()


def test_the_dial_ends_where_it_was_left(calm: Watched) -> None:
    page = listen(calm)
    held: list[Route] = []
    intercept(page, "**/api/settings", lambda route: held.append(route))  # noqa: PLW0108
    slider = page.locator("#dial")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    left_at = float(slider.input_value())
    calm.until_so(lambda: len(held) > 0, "tell where the dial is")
    calm.settle()
    assert len(held) == 1  # the others wait for its answer
    page.unroute("**/api/settings")  # which lets it go
    settings = "/api/settings"
    calm.until_so(lambda: calm.ask(settings)["dial"] == pytest.approx(left_at), f"{left_at}")


def test_a_late_answer_does_not_hide_that_the_network_is_gone(noisy: Watched) -> None:
    page = listen(noisy)
    late: list[tuple[Route, Any]] = []
    intercept(page, "**/api/events", lambda route: late.append((route, route.fetch())))
    page.keyboard.press("3")
    noisy.until("document.querySelector('#notices .notice') !== null")
    noisy.until_so(lambda: len(late) > 0, "tell of the stars")
    asked: list[str] = []
    noisy.go_offline()
    expect(toast(page)).to_contain_text(OFFLINE)
    page.on("request", lambda request: asked.append(request.url))
    late[0][0].fulfill(response=late[0][1])
    noisy.settle()
    page.keyboard.press("4")
    noisy.until(f"{KEPT} > 0")
    noisy.settle()
    assert not [address for address in asked if not address.endswith("/health")]
    page.unroute("**/api/events")
    before = {"seq": late[0][1].json()["seq"]}
    page.context.set_offline(False)
    assert noisy.wait_for_event(before)["stars"] == 4


def test_without_a_network_music_goes_on_and_ratings_are_kept(calm: Watched) -> None:
    page, before = listen(calm), calm.last_event()
    calm.until(f"{PREPARED}.readyState === 4")
    coming = next_up(page).inner_text()
    calm.go_offline()
    expect(toast(page)).to_contain_text(OFFLINE)
    page.keyboard.press("4")
    hurry(calm)
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
    calm.until_playing()
    calm.until(f"{KEPT} === 0")
    history = calm.ask("/api/history?limit=10")["events"]
    told = [event["kind"] for event in history if event["seq"] > before.get("seq", 0)]
    assert told == ["skip", "listen", "rating"]


def test_a_browser_that_wants_a_click_is_given_one(chromium: Browser, server: Server) -> None:
    strict = launched(chromium.browser_type, "--autoplay-policy=user-gesture-required")
    with strict, visit(strict, server, "s") as watched:
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


# ── Rules that leave nothing ────────────────────────────────────────────────────────────


def ban_what_plays(page: Page) -> None:
    page.get_by_role("button", name="Never again", exact=True).click()
    page.get_by_role("menuitem").filter(has_text="All ").click()


def ban_everything(page: Page) -> None:
    """Ban what plays with all of its genre until nothing is left."""
    for left in range(GENRES - 1, -1, -1):
        heard = title(page).inner_text()
        ban_what_plays(page)
        if left:
            expect(title(page)).not_to_have_text(heard)


def test_where_everything_is_banned_that_is_said_with_a_way_out(
    chromium: Browser, server: Server
) -> None:
    with visit(chromium, server, "p") as watched:
        watched.page.clock.install()
        page = listen(watched)
        ban_everything(page)
        note = page.locator(".player-note")
        expect(note).to_contain_text(NOTHING)
        page.keyboard.press("u")  # which takes back the last ban
        watched.until_playing()
        expect(note).not_to_contain_text(NOTHING)
        expect(next_up(page)).to_be_visible()
        page.evaluate(LISTEN_TO_NOTICES)
        ban_what_plays(page)
        expect(note).to_contain_text(NOTHING)
        expect(note.get_by_role("link")).to_have_attribute("href", "#/settings")
        expect(page.locator(".coming > li")).to_have_count(0)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.clock.run_for(5_500)  # it was asked again every five seconds
        watched.settle()
        assert not [address for address in asked if not address.endswith("/health")]
        assert not [text for text in page.evaluate("window.said") if NOTHING in text]
        before = watched.last_event()
        page.keyboard.press("5")
        assert watched.wait_for_event(before)["stars"] == 5
        expect(note).to_contain_text(NOTHING)
        page.reload()
        expect(page.get_by_text(NOTHING)).to_be_visible()
        expect(page.get_by_role("link", name="Show what is banned")).to_be_visible()
        page.get_by_role("link", name="Show what is banned").click()
        page.get_by_role("button", name="Allow again").first.click()
        watched.until_playing()


# ── Sound that stands still, and tabs that meet ─────────────────────────────────────────


def pass_time(watched: Watched, is_so: Callable[[], bool]) -> None:
    """Let the page's clock go on, second after second, until something has come of it."""

    def is_so_a_second_later() -> bool:
        watched.page.clock.run_for(1_000)
        return is_so()

    watched.until_so(is_so_a_second_later, "what time brings")


def test_a_song_that_stands_still_is_begun_again_and_then_left(noisy: Watched) -> None:
    noisy.page.clock.install()
    page = listen(noisy)
    song = page.evaluate(f"{PLAYING}.dataset.song")
    # A stream on which nothing comes any more: neither a pause nor an error.
    page.evaluate(f"{PLAYING}.playbackRate = 0; {PLAYING}.defaultPlaybackRate = 0; 0")
    page.evaluate(f"{PLAYING}.addEventListener('loadstart', () => (window.isBegunAgain = true))")
    pass_time(noisy, lambda: bool(page.evaluate("window.isBegunAgain")))
    noisy.until(f"{PLAYING}.readyState > 2 && {PLAYING}.playbackRate === 0")
    assert page.evaluate(f"{PLAYING}.dataset.song") == song
    pass_time(noisy, lambda: "cannot be played" in toast(page).inner_text())
    page.evaluate("document.querySelectorAll('audio').forEach((a) => (a.defaultPlaybackRate = 1))")
    noisy.until(f"{PLAYING}.dataset.song !== '{song}' && {PLAYING}.currentTime > 0.2")


def test_a_pause_is_no_song_that_stands_still(calm: Watched) -> None:
    calm.page.clock.install()
    page = listen(calm)
    page.keyboard.press("Space")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(90_000)
    assert not [
        url
        for url in asked
        if url.endswith("/audio") and calm.page.evaluate(f"{PLAYING}.dataset.song") in url
    ]
    assert page.evaluate(f"{PLAYING}.paused")


def test_a_tab_that_is_between_two_songs_gives_way_too(calm: Watched) -> None:
    page = listen(calm)
    other = Watched(page.context.new_page(), calm.address)
    listen(other)
    calm.until(f"{PLAYING}.paused")
    page.keyboard.press("Space")
    other.until(f"{PLAYING}.paused")
    heard = title(page).inner_text()
    held: list[Route] = []
    intercept(page, "**/api/next*", lambda route: held.append(route))  # noqa: PLW0108
    page.keyboard.press("n")
    other.page.keyboard.press("Space")
    other.until_playing()
    expect(toast(page)).to_contain_text("Playing in another tab.")
    expect(title(page)).not_to_have_text(heard)
    page.unroute("**/api/next*")
    calm.until(f"{PLAYING}.readyState > 2")
    assert page.evaluate(f"{PLAYING}.paused")
    assert not other.page.evaluate(f"{PLAYING}.paused")
    page.get_by_role("button", name="Play here").click()
    calm.until_playing()


# ── Over a reload ───────────────────────────────────────────────────────────────────────


def test_stars_stay_with_their_song(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "q") as watched:
        page = listen(watched)
        song = title(page).inner_text()
        page.keyboard.press("4")
        page.keyboard.press("n")
        expect(title(page)).not_to_have_text(song)
        watched.until(f"{LIT} === 0")
        page.keyboard.press("p")
        expect(title(page)).to_have_text(song)
        watched.until(f"{LIT} === 4")
        page.keyboard.press("Space")
        page.reload()
        expect(title(page)).to_have_text(song)
        watched.until(f"{LIT} === 4")
        page.goto(f"{watched.address}/#/history")
        page.get_by_role("button", name=f"Undo: 4 stars for {song}").click()
        expect(toast(page)).to_contain_text("Undone")
        page.goto(f"{watched.address}/#/")
        watched.until(f"{LIT} === 0")
        assert watched.complaints == []


def test_garbage_among_what_was_to_be_told_is_dropped(calm: Watched, server: Server) -> None:
    entries = {
        "a": '{"body":"abc","at":1}',
        "b": "{{{",
        "c": "7",
        "d": '{"body":{"kind":"rating"},"at":1}',
        "e": '{"body":{"key":"k","kind":"retract","retracts":9},"at":"x"}',
    }
    place = f"bandstand.outbox.{server.ids['o']}."
    for name, text in entries.items():
        arguments = f"{json.dumps(place + name)}, {json.dumps(text)}"
        calm.page.add_init_script(f"localStorage.setItem({arguments})")
    before = calm.last_event()
    page = listen(calm)
    page.keyboard.press("2")
    assert calm.wait_for_event(before)["stars"] == 2
    calm.until(f"Object.keys(localStorage).every((name) => !name.startsWith('{place}'))")
    expect(toast(page)).to_contain_text("2 stars")
    assert page.locator("#notices .notice").count() == 1


def test_no_more_is_promised_than_can_be_kept(calm: Watched) -> None:
    page = listen(calm)
    page.evaluate(FILL_THE_STORAGE)
    calm.go_offline()
    expect(toast(page)).to_contain_text("Offline: what you do is kept until this tab is closed.")
    page.context.set_offline(False)
    expect(toast(page)).not_to_contain_text("Offline")
    page.evaluate("localStorage.clear()")
    calm.go_offline()
    expect(toast(page)).to_contain_text("kept and delivered later")
    page.evaluate(FILL_THE_STORAGE)
    page.keyboard.press("3")
    expect(toast(page)).to_contain_text("kept until this tab is closed")
    before = calm.last_event()
    page.context.set_offline(False)
    assert calm.wait_for_event(before)["stars"] == 3


def test_a_ban_is_of_the_song_that_the_menu_showed(calm: Watched) -> None:
    page, before = listen(calm), calm.last_event()
    shown = str(page.locator("[data-now-playing]").text_content())
    page.get_by_role("button", name="Never again").click()
    hurry(calm)
    expect(page.locator("[data-now-playing]")).not_to_have_text(shown)
    heard = calm.wait_for_event(before)
    page.get_by_role("menuitem", name="This song").click()
    banned = calm.wait_for_event(heard)
    assert (banned["kind"], banned["title"]) == ("ban", shown)
    page.get_by_role("button", name="Undo", exact=True).click()
    assert calm.wait_for_event(banned)["kind"] == "retract"
