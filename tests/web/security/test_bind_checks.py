from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.settings import Settings
from bandstand.store import accounts
from bandstand.store.database.connection import Store, open_store
from bandstand.web.security.access import (
    check_exposure,
    is_loopback,
    listening_socket,
    shown_address,
)
from tests.fixtures.web.servers import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


def test_this_computer_needs_no_account(store: Store) -> None:
    for address in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        check_exposure(Settings(listen=address), store)


@pytest.mark.parametrize("settings", [{"listen": "0.0.0.0"}, {"listen": "::"}, PUBLIC])  # noqa: S104
def test_whoever_is_reached_by_others_needs_an_account_with_a_password(
    store: Store, settings: dict[str, object]
) -> None:
    wanted = Settings(**settings)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=r"found none; .* `bandstand user add"):
        check_exposure(wanted, store)
    add(store)
    check_exposure(wanted, store)


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
    settings = Settings(public_url=f"http://{host}", trusted_proxies=("127.0.0.1",))
    check_exposure(settings, store)


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
