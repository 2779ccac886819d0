"""Settings from a file, the environment and options of the command line.

    config.toml  <  environment, BANDSTAND_*  <  options

What stands further right wins. A setting that does not exist, or whose value cannot be used, is
refused with one sentence that names where it was set.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand._util.toml_files import read_toml
from bandstand.errors import InvalidInputError
from bandstand.settings.fields import PREFIX, Settings, setting_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CONFIG_VARIABLE: Final = "BANDSTAND_CONFIG"
# What begins like a setting and is none: where the file is, and reference data of the tests.
_NO_SETTINGS: Final = frozenset({CONFIG_VARIABLE, "BANDSTAND_SHARED_DATA"})


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
    home = Path(os.path.abspath(path)).parent  # noqa: PTH100  # links stay as they are
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
        if not key.startswith(PREFIX) or key in _NO_SETTINGS or not value:
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
    from difflib import get_close_matches  # noqa: PLC0415  # only for whoever mistypes

    return next(iter(get_close_matches(name, known, n=1)), None)
