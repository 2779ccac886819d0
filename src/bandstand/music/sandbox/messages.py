"""Messages between parent and child: a length in four bytes, then that many bytes of JSON.

JSON and never pickle, since a child may have been taken over by what it read. All text is
ASCII with escapes, so that file names that are no valid Unicode travel too.
"""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

_LENGTH: Final = struct.Struct(">I")


class MalformedError(Exception):
    """A message has another form than agreed."""


class TooLargeError(Exception):
    """A message is larger than agreed."""


def encoded(message: Mapping[str, Any]) -> bytes:
    r"""Return a message as it travels; MalformedError for what JSON cannot carry.

    >>> encoded({"name": "\udcff"})
    b'\x00\x00\x00\x11{"name":"\\udcff"}'
    """
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as problem:
        raise MalformedError(str(problem)) from problem
    return _LENGTH.pack(len(text)) + text


def decoded(text: bytes) -> dict[str, Any]:
    """Return the message in a text; MalformedError where it is none."""
    try:
        message = json.loads(
            text.decode("ascii"), parse_constant=_refuse_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as problem:
        raise MalformedError(str(problem)) from problem
    if not isinstance(message, dict):
        msg = f"a message must be an object, got {type(message).__name__}"
        raise MalformedError(msg)
    return message


class Incoming:
    r"""The bytes that arrived, until they are a whole message.

    >>> incoming = Incoming(max_size=100)
    >>> incoming.add(b"\0\0\0\2{")
    >>> incoming.take() is None
    True
    >>> incoming.add(b"}")
    >>> incoming.take()
    {}
    """

    def __init__(self, *, max_size: int) -> None:
        self._max_size = max_size
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take in what arrived."""
        self._data += data

    def take(self) -> dict[str, Any] | None:
        """Return the first message and forget it; None while it is not complete."""
        if len(self._data) < _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._data)
        if size > self._max_size:
            raise TooLargeError
        end = _LENGTH.size + size
        if len(self._data) < end:
            return None
        text = bytes(self._data[_LENGTH.size : end])
        del self._data[:end]
        return decoded(text)

    def __bool__(self) -> bool:
        return bool(self._data)


def _refuse_constant(name: str) -> NoReturn:
    msg = f"numbers must be finite, got {name}"
    raise ValueError(msg)


def _finite(text: str) -> float:
    """Return a number; JSON's own 1e999 is as infinite as the constants that are refused."""
    number = float(text)
    if not math.isfinite(number):
        _refuse_constant(text)
    return number
