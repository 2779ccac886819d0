"""Who is on the other end: by which names this server is called, and whose word is believed.

A browser that was lured to `http://evil.example`, whose name then turns into 127.0.0.1, still says
`Host: evil.example`. So only names that are known to be ours are answered (DNS rebinding).

A client's address is the one of its connection. What a proxy says about it is believed only when
the connection comes from a proxy that the settings name, or anybody could have any address.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_NAME: Final = 260


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """By which names the server may be called, and which proxies stand before it."""

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
    """Return the access that settings describe; this computer's own names are always among it.

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
    """Return the address of a client: its connection's, or what trusted proxies say of it.

    `forwarded` are the X-Forwarded-For headers. Each proxy adds at the right whom it saw, so the
    rightmost address that is no proxy of ours is the client; what stands left of it is hearsay.

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
    while _is_trusted(access, nearest) and hops:
        further = _address(hops.pop())
        if further is None:
            break
        nearest = further
    return str(nearest)


def split_host(host: str) -> tuple[str, int | None] | None:
    """Return the name, in lower case, and the port of a Host header; None if it is none."""
    match = _HOST.fullmatch(host.lower()) if len(host) <= _LONGEST_NAME else None
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


def _is_trusted(access: Access, address: Address) -> bool:
    return any(address in network for network in access.trusted_proxies)


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
