"""A listener's settings: the dial, the algorithm, whether the radio may learn.

Only what a listener has changed is stored, so a better default reaches all others.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import Connection

from bandstand.core.registry import ALGORITHMS, WITH_NAMES
from bandstand.errors import InvalidInputError
from bandstand.store import accounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """One listener's choices."""

    algorithm: str = WITH_NAMES
    dial: float = 0.0  # from -1, what is known to please, to 1, discover; 0 is the algorithm's own
    intercept: bool = True  # whether generosity with stars is learned beside the features
    private: bool = False  # nothing is learned, and no play is stored


_KINDS: Final = {"algorithm": str, "dial": float, "intercept": bool, "private": bool}


def settings_of(connection: Connection, account: str) -> ListenerSettings:
    """Return the settings that are stored; what is not named, or no longer fits, is default."""
    stored = accounts.settings(connection, account)
    fitting = {
        name: value for name, value in stored.items() if name in _KINDS and _fits(name, value)
    }
    return ListenerSettings(**fitting)


def checked_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of some settings by name, as they are stored."""
    for name, value in changes.items():
        if name not in _KINDS:
            msg = f"a setting must be one of {', '.join(_KINDS)}, got {name!r}"
            raise InvalidInputError(msg)
        if not _fits(name, value):
            msg = f"{name} must be {_expected(name)}, got {value!r}"
            raise InvalidInputError(msg)
    return {name: float(value) if name == "dial" else value for name, value in changes.items()}


def as_json(settings: ListenerSettings) -> dict[str, Any]:
    """Return the settings by name."""
    return asdict(settings)


def _fits(name: str, value: Any) -> bool:
    if name == "dial":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and -1 <= value <= 1
    if name == "algorithm":
        return isinstance(value, str) and value in ALGORITHMS
    return isinstance(value, _KINDS[name])


def _expected(name: str) -> str:
    match name:
        case "dial":
            return "a number from -1 to 1"
        case "algorithm":
            return f"one of {', '.join(ALGORITHMS)}"
        case _:
            return "true or false"
