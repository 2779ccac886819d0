"""One policy, as strict as there is, on every answer.

Every operation of every route is asked by a stranger, a listener and an administrator, well and
badly, so that pages, files, answers and refusals of all kinds are among what comes back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from bandstand.web.app import create_app
from bandstand.web.requests import middleware
from bandstand.web.routes.page import PAGE
from tests.fixtures.web.requests import Client
from tests.fixtures.web.walking import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fixtures.web.requests import Answer
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


def test_every_answer_has_the_strict_policy(shared_world: World) -> None:
    statuses = set()
    for asked, answer in everything_asked(shared_world):
        statuses.add(answer.status)
        assert faults(answer.header("content-security-policy")) == [], asked
        for name, value in OTHERS.items():
            assert answer.header(name) == value, (asked, name)
        assert answer.header("x-request-id"), asked
        for name in ("access-control-allow-origin", "server"):
            assert answer.header(name) is None, asked
        if " /api/" in asked:
            assert answer.header("cache-control") == "no-store", asked
    assert statuses >= {200, 400, 401, 403, 404, 405, 414, 415, 422}


@pytest.mark.parametrize(
    "word", ["'unsafe-inline'", "'unsafe-eval'", "data:", "blob:", "*", "https:", "'nonce-x'"]
)
def test_an_exception_is_found_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """The twin: one more word in the policy, and the same walk finds it on the first answer."""
    policy = middleware.SECURITY_HEADERS["Content-Security-Policy"]
    relaxed = policy.replace("script-src 'self'", f"script-src 'self' {word}")
    monkeypatch.setitem(middleware.SECURITY_HEADERS, "Content-Security-Policy", relaxed)
    answer = Client(create_app(shared_world.context), shared_world.runner).ask("GET", "/")
    assert faults(answer.header("content-security-policy")) == [f"script-src {word}"]


def test_a_missing_word_is_found_out() -> None:
    policy = middleware.SECURITY_HEADERS["Content-Security-Policy"]
    for name in ("base-uri", "form-action", "frame-ancestors", "object-src"):
        assert faults(re.sub(rf"{name} '\w+'(; )?", "", policy)) == [name]
