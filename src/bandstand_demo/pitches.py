"""Pitches, scales and keys.

A pitch is a MIDI number: 69 is the A of 440 Hz, one unit is a semitone. A pitch class is a
pitch modulo 12; C is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

NAMES: Final = ("C", "D♭", "D", "E♭", "E", "F", "G♭", "G", "A♭", "A", "B♭", "B")

# Semitones above the tonic.
SCALES: Final[dict[str, tuple[int, ...]]] = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "minor": (0, 2, 3, 5, 7, 8, 10),
    "harmonic minor": (0, 2, 3, 5, 7, 8, 11),
    "dorian": (0, 2, 3, 5, 7, 9, 10),
    "mixolydian": (0, 2, 4, 5, 7, 9, 10),
    "lydian": (0, 2, 4, 6, 7, 9, 11),
    "pentatonic": (0, 2, 4, 7, 9),
    "minor pentatonic": (0, 3, 5, 7, 10),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A tonic (a pitch class) and the scale above it.

    >>> Key(tonic=9, mode="minor").name
    'A minor'
    """

    tonic: int
    mode: str

    @property
    def name(self) -> str:
        """The key as musicians write it."""
        return f"{NAMES[self.tonic]} {self.mode}"

    def ladder(self, low: float, high: float) -> tuple[float, ...]:
        """Return the pitches of the scale from `low` to `high`, both included, upwards.

        >>> Key(tonic=0, mode="major").ladder(60, 72)
        (60, 62, 64, 65, 67, 69, 71, 72)
        """
        steps = [self.tonic + step for step in SCALES[self.mode]]
        return within(steps, low, high)


def hertz(pitch: float) -> float:
    """Return the frequency of a pitch in equal temperament.

    >>> hertz(69), hertz(57)
    (440.0, 220.0)
    """
    return float(440.0 * 2.0 ** ((pitch - 69.0) / 12.0))


def within(classes: Iterable[float], low: float, high: float) -> tuple[float, ...]:
    """Return all pitches of these pitch classes from `low` to `high`, upwards.

    >>> within([0, 7], 58, 75)
    (60, 67, 72)
    """
    octaves = range(-1, 12)
    found = {c % 12 + 12 * octave for c in classes for octave in octaves}
    return tuple(sorted(pitch for pitch in found if low <= pitch <= high))


def nearest(pitches: Iterable[float], wanted: float) -> float:
    """Return the pitch that is nearest to `wanted`; of two, the lower one.

    >>> nearest([60, 64, 67], 66)
    67
    """
    return min(pitches, key=lambda pitch: (abs(pitch - wanted), pitch))
