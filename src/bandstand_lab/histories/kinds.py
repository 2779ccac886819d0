"""What the readers of JSON exports have in common: a kind of entry, and fields that are checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bandstand_lab.histories.era import seconds_of_iso
from bandstand_lab.histories.places import refusal, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand_lab.histories.entries import Entry
    from bandstand_lab.histories.era import Era
    from bandstand_lab.histories.gathering import Page


class _Take(Protocol):
    def __call__(self, page: Page, entry: Entry, era: Era, /) -> None: ...


class Kind(NamedTuple):
    """A kind of export."""

    name: str
    fits: Callable[[dict[str, Any]], bool]  # whether an entry is of this kind
    take: _Take  # adds its play to the page, or notes why it is left out


def name_in(page: Page, entry: Entry, key: str, value: object) -> str:
    """Return a name, which may be absent: then it is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusal(page.name, entry.where, f"{key} must be text, got {shown(value)}")
    return value


def moment_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return a moment that is written in ISO-8601, as seconds since 1970."""
    try:
        if isinstance(value, str):
            return seconds_of_iso(value)
    except (ValueError, OverflowError):
        pass
    raise refusal(page.name, entry.where, f"{key} must be a time in ISO-8601, got {shown(value)}")


def number_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return a number that is not negative; NaN where there is none."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        what = f"{key} must be a number, not negative, got {shown(value)}"
        raise refusal(page.name, entry.where, what)
    return float(value)


def whole_seconds_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return epoch seconds, which may be written as text."""
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if number is None:
        raise refusal(page.name, entry.where, f"{key} must be epoch seconds, got none")
    return number_in(page, entry, key, number)


def truth_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return 1 for true, 0 for false, NaN where nothing is said."""
    if value is None:
        return math.nan
    if not isinstance(value, bool):
        raise refusal(page.name, entry.where, f"{key} must be true or false, got {shown(value)}")
    return float(value)
