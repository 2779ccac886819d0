"""What the page's policy means in a real browser, and a cookie that no script can see."""

from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from bandstand.web.routes.page import PAGE
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.browser.script_trap import Trap
from tests.fixtures.browser.visit import log_in, until_so, visit
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.servers import PASSWORD, Server


def test_no_script_sees_the_cookie(chromium: Browser, quiet_server: Server) -> None:
    with open_context(chromium) as context:
        page = context.new_page()
        page.goto(f"{quiet_server.address}/")
        answer = page.evaluate(
            """(password) => fetch("/api/session", {
              method: "POST",
              headers: { "Content-Type": "application/json" },
              body: JSON.stringify({ name: "ben", password }),
            }).then((it) => it.status)""",
            PASSWORD,
        )
        assert answer == 200
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
        assert cookie["domain"] == "127.0.0.1"
        assert page.evaluate("document.cookie") == ""
        assert page.evaluate("fetch('/api/session').then((it) => it.status)") == 200
        assert page.evaluate("cookieStore.getAll().then((all) => all.length)") == 0


def test_what_the_policy_forbids_is_refused_by_the_browser_and_reported(
    chromium: Browser, quiet_server: Server
) -> None:
    """The watch itself: each of these is tried on the real page, stopped, and noticed."""
    tries = {
        "script-src": "import('http://localhost:9/a.js').catch(() => {})",
        "require-trusted-types-for trusted-types-sink HTMLScriptElement": "document.head.append("
        "Object.assign(document.createElement('script'), {textContent: 'ran(1)'}))",
        "require-trusted-types-for": "document.body.innerHTML = '<b>x</b>'",
        "style-src": "document.body.setAttribute('style', 'color: red')",
        "img-src": "new Image().src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw='",
        "frame-src": "document.body.append(Object.assign(document.createElement('iframe'), "
        "{src: '/'}))",
        "form-action": "{ const f = document.createElement('form'); f.method = 'post';"
        " f.action = 'http://localhost:9/'; document.body.append(f); f.submit(); }",
        "base-uri": "document.head.append(Object.assign(document.createElement('base'), "
        "{href: '//elsewhere.example/'}))",
        "connect-src": "fetch('http://localhost:9/').catch(() => {})",
    }
    with open_context(chromium) as context:
        log_in(context, quiet_server, "ben")
        trap, page = Trap(context, quiet_server.address), context.new_page()
        page.goto(f"{quiet_server.address}/#/settings")
        for directive, attempt in tries.items():
            page.evaluate(f"() => {{ try {{ {attempt} }} catch {{ }} }}")
            until_so(page, partial(trap.has_caught, f"policy: {directive}"), f"tell of {directive}")
        assert "a payload ran" not in trap.caught


# The page's files in a real browser: fetched once, small, and never markup made of text.


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


def test_the_files_come_compressed_and_at_once_and_the_second_time_not_at_all(
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
        # All are asked for by the page itself, before the first of them could have been read.
        read = first["app/main.js"]["responseEnd"]
        assert [name for name in PAGE.first_modules if first[name]["startTime"] > read] == []
        page.goto("about:blank")
        visitor.open()
        page.wait_for_load_state("networkidle")
        again = files(page)
        assert set(PAGE.first_modules) <= set(again)
        assert [name for name, one in again.items() if one["transferSize"]] == []


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
