"""By which names the server is called, and whose word on an address is believed."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.settings import Settings
from bandstand.store import accounts
from bandstand.store.database.connection import Store, open_store
from bandstand.web.security.access import (
    Access,
    access_from,
    check_exposure,
    client_address,
    is_known_host,
    is_loopback,
    is_own_origin,
    listening_socket,
    shown_address,
)
from tests.fixtures.web.servers import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.", "localhost:",
     "localhost:99999", "localhost:8260:1", "user@localhost", "localhost/x", "localhost?x",
     "localhost#x", "localhost\\x", " localhost", "localhost,localhost", "0x7f.1", "2130706433",
     "[::1", "[evil]", "[localhost]", "", "\uff4c\uff4fcalhost", "x" * 300],
)  # fmt: skip
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


def test_default_ports_may_be_left_out_and_under_tls_only_pages_under_tls_are_ours() -> None:
    assert is_own_origin(HOME, "http://music.lan", "music.lan:80")
    assert is_own_origin(HOME, "http://music.lan:80", "music.lan")
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


PUBLIC = {"public_url": "https://music.example.org", "trusted_proxies": ("127.0.0.1",)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(str(tmp_path / "radio.db")) as opened:
        yield opened


def add(store: Store, *, password: bool = True, disabled: bool = False) -> None:
    with store.writing() as connection:
        account = accounts.create(
            connection,
            name="ann",
            role="listener",
            password_hash=HASH if password else None,
            now=1_000,
        )
        if disabled:
            accounts.set_disabled(connection, account.id, disabled=True)


# ── Who can reach it ─────────────────────────────────────────────────────────────────────


def is_refused(settings: Settings, store: Store) -> bool:
    try:
        check_exposure(settings, store)
    except InvalidInputError:
        return True
    return False


def test_this_computer_needs_no_account(store: Store) -> None:
    for address in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        assert not is_refused(Settings(listen=address), store), address


@pytest.mark.parametrize("settings", [{"listen": "0.0.0.0"}, {"listen": "::"}, PUBLIC])  # noqa: S104
def test_whoever_is_reached_by_others_needs_an_account_with_a_password(
    store: Store, settings: dict[str, object]
) -> None:
    wanted = Settings(**settings)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"found none; .* `bandstand user add"):
        check_exposure(wanted, store)
    add(store)
    assert not is_refused(wanted, store)


@pytest.mark.parametrize(("password", "disabled"), [(False, False), (True, True)])
def test_an_account_that_nobody_can_log_in_to_is_none(
    store: Store, *, password: bool, disabled: bool
) -> None:
    add(store, password=password, disabled=disabled)
    with pytest.raises(InvalidInputError, match="bandstand user add"):
        check_exposure(Settings(listen="0.0.0.0"), store)  # noqa: S104


def test_the_internet_needs_tls_and_a_proxy_that_is_known(store: Store) -> None:
    add(store)
    plain = Settings(public_url="http://music.example.org", trusted_proxies=("127.0.0.1",))
    with pytest.raises(InvalidInputError, match="must begin with https://"):
        check_exposure(plain, store)
    with pytest.raises(InvalidInputError, match="trusted_proxies must name the proxy"):
        check_exposure(Settings(public_url="https://music.example.org"), store)


@pytest.mark.parametrize("host", ["music.lan", "music", "192.168.1.5", "music.local", "[fd00::1]"])
def test_a_proxy_at_home_may_do_without_tls(store: Store, host: str) -> None:
    add(store)
    proxies = ("127.0.0.1",)
    assert not is_refused(Settings(public_url=f"http://{host}", trusted_proxies=proxies), store)


def test_a_name_is_of_this_computer_only_if_all_its_addresses_are() -> None:
    assert is_loopback("localhost")
    with pytest.raises(InvalidInputError, match="which stands for none"):
        is_loopback("nobody.invalid")


# ── Sockets ──────────────────────────────────────────────────────────────────────────────


def test_port_0_takes_one_that_is_free() -> None:
    with listening_socket("127.0.0.1", 0) as one, listening_socket("127.0.0.1", 0) as two:
        assert one.getsockname()[1] != two.getsockname()[1] > 0
        port = one.getsockname()[1]
        assert shown_address(one) == f"http://127.0.0.1:{port}/"
        with socket.create_connection(("127.0.0.1", port), timeout=30):
            pass


def test_a_port_in_use_is_one_sentence() -> None:
    with listening_socket("127.0.0.1", 0) as one:
        port = one.getsockname()[1]
        with pytest.raises(BandstandError, match=f"port {port} must be free") as refusal:
            listening_socket("127.0.0.1", port)
        assert not isinstance(refusal.value, InvalidInputError)


@pytest.mark.parametrize("host", ["192.0.2.1", "nobody.invalid"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidInputError, match=f"an address of this machine, got {host}"):
        listening_socket(host, 0)


def test_everywhere_is_shown_by_the_name_of_this_computer() -> None:
    with listening_socket("0.0.0.0", 0) as everywhere:  # noqa: S104
        assert shown_address(everywhere).startswith(f"http://{socket.gethostname()}:")
