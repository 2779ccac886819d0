"""Tunes: a motif, its repetition on other chords, an answer, a close.

Chord tones where the beat is strong, steps of the scale between them, no leap beyond a sixth,
repetition of rhythm and contour, a long chord tone at the end of a phrase.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bandstand_demo.notes import Note, at, nearest, steps, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from bandstand_demo.notes import Change, Chord, Key

_MOVES: Final = (-2, -1, -1, -1, 0, 1, 1, 1, 2)
_WIDEST_CONTOUR: Final = 4  # steps of the scale from the beginning of a motif
_LONGEST_LEAP: Final = 9  # semitones


@dataclass(frozen=True, slots=True)
class Manner:
    """How a tune is made."""

    rhythms: str  # of a bar, see `steps`
    low: int
    high: int
    form: str = "abac"  # a letter for each motif of a phrase
    legato: float = 0.95  # how much of its length a note sounds
    velocity: float = 0.75


@dataclass(frozen=True, slots=True)
class _Motif:
    rhythm: list[tuple[float, float, str]]
    moves: list[int]
    anchor: float  # the pitch it starts near


def melody(
    rng: np.random.Generator, manner: Manner, key: Key, sounding: Sequence[Change], beats: int
) -> list[Note]:
    """Return a tune over these chords, from the first to the end of the last one."""
    first, last = sounding[0].start, sounding[-1].start + sounding[-1].length
    motifs = {letter: _motif(rng, manner, beats) for letter in dict.fromkeys(manner.form)}
    notes: list[Note] = []
    for bar in range(round((last - first) / beats) - 1):
        motif = motifs[manner.form[bar % len(manner.form)]]
        notes += _sung(motif, manner, key, sounding, first + bar * beats, notes)
    # The end of a phrase: the beginning of the first motif, then a long root or third.
    motif, middle = motifs[manner.form[0]], last - beats / 2
    for note in _sung(motif, manner, key, sounding, last - beats, notes):
        if note.start < middle - 1e-6:
            notes.append(replace(note, length=min(note.length, middle - note.start)))
    rest = within(at(sounding, middle)[:2], manner.low, manner.high)
    pitch = nearest(rest, notes[-1].pitch if notes else motif.anchor)
    return [*notes, Note(middle, beats / 2 * manner.legato, pitch, manner.velocity)]


def parallel(notes: Sequence[Note], key: Key, moved: int) -> list[Note]:
    """Return the same tune `moved` steps of the scale higher, as a second voice sings it."""
    ladder = key.ladder(0, 127)
    places = [ladder.index(nearest(ladder, note.pitch)) + moved for note in notes]
    return [replace(note, pitch=ladder[p]) for note, p in zip(notes, places, strict=True)]


def _motif(rng: np.random.Generator, manner: Manner, beats: int) -> _Motif:
    """Draw a rhythm, a place and a contour that turns back before it goes too far."""
    rhythm = steps(str(rng.choice(manner.rhythms.split())), beats)
    height, moves = 0, [0]
    for move in rng.choice(_MOVES, len(rhythm) - 1).tolist():
        moves.append(-move if abs(height + move) > _WIDEST_CONTOUR else move)
        height += moves[-1]
    middle, width = (manner.low + manner.high) / 2, manner.high - manner.low
    return _Motif(rhythm, moves, middle + width * float(rng.uniform(-0.2, 0.25)))


def _sung(
    motif: _Motif,
    manner: Manner,
    key: Key,
    sounding: Sequence[Change],
    begin: float,
    before: Sequence[Note],
) -> list[Note]:
    """Return a motif from the beat `begin` on, after the notes `before`."""
    notes: list[Note] = []
    previous = before[-1].pitch if before else None
    for (offset, length, _), move in zip(motif.rhythm, motif.moves, strict=True):
        tones = at(sounding, begin + offset)
        ladder = _ladder(tones, key, manner)
        strong = offset % 2.0 == 0.0 or length >= 1.0 or not notes
        here = notes[-1].pitch if notes else nearest(ladder, motif.anchor)
        wanted = _moved(ladder, here, move)
        allowed = within(tones, manner.low, manner.high) if strong else ladder
        if notes and move:
            # On the side where the tune is going, so that it does not stand still.
            others = tuple(pitch for pitch in allowed if pitch != here)
            allowed = tuple(p for p in others if (p > here) == (wanted > here)) or others
        near = [p for p in allowed if previous is None or abs(p - previous) <= _LONGEST_LEAP]
        previous = nearest(near or allowed, wanted)
        velocity = manner.velocity * (1.0 if strong else 0.85)
        notes.append(Note(begin + offset, length * manner.legato, previous, velocity))
    return notes


def _ladder(tones: Chord, key: Key, manner: Manner) -> tuple[int, ...]:
    """Return the chord's tones, and those of the scale that do not rub against them.

    A semitone above a tone of the chord sounds wrong, one below it leads to it; beside a tone
    that is foreign to the scale neither can stay.
    """
    scale = key.ladder(manner.low, manner.high)
    around = within(tones, manner.low - 1, manner.high + 1)
    rubbing = {tone + 1 for tone in around} | {tone - 1 for tone in around if tone not in scale}
    return tuple(sorted({*scale} - rubbing | {*within(tones, manner.low, manner.high)}))


def _moved(ladder: Sequence[int], pitch: int, move: int) -> int:
    """Return the pitch `move` steps of the ladder away, turned back at its ends."""
    here = ladder.index(nearest(ladder, pitch))
    place = here + move if 0 <= here + move < len(ladder) else here - move
    return ladder[min(max(place, 0), len(ladder) - 1)]
