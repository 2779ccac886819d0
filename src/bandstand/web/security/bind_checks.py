"""Where a server listens, who can reach it there, and what that asks of its settings.

this computer only   nothing: the account is made when it is first opened
a network at home    an account with a password, before it starts
the internet         the same, and a proxy that speaks TLS: `public_url`, `trusted_proxies`
"""

from __future__ import annotations

import errno
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.settings import is_at_home
from bandstand.store import accounts

if TYPE_CHECKING:
    from bandstand.settings import Settings
    from bandstand.store.database.connection import Store

BACKLOG: Final = 1_024  # connections that wait to be accepted

_NO_ACCOUNT: Final = (
    "an account with a password must exist before the server {how}, found none; "
    "make one with `bandstand user add NAME --admin`"
)


def check_exposure(settings: Settings, store: Store) -> None:
    """Refuse what would lay a server open to strangers."""
    check_public_url(settings)
    how = None
    if settings.public_url is not None:
        how = f"is reached at {settings.public_url}"
    elif not is_loopback(settings.listen):
        how = f"listens on {settings.listen}"
    if how is not None and not _has_login(store):
        raise InvalidInputError(_NO_ACCOUNT.format(how=how))


def check_public_url(settings: Settings) -> None:
    """Refuse an address in the internet without TLS, or without a word on who the proxy is."""
    if settings.public_url is None:
        return
    parts = urlsplit(settings.public_url)
    if parts.scheme != "https" and not is_at_home(parts.hostname or ""):
        msg = (
            "public_url must begin with https:// for a host in the internet, or passwords and "
            f"sessions could be read on the way, got {settings.public_url}"
        )
        raise InvalidInputError(msg)
    if not settings.trusted_proxies:
        msg = (
            "trusted_proxies must name the proxy that answers at public_url, or every client "
            "would look like the proxy and be slowed down for another's wrong passwords, got none"
        )
        raise InvalidInputError(msg)


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach an address of its own.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        found = _looked_up(host, 0)
        return all(ip_address(str(place[4][0])).is_loopback for place in found)


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; what cannot be had is said in one sentence."""
    family, kind, protocol, _, address = _looked_up(host, port)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        # A server that was just killed leaves connections behind, which are no reason to wait.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        raise _explained(problem, host, port) from problem
    return listening


def shown_address(listening: socket.socket) -> str:
    """Return the address to type into a browser on this computer."""
    host, port = listening.getsockname()[:2]
    address = ip_address(host.partition("%")[0])
    if address.is_unspecified:
        return f"http://{socket.gethostname()}:{port}/"
    return f"http://[{host}]:{port}/" if address.version == 6 else f"http://{host}:{port}/"


def _looked_up(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as problem:
        msg = f"listen must be an address of this machine, got {host}, which stands for none"
        raise InvalidInputError(msg) from problem


def _explained(problem: OSError, host: str, port: int) -> BandstandError:
    match problem.errno:
        case errno.EADDRINUSE:
            return BandstandError(
                f"port {port} must be free, but another program listens there on {host}; "
                "choose another with --port"
            )
        case errno.EADDRNOTAVAIL | errno.EAFNOSUPPORT:
            return InvalidInputError(
                f"listen must be an address of this machine, got {host}, which is not"
            )
        case errno.EACCES | errno.EPERM:
            return BandstandError(
                f"port {port} must be one that this user may listen on, and is not; "
                "choose one above 1023 with --port"
            )
        case _:
            return BandstandError(f"cannot listen on {host} port {port}: {problem.strerror}")


def _has_login(store: Store) -> bool:
    with store.reading() as connection:
        known = accounts.all_accounts(connection)
    return any(account.has_password and not account.disabled for account in known)
