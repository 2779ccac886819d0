"""What the texts of tags mean: years, track numbers, identifiers, gains.

Whatever does not make sense is None: a tag that cannot be read says nothing.
"""

from __future__ import annotations

import re
from typing import Final

from bandstand.music.audio.genres import genre_named
from bandstand.music.audio.text import clean

_YEAR: Final = re.compile(
    # Alone among digits, or the beginning of a date such as 20030501.
    r"(?<![0-9])(1[0-9]{3}|2[01][0-9]{2}|2200)(?=[^0-9]|$|[01][0-9][0-3][0-9](?:[^0-9]|$))"
)
_POSITION: Final = re.compile(r"0*([0-9]{1,4})(?:\s*(?:/|of)\s*[0-9]*)?", re.IGNORECASE)
_UUID: Final = re.compile(
    r"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f])"
)
_NUMBER: Final = re.compile(r"([+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+))\s*(?:dB)?", re.IGNORECASE)
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,6}")

LARGEST_GAIN: Final = 60.0  # decibels, either way
LARGEST_PEAK: Final = 100.0
# Opus keeps gains in 1/256 dB and aims at -23 LUFS; ReplayGain aims at -18.
_R128_STEP: Final = 1 / 256
_R128_OFFSET: Final = 5.0


def year_of(text: str | None) -> int | None:
    """Return the first year from 1000 to 2200 in a date of any form.

    >>> year_of("2003-05-01"), year_of("(P) 1999"), year_of("19990501"), year_of("0000")
    (2003, 1999, 1999, None)
    """
    found = _YEAR.search(text or "")
    return int(found[1]) if found else None


def position_of(text: str | None) -> int | None:
    """Return the number of a track or disc, which may come with how many there are.

    >>> position_of("3/12"), position_of("07"), position_of("A1"), position_of("0")
    (3, 7, None, None)
    """
    found = _POSITION.fullmatch((text or "").strip())
    return (int(found[1]) or None) if found else None


def identifier_of(text: str | None) -> str | None:
    """Return the first MusicBrainz identifier, a UUID, in lower case.

    >>> identifier_of("F205627F-B70A-409D-ADBE-66289B614E80; and others")
    'f205627f-b70a-409d-adbe-66289b614e80'
    """
    found = _UUID.search((text or "").lower())
    return found[0] if found else None


def gain_of(text: str | None) -> float | None:
    """Return a gain in decibels.

    >>> gain_of("-7.32 dB"), gain_of("+1,5"), gain_of("loud"), gain_of("-900 dB")
    (-7.32, 1.5, None, None)
    """
    gain = _number(text)
    return gain if gain is not None and abs(gain) <= LARGEST_GAIN else None


def r128_gain_of(text: str | None) -> float | None:
    """Return the ReplayGain that an Opus gain amounts to, in decibels.

    >>> r128_gain_of("-1280"), r128_gain_of("256"), r128_gain_of("0.5")
    (0.0, 6.0, None)
    """
    if _WHOLE.fullmatch((text or "").strip()) is None:
        return None
    gain = int(text or "") * _R128_STEP + _R128_OFFSET
    return gain if abs(gain) <= LARGEST_GAIN else None


def peak_of(text: str | None) -> float | None:
    """Return a peak, 1 at full scale.

    >>> peak_of("0.988547"), peak_of("-1"), peak_of("nan")
    (0.988547, None, None)
    """
    peak = _number(text)
    return peak if peak is not None and 0 <= peak <= LARGEST_PEAK else None


def genre_of(text: str | None) -> str | None:
    """Return the first of one or several genres, by name.

    >>> genre_of("(17)"), genre_of("R&B/Soul; Funk"), genre_of(" ; Pop")
    ('Rock', 'R&B/Soul', 'Pop')
    """
    names = (clean(part) for part in re.split("[;\0]", text or ""))
    first = next((name for name in names if name), None)
    return None if first is None else clean(genre_named(first))


def _number(text: str | None) -> float | None:
    found = _NUMBER.fullmatch((text or "").strip()[:32])
    return float(found[1].replace(",", ".")) if found else None
