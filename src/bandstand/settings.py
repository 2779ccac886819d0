"""Settings of a server: from a file, the environment and options of the command line.

    config.toml  <  environment, BANDSTAND_*  <  options

What stands further right wins. A setting that does not exist, or whose value cannot be used, is
refused with one sentence that names where it was set.
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol
from urllib.parse import urlsplit

from bandstand._util.toml_files import read_toml
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PREFIX: Final = "BANDSTAND_"
CONFIG_VARIABLE: Final = "BANDSTAND_CONFIG"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")

# Variables that are no settings: the place of the file, and reference data of the tests.
_OTHER_VARIABLES: Final = frozenset({CONFIG_VARIABLE, "BANDSTAND_SHARED_DATA"})
_MAX_SHOWN: Final = 60  # characters of a value
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")
_HOST: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_MAX_HOST: Final = 253
_SWITCH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
# Names that no public registry assigns.
_HOME_NAMES: Final = ("localhost", "local", "lan", "home", "internal", "home.arpa", "test")


class Check(Protocol):
    """Checks the value of a setting.

    A refusal is the end of a sentence: "a whole number from 0 to 65535, got 'x'".
    """

    def __call__(self, value: Any, /, *, text: bool) -> Any:
        """Return the value as the setting keeps it; `text` if it is from the environment."""
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
    """Return a switch: true or false."""
    chosen = _SWITCH.get(value.strip().lower()) if text else value
    if not isinstance(chosen, bool):
        _refuse("true or false", value)
    return chosen


def store_place(value: Any, /, *, text: bool) -> str:  # noqa: ARG001
    """Return the address of a store; opening the store checks more."""
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
        _refuse("addresses of proxies, not of all machines", text)
    return str(network)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_host(text: str) -> bool:
    return len(text) <= _MAX_HOST and _HOST.fullmatch(text) is not None


def _refuse(expected: str, value: Any) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 3]}..."
    msg = f"{expected}, got {shown}"
    raise InvalidInputError(msg)


def _setting(default: Any, check: Check, says: str) -> Any:
    return field(default=default, metadata={"check": check, "help": says})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything about a server that its owner can choose."""

    store: str | None = _setting(
        None, store_place, "SQLite file or postgresql:// address; SQLite in your data folder"
    )
    folders: tuple[str, ...] = _setting((), folders, "folders of music")
    listen: str = _setting("127.0.0.1", listening_address, "address to listen on")
    port: int = _setting(8260, whole(0, 65_535), "port to listen on; 0 takes one that is free")
    hosts: tuple[str, ...] = _setting(
        (), host_names, "names by which browsers may call this server, beside those it knows"
    )
    public_url: str | None = _setting(
        None, web_address, "the address outside, where a proxy answers for this server"
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (), addresses, "addresses or networks of proxies that may state the client's address"
    )
    scrobble_hosts: tuple[str, ...] = _setting(
        (), host_names, "hosts of your own network to which listeners may send their plays"
    )
    rescan_minutes: int = _setting(
        60, whole(0, 525_600), "minutes from one scan of the folders to the next; 0 is never"
    )
    workers: int = _setting(
        0, whole(0, 1_024), "processes that analyse music; 0 is one for each core"
    )
    listener_cache_mb: int = _setting(
        256, whole(1, 2**40), "megabytes for what is known of the listeners who are here"
    )
    conversion_cache_mb: int = _setting(
        2_048, whole(0, 2**40), "megabytes of songs converted for browsers that are kept"
    )
    cover_cache_mb: int = _setting(256, whole(0, 2**40), "megabytes of small covers that are kept")
    session_days: int = _setting(30, whole(1, 3_650), "days until a login ends")
    max_body_kb: int = _setting(64, whole(1, 65_536), "kilobytes that a request may carry")
    max_connections: int = _setting(
        1_000, whole(10, 1_000_000), "connections at once; more are refused with status 503"
    )
    access_log: bool = _setting(True, switch, "whether every request is logged")  # noqa: FBT003
    log_level: str = _setting("info", choice(LOG_LEVELS), "least important messages that are shown")


def setting_fields() -> dict[str, Field[Any]]:
    """Return all settings by name, each with its default and, in its metadata, its help."""
    return {it.name: it for it in fields(Settings)}


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("rescan_minutes")
    'BANDSTAND_RESCAN_MINUTES'
    """
    return PREFIX + name.upper()


def load_settings(
    *,
    options: Mapping[str, Any],
    environment: Mapping[str, str],
    config: str | None = None,
) -> Settings:
    """Return the settings from a file, the environment and options, of which the last wins.

    An option that is None, or an empty list, was not given. The file is `config`, or what
    BANDSTAND_CONFIG names, or config.toml in the user's configuration folder if there is one.

    >>> load_settings(options={"port": 8000}, environment={"BANDSTAND_PORT": "9000"}).port
    8000
    """
    found = _from_file(config, environment)
    found |= _from_environment(environment)
    found |= {
        name: _checked(name, value, source=_option(name), text=False)
        for name, value in options.items()
        if value is not None and value != ()
    }
    return Settings(**found)


def user_config_file(environment: Mapping[str, str]) -> Path | None:
    """Return where the user's own config.toml would be; None where the user has no home."""
    # The standard says that a relative path there counts for nothing.
    chosen = environment.get("XDG_CONFIG_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "bandstand" / "config.toml"
    home = Path(environment.get("HOME", ""))
    return home / ".config" / "bandstand" / "config.toml" if home.is_absolute() else None


def _from_file(config: str | None, environment: Mapping[str, str]) -> dict[str, Any]:
    named = config or environment.get(CONFIG_VARIABLE) or None
    path = Path(named) if named is not None else user_config_file(environment)
    if path is None or (named is None and not path.exists()):
        return {}
    content = read_toml(path, "the configuration")
    home = Path(os.path.abspath(path)).parent  # links stay as they are
    return {
        name: _checked(name, _placed(name, value, home), source=str(path), text=False)
        for name, value in content.items()
    }


def _placed(name: str, value: Any, home: Path) -> Any:
    """Return a value from a file, its paths seen from the folder that the file is in."""
    match name, value:
        case "folders", list():
            return [_path(it, home) if isinstance(it, str) else it for it in value]
        case "store", str() if "://" not in value:
            return _path(value, home)
    return value


def _path(text: str, home: Path) -> str:
    return str(home / Path(text).expanduser()) if text else text


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for key, value in sorted(environment.items()):
        if not key.startswith(PREFIX) or key in _OTHER_VARIABLES or not value:
            continue
        name = key.removeprefix(PREFIX).lower()
        found[name] = _checked(name, value, source=key, text=True)
    return found


def _checked(name: str, value: Any, *, source: str, text: bool) -> Any:
    """Return a value as the setting has it; `text` where numbers and lists are written as text."""
    known = setting_fields()
    if name not in known:
        near = _nearest(name, known)
        meant = f"; did you mean {near}?" if near else f" of {', '.join(known)}"
        msg = f"{source}: there is no setting {name[:60]!r}{meant}"
        raise InvalidInputError(msg)
    check: Callable[..., Any] = known[name].metadata["check"]
    try:
        return check(value, text=text)
    except InvalidInputError as problem:
        # An option and a variable are named like their setting; a file has many of them.
        is_named = source.startswith(("--", PREFIX))
        msg = f"{source} must be {problem}" if is_named else f"{source}: {name} must be {problem}"
        raise InvalidInputError(msg) from problem


def _option(name: str) -> str:
    """Return the option of a setting; one that may be given several times names one thing.

    >>> _option("trusted_proxies"), _option("rescan_minutes")
    ('--trusted-proxy', '--rescan-minutes')
    """
    single = {"hosts": "host", "trusted_proxies": "trusted_proxy"}.get(name, name)
    return f"--{single.replace('_', '-')}"


def _nearest(name: str, known: Mapping[str, object]) -> str | None:
    from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped name

    return next(iter(get_close_matches(name, known, n=1)), None)
