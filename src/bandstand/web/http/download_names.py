"""Names of files that a browser may save, as RFC 6266 and RFC 8187 write them into a header."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal
from urllib.parse import quote

_LONGEST: Final = 120
# What some system does not allow in a name, or takes for a folder or a device.
_UNWANTED: Final = re.compile(r'[\\/:*?"<>|]+')


def disposition(kind: Literal["inline", "attachment"], stem: str, ending: str) -> str:
    """Return the header for a file called `stem`, which is any text, and `ending`, which is ours.

    >>> disposition("inline", 'AC/DC - "Thunder"', ".mp3")
    'inline; filename="AC DC - Thunder.mp3"'
    >>> print(disposition("attachment", "Björk", ".m3u8"))
    attachment; filename="Bjork.m3u8"; filename*=UTF-8''Bj%C3%B6rk.m3u8
    """
    name = safe_name(stem) + ending
    letters = unicodedata.normalize("NFKD", safe_name(stem)).encode("ascii", "ignore").decode()
    # Made safe once more: among what wide forms turn into are quotes, slashes and dots.
    plain = safe_name(letters) + ending
    if plain == name:
        return f'{kind}; filename="{name}"'
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def safe_name(text: str) -> str:
    """Return a text as the name of a file on any system, without an ending."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    words = _UNWANTED.sub(" ", shown).split()
    return " ".join(words)[:_LONGEST].strip(" .") or "song"
