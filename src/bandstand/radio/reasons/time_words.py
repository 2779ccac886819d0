"""Lengths of time as people say them."""

from __future__ import annotations

from typing import Final

_NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
# How long each is in minutes, and from how many minutes on it is spoken of.
_UNITS: Final = (
    ("year", 525_960.0, 700_000.0),
    ("month", 43_830.0, 80_000.0),
    ("week", 10_080.0, 19_000.0),
    ("day", 1_440.0, 2_100.0),
    ("hour", 60.0, 89.5),
    ("minute", 1.0, 0.0),
)


def length_text(minutes: float) -> str:
    """Return about how long that is, in whole minutes, hours, days, weeks, months or years.

    >>> length_text(0.2), length_text(61), length_text(90), length_text(2_880), length_text(30_000)
    ('one minute', '61 minutes', 'two hours', 'two days', 'three weeks')
    """
    for name, length, least in _UNITS:
        if minutes >= least:
            return counted(max(round(minutes / length), 1), name)
    return counted(1, "minute")


def ago_text(minutes: float) -> str:
    """Return how long ago something was.

    >>> ago_text(0.3), ago_text(4_320)
    ('a moment ago', 'three days ago')
    """
    return "a moment ago" if minutes < 1 else f"{length_text(minutes)} ago"


def counted(count: int, noun: str) -> str:
    """Return a number of things, small numbers as words.

    >>> counted(0, "song"), counted(1, "day"), counted(12, "day"), counted(1_300, "song")
    ('no songs', 'one day', 'twelve days', '1,300 songs')
    """
    number = _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"
