"""One policy, as strict as there is, on every answer; and a cookie that no script can see.

Every operation of every route is asked by a stranger, a listener and an administrator, well and
badly, so that pages, files, answers and refusals of all kinds are among what comes back.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from bandstand.web.app import create_app
from bandstand.web.requests import middleware
from bandstand.web.routes.page import PAGE
from tests.fixtures.browser.script_trap import Trap
from tests.fixtures.browser.visit import log_in, until_so
from tests.fixtures.web.chromium import open_context
from tests.fixtures.web.requests import Client
from tests.fixtures.web.servers import PASSWORD
from tests.fixtures.web.walking import operations
from tests.fixtures.web.worlds import make_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

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
