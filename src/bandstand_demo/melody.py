"""Tunes: a motif, its repetition on other chords, an answer, a close.

The rules are those of any school of melody: chord tones where the beat is strong, steps of the
scale between them, no leap beyond a sixth, repetition of rhythm and contour, a long chord tone
at the end of a phrase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_demo.harmony import at
from bandstand_demo.pitches import nearest
from bandstand_demo.score import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from bandstand_demo.chords import Chord
    from bandstand_demo.harmony import Change
    from bandstand_demo.pitches import Key

_MOVES: Final = (-2, -1, -1, -1, 0, 1, 1, 1, 2)
_LONGEST_LEAP: Final = 9  # semitones


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a tune is made in a style.

    A rhythm is one bar or two: lengths in beats, negative for a rest. `plan` has a letter for
    each motif of a phrase: `aaba`, `abac`.
    """

    rhythms: tuple[tuple[float, ...], ...]
    low: float
    high: float
    plan: str = "abac"
    moves: tuple[int, ...] = _MOVES
    legato: float = 0.95  # how much of its length a note sounds
    loudness: float = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class _Motif:
    offsets: tuple[float, ...]
    lengths: tuple[float, ...]
    moves: tuple[int, ...]
    anchor: float  # the pitch it starts near


def melody(
    rng: np.random.Generator, manner: Manner, key: Key, sounding: Sequence[Change]
) -> tuple[Note, ...]:
    """Return a tune over these chords, from the first to the end of the last one."""
    first, last = sounding[0].start, sounding[-1].start + sounding[-1].length
    motifs = {letter: _motif(rng, manner) for letter in dict.fromkeys(manner.plan)}
    span = sum(map(abs, manner.rhythms[0]))
    notes: list[Note] = []
    for turn in range(round((last - first) / span)):
        begin = first + turn * span
        if begin + span >= last - 1e-6:
            notes += _close(motifs[manner.plan[0]], manner, key, sounding, begin, span, notes)
        else:
            motif = motifs[manner.plan[turn % len(manner.plan)]]
            notes += _sung(motif, manner, key, sounding, begin, notes)
    return tuple(notes)


def in_thirds(notes: Sequence[Note], key: Key, *, below: int = 2) -> tuple[Note, ...]:
    """Return the same tune some steps of the scale lower, as a second voice sings it."""
    ladder = key.ladder(0, 127)
    found = []
    for note in notes:
        step = ladder.index(nearest(ladder, note.pitch)) - below
        found.append(Note(note.start, note.length, ladder[step], note.velocity * 0.85))
    return tuple(found)


def _motif(rng: np.random.Generator, manner: Manner) -> _Motif:
    rhythm = manner.rhythms[rng.integers(len(manner.rhythms))]
    offsets, lengths, now = [], [], 0.0
    for length in rhythm:
        if length > 0:
            offsets.append(now)
            lengths.append(length)
        now += abs(length)
    moves = [0, *(int(rng.choice(manner.moves)) for _ in lengths[1:])]
    middle, width = (manner.low + manner.high) / 2, manner.high - manner.low
    return _Motif(
        offsets=tuple(offsets),
        lengths=tuple(lengths),
        moves=tuple(_turned(moves)),
        anchor=middle + width * float(rng.uniform(-0.2, 0.25)),
    )


def _turned(moves: list[int]) -> list[int]:
    """Return the moves with a contour that comes back when it is four steps from its start."""
    height, found = 0, []
    for move in moves:
        step = -move if abs(height + move) > 4 else move
        found.append(step)
        height += step
    return found


def _sung(
    motif: _Motif,
    manner: Manner,
    key: Key,
    sounding: Sequence[Change],
    begin: float,
    before: Sequence[Note],
) -> list[Note]:
    pitch = motif.anchor
    notes: list[Note] = []
    previous = before[-1].pitch if before else None
    for offset, length, move in zip(motif.offsets, motif.lengths, motif.moves, strict=True):
        chord = at(sounding, begin + offset)
        ladder = _ladder(chord, key, manner)
        strong = offset % 2.0 == 0.0 or length >= 1.0 or not notes
        wanted = ladder[_moved(ladder, pitch, move)]
        allowed: Sequence[float] = chord.between(manner.low, manner.high) if strong else ladder
        if notes and move:
            allowed = _onward(allowed, pitch, wanted)
        pitch = _chosen(allowed, wanted, previous)
        velocity = manner.loudness * (1.0 if strong else 0.85)
        notes.append(Note(begin + offset, length * manner.legato, pitch, velocity))
        previous = pitch
    return notes


def _close(
    motif: _Motif,
    manner: Manner,
    key: Key,
    sounding: Sequence[Change],
    begin: float,
    span: float,
    before: Sequence[Note],
) -> list[Note]:
    """Return the end of a phrase: the beginning of the motif, then one long tone of the chord."""
    half = span / 2
    opening = [
        n
        for n in _sung(motif, manner, key, sounding, begin, before)
        if n.start < begin + half - 1e-6
    ]
    opening = [
        Note(n.start, min(n.length, begin + half - n.start), n.pitch, n.velocity) for n in opening
    ]
    chord = at(sounding, begin + half)
    previous = opening[-1].pitch if opening else motif.anchor
    rest = _stable(chord, manner)
    last = Note(begin + half, half * manner.legato, nearest(rest, previous), manner.loudness)
    return [*opening, last]


def _stable(chord: Chord, manner: Manner) -> tuple[float, ...]:
    """Return where a phrase may rest: on the root or the third."""
    return tuple(
        pitch
        for pitch in chord.between(manner.low, manner.high)
        if int(pitch) % 12 in chord.tones[:2]
    )


def _ladder(chord: Chord, key: Key, manner: Manner) -> tuple[float, ...]:
    """Return the chord's tones, and those of the scale that do not rub against them.

    A semitone above a tone of the chord sounds wrong, one below it leads to it; beside a tone
    that is foreign to the scale neither can stay.
    """
    scale = key.ladder(manner.low, manner.high)
    tones = chord.between(manner.low - 1, manner.high + 1)
    rubbing = {tone + 1 for tone in tones} | {tone - 1 for tone in tones if tone not in scale}
    kept = [pitch for pitch in scale if pitch not in rubbing]
    return tuple(sorted({*kept, *chord.between(manner.low, manner.high)}))


def _moved(ladder: Sequence[float], pitch: float, move: int) -> int:
    """Return the place on the ladder `move` steps from a pitch, turned back at its ends."""
    here = ladder.index(nearest(ladder, pitch))
    place = here + move
    if not 0 <= place < len(ladder):
        place = here - move
    return min(max(place, 0), len(ladder) - 1)


def _onward(allowed: Sequence[float], here: float, wanted: float) -> Sequence[float]:
    """Return the pitches on the side where the tune is going, so that it does not stand still."""
    up = wanted > here
    return [pitch for pitch in allowed if pitch != here and (pitch > here) == up] or [
        pitch for pitch in allowed if pitch != here
    ]


def _chosen(allowed: Sequence[float], wanted: float, previous: float | None) -> float:
    """Return the allowed pitch nearest to the wanted one, without a leap that nobody could sing."""
    if previous is not None:
        near = [pitch for pitch in allowed if abs(pitch - previous) <= _LONGEST_LEAP]
        allowed = near or allowed
    return nearest(allowed, wanted)
