"""What the value of a setting may be.

Each check takes a value, as TOML or an option gives it or as text from the environment, and
returns it as the setting keeps it. What it refuses is said as the end of a sentence: "a whole
number from 0 to 65535, got 'x'".
"""

from __future__ import annotations

import ipaddress
import os
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol
from urllib.parse import urlsplit

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

_SHOWN: Final = 60
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")
_HOST: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_LONGEST_HOST: Final = 253
_SWITCH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
# Names that no public registry gives away.
_HOME_NAMES: Final = ("localhost", "local", "lan", "home", "internal", "home.arpa", "test")


class Check(Protocol):
    """Something that knows what a setting's value may be."""

    def __call__(self, value: Any, /, *, text: bool) -> Any:
        """Return the value as it is kept, or refuse it."""
        ...


def whole(least: int, most: int) -> Check:
    """Return the check for a whole number within limits.

    >>> whole(0, 10)("7", text=True)
    7
    """

    def check(value: Any, /, *, text: bool) -> int:
        number = int(value) if text and _WHOLE.fullmatch(value) else value
        if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
            _refuse(f"a whole number from {least} to {most}", value)
        return number

    return check


def choice(names: Sequence[str]) -> Check:
    """Return the check for one of several words."""

    def check(value: Any, /, *, text: bool) -> str:  # noqa: ARG001
        if not isinstance(value, str) or value.lower() not in names:
            _refuse(f"one of {', '.join(names)}", value)
        return value.lower()

    return check


def switch(value: Any, /, *, text: bool) -> bool:
    """Return whether something is on."""
    chosen = _SWITCH.get(value.strip().lower()) if text else value
    if not isinstance(chosen, bool):
        _refuse("true or false", value)
    return chosen


def store_place(value: Any, /, *, text: bool) -> str:  # noqa: ARG001
    """Return the address of a store; whether it can be one is seen when it is opened."""
    if not isinstance(value, str) or not value or "\0" in value:
        # Not shown: it may hold a password.
        msg = "a path or an address, got something else"
        raise InvalidInputError(msg)
    return value


def folders(value: Any, /, *, text: bool) -> tuple[str, ...]:
    """Return folders; as text they are separated as in PATH."""
    names = _listed(value, separator=os.pathsep if text else None, what="a list of folders")
    for name in names:
        if "\0" in name:
            _refuse("a list of folders", name)
    return names


def listening_address(value: Any, /, *, text: bool) -> str:  # noqa: ARG001
    """Return an address of this machine, or a name that stands for one."""
    given = value.strip().lower() if isinstance(value, str) else ""
    plain = given.removeprefix("[").removesuffix("]")
    if not (_is_address(plain) or _is_host(plain)):
        _refuse("an address of this machine, such as 127.0.0.1, :: or 0.0.0.0", value)
    return plain


def host_names(value: Any, /, *, text: bool) -> tuple[str, ...]:
    """Return names of hosts, without ports; as text they are separated by commas."""
    names = _listed(value, separator="," if text else None, what="a list of host names")
    plain = tuple(name.lower().rstrip(".") for name in names)
    for name in plain:
        if not _is_host(name):
            _refuse("a list of host names, without ports", name)
    return plain


def addresses(value: Any, /, *, text: bool) -> tuple[str, ...]:
    """Return addresses or networks; as text they are separated by commas."""
    names = _listed(value, separator="," if text else None, what="a list of addresses")
    return tuple(_network(name) for name in names)


def web_address(value: Any, /, *, text: bool) -> str:  # noqa: ARG001
    """Return the address under which a proxy shows this server: scheme and host, no path."""
    expected = "an address such as https://music.example.org, without a path"
    if not isinstance(value, str):
        _refuse(expected, value)
    try:
        parts = urlsplit(value.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        _refuse(expected, value)
    rest = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    is_named = _is_host(host) or _is_address(host)
    if parts.scheme not in {"http", "https"} or not is_named or any(rest):
        _refuse(expected, value)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + ("" if port is None else f":{port}")


def is_at_home(host: str) -> bool:
    """Return whether a host's name or address can only be one of a private network.

    >>> is_at_home("music.lan"), is_at_home("192.168.1.5"), is_at_home("music.example.org")
    (True, True, False)
    """
    if _is_address(host):
        return ipaddress.ip_address(host).is_private
    return "." not in host or host.endswith(tuple(f".{name}" for name in _HOME_NAMES))


def _listed(value: Any, *, separator: str | None, what: str) -> tuple[str, ...]:
    items = value.split(separator) if separator else value
    is_list = isinstance(items, list | tuple) and all(isinstance(item, str) for item in items)
    names = tuple(item.strip() for item in items) if is_list else ()
    if not is_list or not all(names):
        _refuse(what, value)
    return names


def _network(text: str) -> str:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        _refuse("a list of addresses or networks, such as 10.0.0.2 or 172.16.0.0/12", text)
    if network.prefixlen == 0:
        _refuse("addresses of proxies, not of everybody", text)
    return str(network)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_host(text: str) -> bool:
    return len(text) <= _LONGEST_HOST and _HOST.fullmatch(text) is not None


def _refuse(expected: str, value: Any) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
    msg = f"{expected}, got {shown}"
    raise InvalidInputError(msg)
