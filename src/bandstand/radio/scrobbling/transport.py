"""One guarded HTTP request to an address that a listener has given.

A listener must not reach through the server what the server alone can reach. So an address is
`https`, and its host has public addresses only: they are looked up once, all of them are checked,
and one of those that were checked is connected to. Hosts that the operator names in
`scrobble_hosts` may be private, and may speak `http`.

No redirect is followed and no proxy is asked. A request takes at most half a minute in all,
however slowly its answer comes, and of the answer only the beginning is read.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from email.message import Message

MAX_SECONDS: Final = 30.0
_STEP_SECONDS: Final = 10.0  # to connect, or until the next bytes come
_MAX_PLACES: Final = 3  # of a host with many addresses
_MAX_ANSWER_BYTES: Final = 65_536
# Through these, and through 6to4 and Teredo, IPv6 reaches an IPv4 address.
_TRANSLATED: Final = [
    ipaddress.IPv6Network(it) for it in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
]


class UnreachableError(BandstandError):
    """No answer came; the message says why, without anything secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be sent; `repr` shows neither headers nor body, which may hold a token."""

    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Message
    body: bytes


def checked_address(text: str, hosts: Collection[str]) -> str:
    """Return an address to which plays may be sent, without a slash or `/1` at its end.

    >>> checked_address("https://api.listenbrainz.org/1/", ())
    'https://api.listenbrainz.org'
    """
    expected = "an address must be like https://api.listenbrainz.org"
    plain = text.strip().rstrip("/").removesuffix("/1")
    try:
        parts = urlsplit(plain)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInputError(expected) from None
    extra = (parts.query, parts.fragment, parts.username, parts.password, port == 0)
    is_ascii = all("!" <= letter <= "~" for letter in plain)
    if not host or parts.scheme not in {"http", "https"} or any(extra) or not is_ascii:
        raise InvalidInputError(expected)
    if parts.scheme == "http" and host not in hosts:
        msg = "an address must begin with https:// unless its host is one of scrobble_hosts"
        raise InvalidInputError(msg)
    return plain


def send(request: Request, hosts: Collection[str]) -> Answer:
    """Return the answer to a POST; UnreachableError if there is none.

    `hosts` are those that may be private and without TLS.
    """
    try:
        return _exchanged(request, hosts)
    except InvalidInputError as problem:
        raise UnreachableError(str(problem)) from None
    except ssl.SSLCertVerificationError as problem:
        msg = f"its certificate is not trusted: {problem.verify_message}"
        raise UnreachableError(msg) from None
    except (OSError, http.client.HTTPException, ValueError) as problem:
        # Never the text of an error: it may quote what was sent.
        reason = getattr(problem, "strerror", None) or type(problem).__name__
        msg = f"it cannot be reached: {reason}"
        raise UnreachableError(msg) from None


def is_public(address: str) -> bool:
    """Return whether an address is one of the internet, and of no private network.

    >>> [is_public(it) for it in ("1.1.1.1", "10.0.0.1", "::ffff:127.0.0.1", "169.254.169.254")]
    [True, False, False, False]
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if any(found in network for network in _TRANSLATED):
            return False
        found = found.ipv4_mapped or found
    return found.is_global and not found.is_multicast


def _exchanged(request: Request, hosts: Collection[str]) -> Answer:
    parts = urlsplit(checked_address(request.url, hosts))
    host, is_safe = parts.hostname or "", parts.scheme == "https"
    kind = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
    with closing(kind(host, parts.port)) as made:
        sock = _connected(host, made.port, hosts)
        if is_safe:
            context = ssl.create_default_context()
            sock = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        made.sock = sock  # so that `made` looks nothing up by itself
        cut_off = threading.Timer(MAX_SECONDS, _cut_off, [sock])
        cut_off.start()
        try:
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            made.request("POST", parts.path, request.body, request.headers)
            answer = made.getresponse()
            body = answer.read(_MAX_ANSWER_BYTES)
        finally:
            cut_off.cancel()
    return Answer(status=answer.status, headers=answer.headers, body=body)


def _connected(host: str, port: int, hosts: Collection[str]) -> socket.socket:
    """Return a socket that is connected to a host, unless that is in a private network."""
    places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if host not in hosts and not all(is_public(str(place[4][0])) for place in places):
        msg = "its host is in a private network, and none of scrobble_hosts"
        raise InvalidInputError(msg)
    problem = OSError()
    for family, kind, protocol, _, address in places[:_MAX_PLACES]:
        sock = socket.socket(family, kind, protocol)
        sock.settimeout(_STEP_SECONDS)
        try:
            sock.connect(address)
        except OSError as failed:
            sock.close()
            problem = failed
        else:
            return sock
    raise problem


def _cut_off(sock: Any) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
