"""Checks of texts for people: reasons in plain words, and clean tags."""

from __future__ import annotations

import math
import re
import unicodedata

LONGEST_TAG = 500  # characters
LONGEST_REASON = 500
# What a person should not have to read: names of exceptions, numbers of errors, addresses.
_JARGON = re.compile(
    r"Traceback|Errno|[A-Za-z]Error\b|Exception|0x[0-9a-f]{4,}|<[a-z]+[ .>]|\bNone\b|\\x|\bb'"
)


def is_plain(reason: str) -> bool:
    """Tell whether a reason is one line that a person can read."""
    return (
        0 < len(reason.strip()) <= LONGEST_REASON
        and reason.isprintable()
        and not _JARGON.search(reason)
    )


def is_clean(value: str | float) -> bool:
    """Tell whether a tag is valid Unicode, visible and bounded, or a finite number."""
    if not isinstance(value, str):
        return math.isfinite(value)
    return 0 < len(value) <= LONGEST_TAG and not any(
        unicodedata.category(letter) in {"Cc", "Cs"} for letter in value
    )
