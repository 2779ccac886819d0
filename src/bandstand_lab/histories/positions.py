"""Positions in files, for error messages."""

from __future__ import annotations

from bandstand._util.csv_tables import listed, shown
from bandstand.errors import InvalidInputError

__all__ = ["listed", "printable", "refusal", "shown"]


def refusal(source: str, where: str | None, what: str) -> InvalidInputError:
    """Return an error that names the file, the line or entry if there is one, and what is wrong.

    >>> str(refusal("plays.csv", "line 3", "a time must not be negative, got '-1'"))
    "plays.csv line 3: a time must not be negative, got '-1'"
    """
    place = source if where is None else f"{source} {where}"
    return InvalidInputError(f"{place}: {what}")


def printable(name: str) -> str:
    r"""Return a name from a file as it can be printed: no line ends, no commands to a terminal.

    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\\n'
    """
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in name)
