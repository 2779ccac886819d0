"""Without a network or a server: music goes on, and what was told arrives once, at its own time."""

import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.fixtures.browser.player import (
    KEPT,
    PREPARED,
    listen,
    log_of,
    next_up,
    title,
    toast,
)
from tests.fixtures.browser.visit import Watched, intercept, log_in, visit
from tests.fixtures.web.servers import Server

OFFLINE: Final = "Offline: what you do is kept and delivered later."
AWAY: Final = 30  # seconds
SLACK: Final = 5_000  # milliseconds; far less than they were away
# What a browser says of a server that is not there; nobody can keep it from saying so.
REFUSED: Final = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")


def told_once(server: Server, name: str, kinds: list[str]) -> list[dict[str, Any]]:
    """Return the events of somebody: these kinds, each of which the store has once."""
    events = log_of(server, name)
    assert [event["kind"] for event in events] == kinds
    with closing(sqlite3.connect(f"file:{server.store}?mode=ro", uri=True)) as store:
        found = store.execute(
            "SELECT key FROM event WHERE account_id = ? ORDER BY seq", [server.ids[name]]
        ).fetchall()
    assert [key for (key,) in found] == [event["key"] for event in events]
    assert all(count == 1 for count in Counter(found).values())
    return events


def until_delivered(watched: Watched) -> None:
    """Wait until nothing is kept for later."""
    watched.until(f"{KEPT} === 0")


_REMOVE = """song => [...document.querySelectorAll(`.coming > li[data-song="${song}"] button`)]
  .find((one) => /Remove/.test(one.ariaLabel ?? one.title ?? one.textContent))?.click()"""


def go_away(watched: Watched) -> Page:
    """Let the network be gone once the song and the next one are here, which has a cover."""
    page = listen(watched)
    page.keyboard.press("k")
    expect(page.locator(".coming > li")).to_have_count(8)
    while watched.ask(f"/api/songs/{(song := next_song(page))}")["song"]["cover"] is None:
        # This very one, if it is still there: the list may have been chosen again meanwhile.
        entry = page.locator(f'.coming > li[data-song="{song}"]')
        page.evaluate(_REMOVE, song)
        expect(entry).to_have_count(0)
    page.keyboard.press("k")
    watched.until_playing()
    watched.until(f"{PREPARED}.readyState === 4")
    watched.go_offline()
    expect(toast(page)).to_contain_text(OFFLINE)
    return page


def next_song(page: Page) -> str:
    """Return the id of the song that comes next."""
    return str(page.locator(".coming > li").first.get_attribute("data-song"))


def test_half_a_minute_without_a_network(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "a") as watched:
        page = watched.page
        page.clock.install()
        go_away(watched)
        in_vain: list[str] = []
        page.on("requestfailed", lambda request: in_vain.append(request.url))
        first, second = title(page).inner_text(), next_up(page).inner_text()
        moments = [page.evaluate("Date.now()")]
        page.keyboard.press("4")
        expect(toast(page)).to_contain_text(f"4 stars for “{first}”.")
        moments.append(page.evaluate("Date.now()"))
        page.clock.fast_forward(1_000 * AWAY)
        moments.append(page.evaluate("Date.now()"))
        page.keyboard.press("n")
        expect(title(page)).to_have_text(second)
        moments.append(page.evaluate("Date.now()"))
        watched.until_playing()
        assert page.evaluate(KEPT) == 2
        assert in_vain == []
        page.context.set_offline(False)
        expect(toast(page)).not_to_contain_text(OFFLINE)
        until_delivered(watched)
        rating, skip = told_once(server, "a", ["rating", "skip"])
        assert (rating["title"], rating["stars"], skip["title"]) == (first, 4, first)
        # Each at its own time, though they came together, and one on its way for longer.
        least, most = moments[2] - moments[1], moments[3] - moments[0]
        assert least - SLACK < skip["at"] - rating["at"] < most + SLACK
        assert watched.complaints == []


def test_what_a_closed_tab_has_kept_is_delivered_by_the_next(
    chromium: Browser, server: Server
) -> None:
    with visit(chromium, server, "b") as watched:
        page = go_away(watched)
        page.keyboard.press("5")
        page.keyboard.press("n")
        watched.until(f"{KEPT} === 2")
        page.close()
        context = page.context
        context.set_offline(False)
        again = Watched(context.new_page(), server.address)
        again.open("history")
        until_delivered(again)
        told_once(server, "b", ["rating", "skip"])
        again.page.reload()
        again.until_playing()
        told_once(server, "b", ["rating", "skip"])
        assert watched.complaints + again.complaints == []


def test_two_tabs_with_the_same_news_tell_it_once(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "c") as watched:
        page, held = listen(watched), []

        def hold(route: Route) -> None:
            held.append(route)

        intercept(page, "**/api/events", hold)
        page.keyboard.press("k")
        page.keyboard.press("3")
        watched.until(f"{KEPT} === 1")
        other = Watched(page.context.new_page(), server.address)
        sent: list[str] = []

        def note(request: Request) -> None:
            if request.url.endswith("/api/events"):
                sent.append(key_of(request))

        other.page.on("request", note)
        other.open("history")
        until_delivered(other)
        assert [key_of(route.request) for route in held] == sent
        held[0].continue_()
        expect(next_up(page)).to_have_attribute("data-seq", "1")
        told_once(server, "c", ["rating"])
        assert watched.complaints + other.complaints == []


def key_of(request: Request) -> str:
    """Return by which key something is told."""
    return str((request.post_data_json or {})["key"])


def lose_the_first_answer(page: Page) -> None:
    """Let the first thing that is told arrive, and its answer be lost."""
    lost: list[Route] = []

    def pass_on(route: Route) -> None:
        lost.append(route)
        if len(lost) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    intercept(page, "**/api/events", pass_on)


def test_a_lost_answer_does_not_count_twice(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "d") as watched:
        page = listen(watched)
        page.keyboard.press("k")
        lose_the_first_answer(page)
        page.keyboard.press("2")
        expect(toast(page)).to_contain_text("trying again")
        until_delivered(watched)
        expect(toast(page)).not_to_contain_text("trying again")
        told_once(server, "d", ["rating"])


def test_news_with_a_new_key_each_time_would(chromium: Browser, server: Server) -> None:
    """The twin: a page that does not keep the key tells everything twice."""
    kept, forgotten = "const body =", "entry.body.key = newKey();\n  const body ="

    def forget(route: Route) -> None:
        text = route.fetch().text()
        assert kept in text
        route.fulfill(body=text.replace(kept, forgotten), content_type="text/javascript")

    with visit(chromium, server, "e") as watched:
        watched.page.route("**/app/outbox.js", forget)
        page = listen(watched)
        page.keyboard.press("k")
        lose_the_first_answer(page)
        page.keyboard.press("2")
        until_delivered(watched)
        with pytest.raises(AssertionError):
            told_once(server, "e", ["rating"])
        told_once(server, "e", ["rating", "rating"])


def test_a_server_that_was_killed_is_told_once(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "f") as watched:
        page = listen(watched)
        page.keyboard.press("k")
        server.kill()
        try:
            page.keyboard.press("5")
            expect(toast(page)).to_contain_text("Not delivered yet; trying again.")
            assert page.evaluate(KEPT) == 1
        finally:
            server.start()
        until_delivered(watched)
        expect(toast(page)).not_to_contain_text("trying again")
        told_once(server, "f", ["rating"])
        assert all(any(code in said for code in REFUSED) for said in watched.complaints)


def test_nobody_gets_what_another_has_told(chromium: Browser, server: Server) -> None:
    with visit(chromium, server, "g") as watched:
        page, context = go_away(watched), watched.page.context
        page.keyboard.press("1")
        watched.until(f"{KEPT} === 1")
        page.close()
        log_in(context, server, "h")  # before a request that outlives its page could go through
        context.set_offline(False)
        other = Watched(context.new_page(), server.address)
        listen(other)
        before = other.last_event()
        other.page.keyboard.press("4")
        other.wait_for_event(before)
        told_once(server, "h", ["rating"])
        told_once(server, "g", [])
        assert other.page.evaluate(KEPT) == 1
        log_in(context, server, "g")
        other.page.reload()
        until_delivered(other)
        assert told_once(server, "g", ["rating"])[0]["stars"] == 1
        told_once(server, "h", ["rating"])
        assert watched.complaints + other.complaints == []


def test_a_tab_that_missed_a_login_keeps_what_it_has(chromium: Browser, server: Server) -> None:
    """A browser may let a tab sleep; when it wakes up, somebody else is logged in."""
    with visit(chromium, server, "i") as watched:
        page = watched.page
        page.add_init_script("delete globalThis.BroadcastChannel")
        go_away(watched)
        page.keyboard.press("3")
        watched.until(f"{KEPT} === 1")
        log_in(page.context, server, "j")
        page.context.set_offline(False)
        expect(page.locator("#person")).to_contain_text("j")
        watched.until_playing()
        told_once(server, "j", [])
        log_in(page.context, server, "i")
        page.reload()
        until_delivered(watched)
        told_once(server, "i", ["rating"])
        told_once(server, "j", [])
        assert [said for said in watched.complaints if "409" not in said] == []
