"""Host names, trusted proxies, and the checks before a server listens.

DNS rebinding: a browser that was lured to `http://evil.example`, whose name then turns into
127.0.0.1, still says `Host: evil.example`. So only the server's own names are answered.

A client's address is the one of its connection. The header of a proxy is believed only when the
connection comes from a proxy that the settings name.

What a server demands of its settings depends on who can reach it:

this computer only   nothing: the account is made when it is first opened
a network at home    an account with a password, before it starts
the internet         the same, and a proxy that speaks TLS: `public_url`, `trusted_proxies`
"""

import errno
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final
from urllib.parse import urlsplit

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.settings import Settings, is_at_home
from bandstand.store import accounts
from bandstand.store.database.connection import Store

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_NAME_CHARS: Final = 260


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The names of the server, and the proxies before it."""

    public_url: str | None = None  # what listeners type, where a proxy stands before the server
    host_names: frozenset[str] = frozenset({"localhost"})
    trusted_proxies: tuple[Network, ...] = ()

    @property
    def is_https(self) -> bool:
        """Whether listeners come by TLS, so that cookies can demand it."""
        return self.public_url is not None and self.public_url.startswith("https://")


def access_from(
    *,
    public_url: str | None = None,
    host_names: Iterable[str] = (),
    trusted_proxies: Iterable[str] = (),
) -> Access:
    """Return the access that settings describe, always with this computer's own names.

    >>> access_from(public_url="https://music.example/").is_https
    True
    """
    names = {"localhost", *_own_names(), *map(_checked_name, host_names)}
    if public_url is not None:
        public_url = _checked_url(public_url)
        names.add(str(urlsplit(public_url).hostname))
    return Access(
        public_url=public_url,
        host_names=frozenset(names),
        trusted_proxies=tuple(_checked_network(proxy) for proxy in trusted_proxies),
    )


def is_known_host(access: Access, host: str) -> bool:
    """Return whether a Host header names this server: one of its names, or any plain address.

    >>> is_known_host(Access(), "192.168.1.5:8000"), is_known_host(Access(), "evil.example")
    (True, False)
    """
    parts = split_host(host)
    return parts is not None and (_is_literal(parts[0]) or parts[0] in access.host_names)


def is_own_origin(access: Access, origin: str, host: str) -> bool:
    """Return whether a page of this `origin` is one of ours, for a request to `host`.

    >>> is_own_origin(Access(), "http://localhost:8000", "localhost:8000")
    True
    >>> is_own_origin(Access(), "http://localhost:9000", "localhost:8000")
    False
    """
    scheme = "https" if access.is_https else "http"
    ours = {_origin(f"{scheme}://{host}")}
    if access.public_url is not None:
        ours.add(_origin(access.public_url))
    return origin != "null" and _origin(origin) in ours - {None}


def client_address(access: Access, peer: str | None, forwarded: Iterable[str]) -> str:
    """Return the address of a client: its connection's, or the one that trusted proxies name.

    `forwarded` are the X-Forwarded-For headers. Each proxy adds the address it saw at the right, so
    the rightmost address that is no trusted proxy is the client; anything left of it may be forged.

    >>> near = access_from(trusted_proxies=["10.0.0.0/8"])
    >>> client_address(near, "10.0.0.1", ["6.6.6.6, 203.0.113.7"])
    '203.0.113.7'
    >>> client_address(near, "203.0.113.7", ["6.6.6.6"])
    '203.0.113.7'
    """
    nearest = _address(peer or "")
    if nearest is None:
        return "unknown"
    hops = [hop.strip() for header in forwarded for hop in header.split(",")]
    while hops and any(nearest in network for network in access.trusted_proxies):
        further = _address(hops.pop())
        if further is None:
            break
        nearest = further
    return str(nearest)


def split_host(host: str) -> tuple[str, int | None] | None:
    """Return the name, in lower case, and the port of a Host header; None if it is none."""
    match = _HOST.fullmatch(host.lower()) if len(host) <= _MAX_NAME_CHARS else None
    if match is None or int(match[2] or 0) > 65535:
        return None
    return match[1], None if match[2] is None else int(match[2])


def _origin(url: str) -> tuple[str, str, int] | None:
    scheme, separator, rest = url.partition("://")
    parts = split_host(rest.rstrip("/"))
    if not separator or scheme not in _DEFAULT_PORTS or parts is None:
        return None
    name, port = parts
    return scheme, name, _DEFAULT_PORTS[scheme] if port is None else port


def _is_literal(name: str) -> bool:
    if name.startswith("["):
        return isinstance(_address(name[1:-1]), IPv6Address)
    return isinstance(_address(name), IPv4Address)


def _address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    # The same computer, whether it was met by IPv4 or by IPv6.
    return getattr(address, "ipv4_mapped", None) or address


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0], f"{name.partition('.')[0]}.local"} - {"", ".local"}


def _checked_name(name: str) -> str:
    if _address(name) is not None:  # answered anyway
        return name
    parts = split_host(name)
    if parts is None or parts[1] is not None:
        msg = f"a host name must be a name without a port, got {name!r}"
        raise InvalidInputError(msg)
    return parts[0]


def _checked_url(url: str) -> str:
    if _origin(url) is None:
        msg = f"the public address must be http:// or https:// and a host, no path, got {url!r}"
        raise InvalidInputError(msg)
    return url.rstrip("/")


def _checked_network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError as problem:
        msg = f"a trusted proxy must be an address or a network such as 10.0.0.0/8, got {text!r}"
        raise InvalidInputError(msg) from problem


BACKLOG: Final = 1_024  # connections that wait to be accepted

_NO_ACCOUNT: Final = (
    "an account with a password must exist before the server {how}, found none; "
    "make one with `bandstand user add NAME --admin`"
)


def check_exposure(settings: Settings, store: Store) -> None:
    """Refuse settings that would expose a server without a login."""
    check_public_url(settings)
    how = None
    if settings.public_url is not None:
        how = f"is reached at {settings.public_url}"
    elif not is_loopback(settings.listen):
        how = f"listens on {settings.listen}"
    if how is not None and not _has_login(store):
        raise InvalidInputError(_NO_ACCOUNT.format(how=how))


def check_public_url(settings: Settings) -> None:
    """Refuse an address in the internet without TLS or without a trusted proxy."""
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
    """Return a socket that listens; an error explains in one sentence why it cannot."""
    family, kind, protocol, _, address = _looked_up(host, port)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        # The connections of a server that was just killed are no reason to wait.
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
