"""The entries of a JSON file one by one: a list of objects, or objects on lines of their own.

A file of any size is read in small pieces, and only the entry at hand is in memory.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand_lab.histories.places import refusal, shown

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from bandstand.errors import InvalidInputError

_PIECE: Final = 1 << 20  # bytes
# The largest answer of a service's interface is a few MB; an entry of a list, a few KB.
_LARGEST_ENTRY: Final = 1 << 24  # characters
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Entry(NamedTuple):
    """One object of a file, which one it is, and the line on which it begins."""

    number: int  # from 1
    line: int
    value: dict[str, Any]

    @property
    def where(self) -> str:
        """Return the place as it is told in a message."""
        return f"entry {self.number} (line {self.line})"


def entries(name: str, stream: io.BufferedReader) -> Iterator[Entry]:
    """Yield the objects of a file; those before a mistake come before the error about it."""
    text = _Text(name, stream)
    if text.next_letter() == "[":
        text.skip(1)
        yield from _listed(text)
        _check_end(text)
    else:
        number = 0
        while text.next_letter():
            number += 1
            yield _entry(text, number)


def _listed(text: _Text) -> Iterator[Entry]:
    """Yield the entries between the brackets of a list."""
    number = 0
    letter = text.next_letter()
    while letter != "]":
        number += 1
        yield _entry(text, number)
        letter = text.next_letter()
        if letter == ",":
            text.skip(1)
            if text.next_letter() == "]":
                raise refusal(
                    text.name, text.place(number + 1), "expected another entry, got the end"
                )
        elif letter != "]":
            what = shown(letter) if letter else "the end of the file"
            raise refusal(text.name, text.place(number), f"expected , or ] after it, got {what}")
    text.skip(1)


def _check_end(text: _Text) -> None:
    letter = text.next_letter()
    if letter:
        what = f"expected nothing after the end of the list, got {shown(letter)}"
        raise refusal(text.name, f"line {text.line}", what)


def _entry(text: _Text, number: int) -> Entry:
    line = text.line
    value = text.value(number)
    if not isinstance(value, dict):
        raise refusal(
            text.name, f"entry {number} (line {line})", f"expected an object, got {shown(value)}"
        )
    return Entry(number, line, value)


class _Text:
    """The text of a file, of which only the part around the place that is read is held."""

    def __init__(self, name: str, stream: io.BufferedReader) -> None:
        self.name = name
        self.line = 1
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._held = ""
        self._at = 0
        self._is_all = False
        self._decode = json.JSONDecoder(parse_constant=_no_number).raw_decode

    def place(self, number: int) -> str:
        """Return where an entry is, for a message."""
        return f"entry {number} (line {self.line})"

    def next_letter(self) -> str:
        """Pass over spaces and return what is next, without taking it; nothing at the end."""
        while True:
            self._pass_to(_after_space(self._held, self._at))
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def skip(self, letters: int) -> None:
        """Pass over what `next_letter` showed."""
        self._at += letters

    def value(self, number: int) -> Any:
        """Return the JSON value that begins here."""
        while True:
            try:
                value, end = self._decode(self._held, self._at)
            except json.JSONDecodeError as problem:
                after = problem.pos - self._at
                is_long = len(self._held) - self._at > _LARGEST_ENTRY
                # Perhaps only the rest of it has not been read.
                if is_long or problem.pos < len(self._held) - _TAIL or not self._more():
                    raise self._refusal(number, problem.msg, self._at + after) from None
            except RecursionError:
                what = "expected an entry, got too deep a nest"
                raise refusal(self.name, self.place(number), what) from None
            except ValueError as problem:
                raise refusal(
                    self.name, self.place(number), f"expected JSON, got: {problem}"
                ) from None
            else:
                self._pass_to(end)
                return value

    def _refusal(self, number: int, message: str, place: int) -> InvalidInputError:
        line = self.line + self._held.count("\n", self._at, place)
        where = f"entry {number} (line {line})"
        is_cut = place >= len(self._held) or message.startswith("Unterminated")
        if self._is_all and is_cut:
            what = "expected the rest of the entry, got the end of the file"
            return refusal(self.name, where, what)
        near = self._held[place : place + 20]
        what = message[0].lower() + message[1:]
        return refusal(self.name, where, f"expected JSON, got: {what}, at {shown(near)}")

    def _pass_to(self, place: int) -> None:
        self.line += self._held.count("\n", self._at, place)
        self._at = place

    def _more(self) -> bool:
        """Read on; return whether there was more."""
        data = self._stream.read(_PIECE)
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as problem:
            before = self._held.count("\n", self._at) + data.count(b"\n", 0, problem.start)
            what = f"expected UTF-8 text, got the byte 0x{problem.object[problem.start]:02x}"
            raise refusal(self.name, f"line {self.line + before}", what) from None
        self._held = self._held[self._at :] + text
        self._at = 0
        self._is_all = not data
        return bool(data)


# A word or number that is cut where the text that has been read ends is found wrong so many
# letters before it; a string is found wrong where it begins.
_TAIL: Final = 1 << 16


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _no_number(word: str) -> None:
    msg = f"{word}, which is no number of JSON"
    raise ValueError(msg)
