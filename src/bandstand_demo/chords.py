"""Chords written as Roman numerals, and how they follow each other smoothly.

A numeral counts from the tonic of the major scale, so that `♭VI` in A minor is F major;
upper case is a major chord, lower case a minor one; what follows names the other tones:
`ii7 V7 Imaj7`, `♭VII`, `Vsus`, `vii°`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final

from bandstand.errors import InvalidInputError
from bandstand_demo.pitches import SCALES, within

if TYPE_CHECKING:
    from bandstand_demo.pitches import Key

_NUMERALS: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii")
_SYMBOL: Final = re.compile(r"(♭|♯)?([ivIV]+)(.*)")
# Semitones above the root for each ending, for an upper-case and for a lower-case numeral.
_TONES: Final[dict[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "": ((0, 4, 7), (0, 3, 7)),
    "6": ((0, 4, 7, 9), (0, 3, 7, 9)),
    "7": ((0, 4, 7, 10), (0, 3, 7, 10)),
    "maj7": ((0, 4, 7, 11), (0, 3, 7, 11)),
    "9": ((0, 4, 10, 14), (0, 3, 10, 14)),
    "maj9": ((0, 4, 11, 14), (0, 3, 11, 14)),
    "add9": ((0, 4, 7, 14), (0, 3, 7, 14)),
    "13": ((0, 4, 10, 21), (0, 3, 10, 21)),
    "♭9": ((0, 4, 10, 13), (0, 3, 10, 13)),
    "sus": ((0, 5, 7), (0, 5, 7)),
    "sus2": ((0, 2, 7), (0, 2, 7)),
    "5": ((0, 7), (0, 7)),
    "°": ((0, 3, 6), (0, 3, 6)),
    "°7": ((0, 3, 6, 9), (0, 3, 6, 9)),
    "ø": ((0, 3, 6, 10), (0, 3, 6, 10)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chord:
    """The pitch classes of a chord, the root first."""

    tones: tuple[int, ...]

    @property
    def root(self) -> int:
        """The pitch class that the chord stands on."""
        return self.tones[0]

    @property
    def fifth(self) -> int:
        """The pitch class a fifth above the root, as the chord has it: perfect or diminished."""
        return next((tone for tone in self.tones if (tone - self.root) % 12 == 6), self.root + 7)

    def between(self, low: float, high: float) -> tuple[float, ...]:
        """Return all tones of the chord from `low` to `high`, upwards."""
        return within(self.tones, low, high)


def chord(symbol: str, key: Key) -> Chord:
    """Return the chord that a Roman numeral means in a key.

    >>> from bandstand_demo.pitches import Key
    >>> chord("V7", Key(tonic=0, mode="major")).tones
    (7, 11, 2, 5)
    """
    found = _SYMBOL.fullmatch(symbol)
    if found is None or not _is_numeral(found[2]) or found[3] not in _TONES:
        msg = f"expected a chord as a Roman numeral such as ii7 or ♭VImaj7, got {symbol!r}"
        raise InvalidInputError(msg)
    accidental, numeral, ending = found.groups()
    shift = {"♭": -1, "♯": 1, None: 0}[accidental]
    root = key.tonic + int(SCALES["major"][_NUMERALS.index(numeral.lower())]) + shift
    intervals = _TONES[ending][0 if numeral.isupper() else 1]
    return Chord(tones=tuple((root + interval) % 12 for interval in intervals))


def _is_numeral(text: str) -> bool:
    return text.lower() in _NUMERALS and (text.isupper() or text.islower())


@cache
def voicing(
    chord: Chord, previous: tuple[float, ...] | None, low: float, high: float, voices: int = 4
) -> tuple[float, ...]:
    """Return pitches for a chord, upwards, that move as little as they can from the previous ones.

    The third and the seventh, which make the chord what it is, are always there where there is
    room; close seconds deep down and gaps of more than an octave are avoided.
    """
    options = combinations(chord.between(low, high), voices)
    return min(options, key=lambda option: (_cost(chord, previous, option), option))


def _cost(chord: Chord, previous: tuple[float, ...] | None, option: tuple[float, ...]) -> float:
    classes = {int(pitch) % 12 for pitch in option}
    missing = sum(weight for tone, weight in _wanted(chord) if tone not in classes)
    gaps = [upper - lower for lower, upper in pairwise(option)]
    spread = sum(_roughness(gap, lower) for gap, lower in zip(gaps, option, strict=False))
    if previous is None:
        return missing + spread + 0.1 * (option[-1] - option[0])
    moves = [abs(new - old) for new, old in zip(option, previous, strict=False)]
    return missing + spread + sum(moves) + 0.5 * max(moves)


def _roughness(gap: float, lower: float) -> float:
    """Return how much two neighbouring tones rub: a semitone always, seconds deep down, holes."""
    return 5.0 * (gap < 2) + 4.0 * (gap < 3 and lower < 55) + 3.0 * (gap > 9)


def _wanted(chord: Chord) -> tuple[tuple[int, float], ...]:
    """Return how much each pitch class of the chord would be missed; the fifth least."""
    weights = (6.0, 20.0, 4.0 if len(chord.tones) > 3 else 8.0, 14.0)
    return tuple(zip(chord.tones, weights, strict=False))
