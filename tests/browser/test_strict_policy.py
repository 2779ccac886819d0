"""One policy, as strict as there is, on every answer; and a cookie that no script can see.

Every operation of every route is asked by a stranger, a listener and an administrator, well and
badly, so that pages, files, answers and refusals of all kinds are among what comes back.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import Error, expect

from bandstand.web.app import create_app
from bandstand.web.requests import middleware
from bandstand.web.routes.page import PAGE
from bandstand.web.security.browser_sessions import NAME
from tests.fixtures.browser.script_trap import Trap
from tests.fixtures.browser.visit import log_in, until_so, visit
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.requests import Client
from tests.fixtures.web.servers import PASSWORD
from tests.fixtures.web.walking import operations
from tests.fixtures.web.worlds import make_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.fixtures.web.requests import Answer
    from tests.fixtures.web.servers import Server
    from tests.fixtures.web.worlds import World

# What may be loaded at all: from the server itself, or not. No scheme, no host, no exception.
SOURCES: Final = frozenset({"'none'", "'self'"})
WORDS: Final = {"sandbox": set(), "require-trusted-types-for": {"'script'"}}
OTHERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
# Asked in these ways too: paths that nothing has, methods that nobody takes, names of others.
ODD: Final = (
    ("GET", "/nothing"),
    ("GET", "/static/0/nothing.js"),
    ("GET", "/static/0/../index.html"),
    ("GET", "/%3Cscript%3E"),
    ("GET", "/api/songs?limit=x"),
    ("GET", "/" + "x" * 9_000),
    ("POST", "/"),
    ("OPTIONS", "/api/events"),
    ("TRACE", "/api/session"),
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("world")) as made:
        yield made


def faults(policy: str | None) -> list[str]:
    """Return what is not strict in a content security policy.

    >>> faults("default-src 'none'; script-src 'self' 'unsafe-inline'; sandbox")
    ["script-src 'unsafe-inline'"]
    """
    if not policy:
        return ["none at all"]
    found = []
    directives = {name: words for name, *words in map(str.split, policy.split(";"))}
    for name, words in directives.items():
        found += [f"{name} {word}" for word in words if word not in WORDS.get(name, SOURCES)]
    if directives.get("default-src") != ["'none'"]:
        found.append("a default that lets something in")
    # A sandbox lets nothing be loaded, and what frames it sees nothing of it.
    wanted = {"base-uri", "form-action", "frame-ancestors", "object-src"}
    return found if "sandbox" in directives else found + sorted(wanted - set(directives))


def everything_asked(world: World) -> Iterator[tuple[str, Answer]]:
    """Yield what was asked, and the answer."""
    ids = {"song_id": world.songs[0], "version": PAGE.version}
    people = {"stranger": world.stranger(), "listener": world.listener("L"), "admin": world.admin()}
    for who, client in people.items():
        files = [("GET", f"/static/{PAGE.version}/{name}") for name in PAGE.files]
        known = [(one.method, one.target(ids)) for one in operations()]
        for method, target in [*known, *files, *ODD]:
            yield f"{who}: {method} {target[:60]}", client.ask(method, target)
            if method not in {"GET", "HEAD"}:
                yield f"{who}: {method} {target} {{}}", client.ask(method, target, json={})
        foreign = {"Origin": "http://evil.example"}
        yield f"{who}: foreign", client.ask("POST", "/api/events", json={}, headers=foreign)
        yield f"{who}: a name", client.ask("GET", "/", headers={"Host": "evil.example"})


def test_every_answer_has_the_strict_policy(world: World) -> None:
    statuses = set()
    for asked, answer in everything_asked(world):
        statuses.add(answer.status)
        assert faults(answer.header("content-security-policy")) == [], asked
        for name, value in OTHERS.items():
            assert answer.header(name) == value, (asked, name)
        assert answer.header("access-control-allow-origin") is None, asked
    assert statuses >= {200, 400, 401, 403, 404, 405, 414, 415, 422}


@pytest.mark.parametrize(
    "word", ["'unsafe-inline'", "'unsafe-eval'", "data:", "blob:", "*", "https:", "'nonce-x'"]
)
def test_an_exception_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """The twin: one more word in the policy, and the same walk finds it on the first answer."""
    policy = middleware.SECURITY_HEADERS["Content-Security-Policy"]
    relaxed = policy.replace("script-src 'self'", f"script-src 'self' {word}")
    monkeypatch.setitem(middleware.SECURITY_HEADERS, "Content-Security-Policy", relaxed)
    answer = Client(create_app(world.context), world.runner).ask("GET", "/")
    assert faults(answer.header("content-security-policy")) == [f"script-src {word}"]


@pytest.mark.parametrize("name", ["base-uri", "form-action", "frame-ancestors", "object-src"])
def test_a_missing_word_is_found_out(name: str) -> None:
    policy = middleware.SECURITY_HEADERS["Content-Security-Policy"]
    assert faults(re.sub(rf"{name} '\w+'(; )?", "", policy)) == [name]


def test_files_of_the_page_need_no_exception() -> None:
    """Nothing is written in a way that the policy would have to allow."""
    for name, file in PAGE.files.items():
        text = file.plain.decode(errors="replace")
        assert not re.search(r"\bstyle=|\son\w+=\"|javascript:", text) or name.endswith(".js"), name
        assert not re.search(r"url\((?!#)|@import", text) or not name.endswith(".css"), name
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", PAGE.template)


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
