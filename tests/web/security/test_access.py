"""By which names the server is called, and whose word on an address is believed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.web.security.access import (
    Access,
    access_from,
    client_address,
    is_known_host,
    is_own_origin,
)

HOME = access_from(host_names=["music.lan"])
OUTSIDE = access_from(public_url="https://music.example", trusted_proxies=["10.0.0.0/8", "::1"])


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8260", "127.0.0.1:8260", "192.168.1.5", "[::1]:8260", "music.lan"],
)
def test_a_server_at_home_answers_to_addresses_and_its_names(host: str) -> None:
    assert is_known_host(HOME, host)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "localhost.",
        "localhost:",
        "localhost:99999",
        "localhost:8260:1",
        "user@localhost",
        "localhost/x",
        "localhost?x",
        "localhost#x",
        "localhost\\x",
        " localhost",
        "localhost,localhost",
        "0x7f.1",
        "2130706433",
        "[::1",
        "[evil]",
        "[localhost]",
        "",
        "\uff4c\uff4fcalhost",
        "x" * 300,
    ],
)
def test_it_answers_to_nothing_else(host: str) -> None:
    assert not is_known_host(HOME, host)


@given(st.text(max_size=40))
def test_any_host_is_known_or_not_and_never_an_error(host: str) -> None:
    assert is_known_host(HOME, host) in {True, False}
    assert is_own_origin(HOME, host, host) in {True, False}


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        ("http://localhost:8260", True),
        ("HTTP://localhost:8260", False),
        ("http://LOCALHOST:8260", True),
        ("http://localhost", False),
        ("https://localhost:8260", False),
        ("http://localhost:8261", False),
        ("http://evil.example", False),
        ("http://localhost:8260.evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
    ],
)
def test_at_home_a_page_is_ours_if_it_comes_from_where_it_asks(
    origin: str, *, is_ours: bool
) -> None:
    assert is_own_origin(HOME, origin, "localhost:8260") is is_ours


def test_the_default_port_may_be_left_out() -> None:
    assert is_own_origin(HOME, "http://music.lan", "music.lan:80")
    assert is_own_origin(HOME, "http://music.lan:80", "music.lan")


def test_under_tls_only_pages_under_tls_are_ours() -> None:
    assert is_own_origin(OUTSIDE, "https://music.example", "127.0.0.1:8260")
    assert is_own_origin(OUTSIDE, "https://music.example:443", "music.example")
    assert not is_own_origin(OUTSIDE, "http://music.example", "music.example")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["6.6.6.6"], "203.0.113.7"),  # no proxy of ours: hearsay
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["6.6.6.6, 203.0.113.7"], "203.0.113.7"),  # the left one it made up
        ("10.0.0.1", ["6.6.6.6", "203.0.113.7"], "203.0.113.7"),
        ("10.0.0.1", ["203.0.113.7, 10.0.0.2"], "203.0.113.7"),  # two proxies
        ("10.0.0.1", ["junk"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, "], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("::1", ["2001:db8::7"], "2001:db8::7"),
        (None, ["203.0.113.7"], "unknown"),
    ],
)
def test_the_client_is_the_last_address_that_somebody_trusted_saw(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    assert client_address(OUTSIDE, peer, forwarded) == client


@given(st.lists(st.ip_addresses().map(str), min_size=1, max_size=4))
def test_nobody_gets_another_address_by_saying_so(said: list[str]) -> None:
    assert client_address(Access(), "203.0.113.7", [", ".join(said)]) == "203.0.113.7"


@pytest.mark.parametrize(
    "wrong",
    [
        {"public_url": "music.example"},
        {"public_url": "ftp://music.example"},
        {"public_url": "https://music.example/radio"},
        {"host_names": ["music.lan:8260"]},
        {"host_names": ["a b"]},
        {"trusted_proxies": ["proxy"]},
    ],
)
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="must be"):
        access_from(**wrong)
