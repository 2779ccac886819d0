"""Counts, sizes and lengths of time in words."""

from typing import Final

_NUMBERS: Final = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
# Minutes in each unit, and the minutes from which on it is used.
_UNITS: Final = (
    ("year", 525_960.0, 700_000.0),
    ("month", 43_830.0, 80_000.0),
    ("week", 10_080.0, 19_000.0),
    ("day", 1_440.0, 2_100.0),
    ("hour", 60.0, 89.5),
    ("minute", 1.0, 0.0),
)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "file"), counted(2_000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counted_in_words(count: int, noun: str) -> str:
    """Return a count with its noun, small numbers as words.

    >>> [counted_in_words(count, "song") for count in (0, 1, 12, 1_300)]
    ['no songs', 'one song', 'twelve songs', '1,300 songs']
    """
    number = _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"
    return f"{number} {noun}{'' if count == 1 else 's'}"


def figures(*values: float) -> list[str]:
    """Return numbers that belong together, with about three digits of the largest.

    >>> figures(1234.5, 61.7), figures(31.42, -3.14), figures(0.1234)
    (['1,234', '62'], ['31.4', '-3.1'], ['0.123'])
    """
    largest = max(map(abs, values))
    digits = 0 if largest >= 100 else 1 if largest >= 10 else 2 if largest >= 1 else 3
    return [f"{value:,.{digits}f}" for value in values]


def figure(value: float) -> str:
    """Return a number with about three digits."""
    return figures(value)[0]


def rough_duration(minutes: float) -> str:
    """Return about how long that is, in whole minutes, hours, days, weeks, months or years.

    >>> [rough_duration(minutes) for minutes in (0.2, 61, 90, 2_880, 30_000)]
    ['one minute', '61 minutes', 'two hours', 'two days', 'three weeks']
    """
    for name, length, least in _UNITS:
        if minutes >= least:
            return counted_in_words(max(round(minutes / length), 1), name)
    return counted_in_words(1, "minute")


def ago(minutes: float) -> str:
    """Return how long ago something was.

    >>> ago(0.3), ago(4_320)
    ('a moment ago', 'three days ago')
    """
    return "a moment ago" if minutes < 1 else f"{rough_duration(minutes)} ago"


def duration(minutes: float) -> str:
    """Return a length of time in its two largest units.

    >>> [duration(minutes) for minutes in (0, 0.5, 59.7, 200, 3_000)]
    ['0 s', '30 s', '1 h 0 min', '3 h 20 min', '2 days 2 h']
    """
    seconds, whole_minutes, whole_hours = (round(minutes * per) for per in (60, 1, 1 / 60))
    if seconds < 60:
        return f"{seconds} s"
    if whole_minutes < 60:
        return f"{whole_minutes} min"
    if whole_minutes < 1_440:
        return f"{whole_minutes // 60} h {whole_minutes % 60} min"
    days, hours = divmod(whole_hours, 24)
    return f"{counted(days, 'day')} {hours} h"


def megabytes(size: int) -> str:
    """Return a size in megabytes.

    >>> megabytes(1 << 30), megabytes(1 << 19)
    ('1024 MB', '0.5 MB')
    """
    return f"{size / (1 << 20):g} MB"


def printable(text: str) -> str:
    r"""Return text as one line that can be printed: no line ends, no commands to a terminal.

    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\\n'
    """
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
