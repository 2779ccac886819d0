"""What every entry of an export must be like: its names, and the kinds of its values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bandstand.errors import InvalidInputError
from bandstand.store.values import checked_integer, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


def check_names(
    entry: Mapping[str, Any], names: Collection[str], *, may_lack: Collection[str] = ()
) -> None:
    """Refuse an entry that has another name than these, or lacks one that it must have."""
    given = entry.keys() - {"type"}
    if unknown := given - set(names):
        msg = (
            f"an entry must have no other names than {', '.join(names)}, got {shown(min(unknown))}"
        )
        raise InvalidInputError(msg)
    lacking = [name for name in names if name not in may_lack and entry.get(name) is None]
    if lacking:
        msg = f"{lacking[0]} must be given, got none"
        raise InvalidInputError(msg)


def integers(entry: Mapping[str, Any], names: Sequence[str]) -> dict[str, int | None]:
    """Return the integers that an entry has under these names; None where it has none."""
    return {
        name: None if entry.get(name) is None else checked_integer(entry[name], name)
        for name in names
    }


def an_object(value: Any, name: str) -> dict[str, Any]:
    """Return `value`, a JSON object."""
    if not isinstance(value, dict):
        msg = f"{name} must be a JSON object, got {shown(value)}"
        raise InvalidInputError(msg)
    return value


def objects(value: Any, name: str) -> list[dict[str, Any]]:
    """Return `value`, a list of JSON objects."""
    if not isinstance(value, list):
        msg = f"{name} must be a list, got {shown(value)}"
        raise InvalidInputError(msg)
    return [an_object(one, name) for one in value]


def a_truth(value: Any, name: str) -> bool:
    """Return `value`, true or false."""
    if type(value) is not bool:
        msg = f"{name} must be true or false, got {shown(value)}"
        raise InvalidInputError(msg)
    return value


def one_of(allowed: Collection[str]) -> Callable[[Any, str], str]:
    """Return a check that a value is one of those allowed."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, got {shown(value)}"
            raise InvalidInputError(msg)
        return value

    return check


def at_least(least: int) -> Callable[[Any, str], int]:
    """Return a check that a value is an integer not below `least`."""
    return lambda value, name: checked_integer(value, name, least=least)
