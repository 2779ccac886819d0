"""Places in files, for messages that say where something is wrong."""

from __future__ import annotations

from typing import Final

from bandstand.errors import InvalidInputError

# Longer values are cut when they are shown.
_SHOWN: Final = 60


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


def shown(value: object) -> str:
    """Return a value as it is shown in a message; a long one is cut.

    >>> shown("a" * 80) == repr("a" * 57 + "...")
    True
    """
    text = value if isinstance(value, str) else repr(value)
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
    return repr(cut) if isinstance(value, str) else cut


def listed(names: list[str]) -> str:
    """Return the first few names, as they are shown in a message.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    return ", ".join(map(shown, names[:8])) + (" …" if len(names) > 8 else "")
