"""The page's files in a real browser: fetched once, small, and never markup made of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Error, expect

from bandstand.web.routes.page import PAGE
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.browser.visit import visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.fixtures.web.servers import Server

# Every way from text to markup or to a script that a page has.
SINKS = (
    "document.body.innerHTML = '<b>x</b>'",
    "document.body.lastElementChild.outerHTML = '<b>x</b>'",
    "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
    "document.createElement('iframe').srcdoc = '<b>x</b>'",
    "document.createElement('script').src = '/static/x.js'",
    "document.createElement('script').text = '1'",
    "new DOMParser().parseFromString('<b>x</b>', 'text/html')",
    "document.createRange().createContextualFragment('<b>x</b>')",
    "document.body.setAttribute('onclick', '1')",
)


def files(page: Page) -> dict[str, dict[str, Any]]:
    """Return what the browser knows of each file that it fetched, by its name."""
    entries = page.evaluate("performance.getEntriesByType('resource').map((one) => one.toJSON())")
    folder = f"{PAGE.folder}/"
    return {one["name"].partition(folder)[2]: one for one in entries if "/static/" in one["name"]}


def test_the_files_come_compressed_and_the_second_time_not_at_all(
    chromium: Browser, quiet_server: Server
) -> None:
    with visit(chromium, quiet_server, None) as visitor:
        page = visitor.open()
        page.wait_for_load_state("networkidle")
        first = files(page)
        assert set(PAGE.first_modules) <= set(first)
        assert [name for name in PAGE.first_modules if not first[name]["transferSize"]] == []
        for one in first.values():
            if one["decodedBodySize"] > 1_000:
                assert one["encodedBodySize"] < one["decodedBodySize"] / 1.5
        page.goto("about:blank")
        visitor.open()
        page.wait_for_load_state("networkidle")
        again = files(page)
        assert set(PAGE.first_modules) <= set(again)
        assert {
            name: one["transferSize"] for name, one in again.items() if one["transferSize"]
        } == {}


def test_the_modules_of_the_first_screen_do_not_wait_for_each_other(
    chromium: Browser, quiet_server: Server
) -> None:
    """All are asked for by the page itself, before the first of them could have been read."""
    with visit(chromium, quiet_server, None) as visitor:
        page = visitor.open()
        page.wait_for_load_state("networkidle")
        fetched = files(page)
        read = fetched["app/main.js"]["responseEnd"]
        assert [name for name in PAGE.first_modules if fetched[name]["startTime"] > read] == []


def test_text_never_becomes_markup_or_a_script(chromium: Browser, quiet_server: Server) -> None:
    with visit(chromium, quiet_server, None) as visitor:
        page = visitor.open()
        for sink in SINKS:
            with pytest.raises(Error, match="requires 'Trusted"):
                page.evaluate(f"() => {{ {sink}; }}")
        with pytest.raises(Error, match="Policy"):
            page.evaluate("() => { trustedTypes.createPolicy('x', {}); }")


def test_without_the_policy_it_would(chromium: Browser, quiet_server: Server) -> None:
    """The twin: all of these lines work in a page without it."""
    with visit(chromium, quiet_server, None, bypass_csp=True) as visitor:
        page = visitor.open()
        done = [page.evaluate(f"() => {{ {sink}; return 'done'; }}") for sink in SINKS]
        assert done == ["done"] * len(SINKS)
        assert page.evaluate("document.body.getAttribute('onclick')") == "1"


def test_who_is_logged_in_stays_so_behind_a_link_from_elsewhere(
    chromium: Browser, quiet_server: Server
) -> None:
    """The browser keeps the strict cookie back from such a visit; the page asks for itself."""
    with visit(chromium, quiet_server, None) as ben:
        page = ben.page
        kept = {"name": NAME, "value": quiet_server.tokens["ben"], "url": ben.address}
        page.context.add_cookies([{**kept, "sameSite": "Strict"}])  # type: ignore[typeddict-item]
        # The same server by another name, which is another site to a browser.
        page.goto(ben.address.replace("127.0.0.1", "localhost") + "/health")
        with page.expect_navigation():
            page.evaluate("(address) => { location.href = address; }", f"{ben.address}/")
        assert page.evaluate("document.documentElement.dataset.session") == "ask"
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
