"""Checks of values before they go into a database.

The two databases disagree about what they refuse: SQLite turns NaN into NULL without a word and
keeps a NUL inside text, PostgreSQL the other way round. So neither is asked.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import Tags, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.types import Vector

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1
# An entry of a PostgreSQL index holds some 2,700 bytes, and paths are looked up by an index.
MAX_PATH_BYTES: Final = 2_500
DESCRIPTOR_COUNT: Final = 159

_ID: Final = re.compile("[0-9a-f]{16}")
_LITTLE_ENDIAN: Final = np.dtype("<f8")
_TAGS: Final = tuple(field.name for field in fields(Tags))
_WHOLE_TAGS: Final = frozenset({"year", "track", "disc"})
_REAL_TAGS: Final = frozenset({"track_gain", "track_peak", "album_gain", "album_peak"})


def checked_text(value: Any, name: str) -> str:
    r"""Return `value`, a text that every database can hold.

    >>> checked_text("Ænima", "title")
    'Ænima'
    >>> checked_text("a\0b", "title")
    Traceback (most recent call last):
    bandstand.errors.InvalidInputError: title must be text without NUL, got 'a\x00b'
    """
    if not isinstance(value, str):
        raise unfit(name, "be text", value)
    if "\0" in value:
        raise unfit(name, "be text without NUL", value)
    if not is_unicode(value):
        raise unfit(name, "be valid Unicode", value)
    return value


def is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogates, which no encoding can write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_storable(text: str) -> bool:
    """Return whether a database can hold a text."""
    return "\0" not in text and is_unicode(text)


def checked_id(value: Any, name: str) -> str:
    """Return `value`, the id of a song or an account: 16 lower-case hexadecimal digits."""
    if not isinstance(value, str) or _ID.fullmatch(value) is None:
        raise unfit(name, "be an id of 16 hexadecimal digits", value)
    return value


def checked_short_text(value: Any, name: str, *, most: int) -> str:
    """Return `value`, a text of 1 to `most` characters that every database can hold."""
    if not 1 <= len(checked_text(value, name)) <= most:
        msg = f"{name} must have 1 to {most} characters, got {len(value)}"
        raise InvalidInputError(msg)
    return str(value)


def folded(text: str) -> str:
    """Return a text without differences of case and of Unicode composition.

    >>> folded("BJÖRK") == folded("Bjo\u0308rk")
    True
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def json_to_text(values: Mapping[str, Any], name: str, *, most: int) -> str:
    """Return a JSON object as one line, the same for equal objects, of at most `most` characters.

    >>> json_to_text({"dial": 0.5, "algorithm": "greedy"}, "settings", most=100)
    '{"algorithm":"greedy","dial":0.5}'
    """
    if not all(isinstance(key, str) for key in values):
        msg = f"the names of {name} must be text, got something else"
        raise InvalidInputError(msg)
    try:
        content = json.dumps(
            dict(values), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False
        )
    except (TypeError, ValueError, RecursionError) as problem:
        msg = f"{name} must be JSON, got something else: {problem}"
        raise InvalidInputError(msg) from problem
    if len(content) > most:
        msg = f"{name} must have at most {most:,} characters, got {len(content):,}"
        raise InvalidInputError(msg)
    return checked_text(content, name)


def checked_integer(
    value: Any, name: str, *, least: int = MIN_INTEGER, most: int = MAX_INTEGER
) -> int:
    """Return `value`, an integer that fits into 64 bits and into its own bounds."""
    if type(value) is not int:  # True is no number here
        raise unfit(name, "be an integer", value)
    if not least <= value <= most:
        raise unfit(name, f"be between {least} and {most}", value)
    return value


def checked_number(value: Any, name: str, *, least: float = -math.inf) -> float:
    """Return `value`, a finite number that is not below `least`, as a float."""
    # float32 and the like come from numpy; True is no number here either.
    number = float(value) if type(value) in {int, float} or isinstance(value, np.floating) else None
    if number is None or not math.isfinite(number):
        raise unfit(name, "be a finite number", value)
    if number < least:
        msg = f"{name} must be at least {least:g}, got {shown(value)}"
        raise InvalidInputError(msg)
    return number


def checked_path(value: Any) -> bytes:
    """Return `value`, the absolute path of a file or folder as bytes, without a slash at its end.

    The root folder is b"/".
    """
    if not isinstance(value, bytes):
        msg = f"a path must be bytes, got {shown(value)}"
        raise InvalidInputError(msg)
    if not value.startswith(b"/") or b"\0" in value or (value.endswith(b"/") and value != b"/"):
        msg = f"a path must be absolute, without NUL or a slash at its end, got {shown(value)}"
        raise InvalidInputError(msg)
    if len(value) > MAX_PATH_BYTES:
        msg = f"a path must have at most {MAX_PATH_BYTES:,} bytes, got {len(value):,}"
        raise InvalidInputError(msg)
    return value


def checked_tags(tags: Tags) -> dict[str, str | int | float | None]:
    """Return tags as columns, each checked."""
    return {name: _checked_tag(name, getattr(tags, name)) for name in _TAGS}


def _checked_tag(name: str, value: Any) -> str | int | float | None:
    if value is None:
        return None
    if name in _WHOLE_TAGS:
        return checked_integer(value, name)
    return checked_number(value, name) if name in _REAL_TAGS else checked_text(value, name)


def descriptors_to_bytes(descriptors: Any) -> bytes:
    """Return a song's descriptors as float64, little end first."""
    vector = np.asarray(descriptors)
    if vector.shape != (DESCRIPTOR_COUNT,) or vector.dtype.kind not in "fiu":
        msg = (
            f"descriptors must be {DESCRIPTOR_COUNT} numbers, "
            f"got shape {vector.shape} of {vector.dtype}"
        )
        raise InvalidInputError(msg)
    wide = vector.astype(_LITTLE_ENDIAN)
    if not np.isfinite(wide).all():
        row = int(np.argmin(np.isfinite(wide)))
        msg = f"descriptors must be finite, got {wide[row]} at position {row}"
        raise InvalidInputError(msg)
    return wide.tobytes()


def descriptors_from_bytes(content: bytes) -> Vector:
    """Return a song's descriptors (159,), read-only, from what the store keeps."""
    vector: Vector = frozen(np.frombuffer(content, dtype=_LITTLE_ENDIAN))
    return vector


def unfit(name: str, rule: str, value: Any) -> InvalidInputError:
    """Return the error for a value that is not as it must be."""
    return InvalidInputError(f"{name} must {rule}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as an error shows it: on one line, and not all of it."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no integers of thousands of digits
        text = f"{type(value).__name__} too long to be shown"
    return text if len(text) <= 80 else f"{text[:77]}..."
