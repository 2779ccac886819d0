"""Text from tags made fit to be kept and shown, whatever bytes it came from."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 500  # characters

# Enough that what remains after cleaning is rarely cut; the rest is never looked at, since
# normalising megabytes of combining marks takes minutes.
_LOOKED_AT: Final = 8 * LONGEST

# Marks that turn the direction of the text around them, and the byte-order mark.
_TURNING: Final = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
)
# PyAV hands on a byte that is not UTF-8 as a lone surrogate, U+DC80 to U+DCFF.
_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")


def clean(text: str | None) -> str | None:
    r"""Return `text` as valid Unicode (NFC) of at most 500 characters; None if nothing is left.

    Control characters and marks that turn the direction of writing are removed, white space
    is collapsed. Bytes that are not UTF-8 are read as Windows-1252, in which old tags are.

    >>> clean("  Bj\udcf6rk\x00 \n Ho\u0308sl "), clean("\x00 ")
    ('Björk Hösl', None)
    """
    if not text:
        return None
    spaced = " ".join(_ESCAPED_BYTE.sub(_letter, text[:_LOOKED_AT]).split())
    kept = "".join(character for character in spaced if _is_kept(character))
    # Again, for what stood beside characters that are gone.
    whole = " ".join(unicodedata.normalize("NFC", kept).split())
    return whole[:LONGEST].rstrip() or None


def _letter(escaped: re.Match[str]) -> str:
    byte = escaped[0].encode("utf-8", "surrogateescape")
    return byte.decode("cp1252", "ignore")


def _is_kept(character: str) -> bool:
    if character in _TURNING or unicodedata.category(character) in {"Cc", "Cs"}:
        return False
    return ord(character) & 0xFFFE != 0xFFFE and not 0xFDD0 <= ord(character) <= 0xFDEF
