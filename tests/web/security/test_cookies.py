"""Which cookies reach the app: ours, and no other server's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.requests import cookie_parser

from bandstand.web.requests import middleware
from bandstand.web.security.access import Access
from bandstand.web.security.browser_sessions import NAME, strip_foreign_cookies

if TYPE_CHECKING:
    from tests.fixtures.web.worlds import World

# Python before 3.11.10 and 3.12.6 needs the square of its length to read this (CVE-2024-7592).
SLOW = 'theme="' + "\\1" * 1_000 + '"'


def only(*cookies: bytes) -> list[bytes]:
    found = strip_foreign_cookies([(b"cookie", cookie) for cookie in cookies], Access())
    assert all(name == b"cookie" for name, _ in found)
    return [value for _, value in found]


@pytest.mark.parametrize(
    ("brought", "kept"),
    [
        (b"bandstand_session=abc", [b"bandstand_session=abc"]),
        (b"a=b;bandstand_session=abc;c", [b"bandstand_session=abc"]),
        (b"bandstand_session=abc; bandstand_session=def", [b"bandstand_session=def"]),
        (b"bandstand_session=abc; bandstand_session=", [b"bandstand_session=abc"]),
        (b"bandstand_session=" + b"a" * 64, [b"bandstand_session=" + b"a" * 64]),
        (b"bandstand_session=" + b"a" * 65, []),
        (b'bandstand_session="abc"', []),
        (b"bandstand_session=a\xffc", []),
        (b"Bandstand_Session=abc", []),
        (b"__Host-bandstand_session=abc", []),
        (b"theme=dark", []),
        (b";;;", []),
        (b"", []),
    ],
)
def test_only_our_own_token_is_kept(brought: bytes, kept: list[bytes]) -> None:
    assert only(brought) == kept


def test_other_headers_stay_as_they_are() -> None:
    headers = [(b"host", b"localhost"), (b"range", b"bytes=0-1"), (b"cookie", b"a=b")]
    assert strip_foreign_cookies(headers, Access()) == headers[:2]


def test_cookies_of_other_servers_are_not_even_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _what_is_read(world, monkeypatch) == [f"{NAME}=abc"]


def test_a_gate_that_lets_every_cookie_in_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "strip_foreign_cookies", lambda headers, _: headers)
    assert _what_is_read(world, monkeypatch) == [f"{SLOW}; {NAME}=abc"]


def _what_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the framework, which reads all cookies of every request, gets to read."""
    read = []

    def noting(cookie: str) -> dict[str, str]:
        read.append(cookie)
        return cookie_parser(cookie)

    monkeypatch.setattr("starlette.requests.cookie_parser", noting)
    stranger = world.stranger()
    stranger.ask("GET", "/health", headers={"cookie": f"{SLOW}; {NAME}=abc"})
    return read
