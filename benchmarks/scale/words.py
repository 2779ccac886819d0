"""Bytes, times and tables as they are written on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.speed.asked import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_UNITS: Final = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def size(count: float) -> str:
    """Return a number of bytes as people say it.

    >>> size(364_000_000), size(290), size(1_234)
    ('364 MB', '290 B', '1.23 kB')
    """
    for name, unit in _UNITS:
        if abs(count) >= unit:
            return f"{number(count / unit)} {name}"
    return f"{count:.0f} B"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(0.0123), duration(2.5), duration(4e-8)
    ('12.3 ms', '2.50 s', '40.0 ns')
    """
    for name, unit in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= unit:
            return f"{number(seconds / unit)} {name}"
    return f"{number(seconds / 1e-9)} ns"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(
        f"|{'|'.join(line)}|" if line[0] == "---" else f"| {' | '.join(line)} |" for line in lines
    )


def milliseconds(seconds: Sequence[float]) -> str:
    """Return times in milliseconds, one beside the other.

    >>> milliseconds([0.01, 0.25])
    '10.0 / 250'
    """
    return " / ".join(number(1_000 * each) for each in seconds)
