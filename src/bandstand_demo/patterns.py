"""What accompanies a tune: chords, broken chords, basses and drums, as notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.harmony import at
from bandstand_demo.pitches import nearest, within
from bandstand_demo.score import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from bandstand_demo.harmony import Change

_STROKES: Final = {"X": 1.0, "x": 0.8, "o": 0.55, "-": 0.32}


def held(
    sounding: Sequence[Change], voicings: Sequence[Sequence[float]], *, velocity: float = 0.6
) -> tuple[Note, ...]:
    """Return each chord held for as long as it lasts."""
    return tuple(
        Note(change.start, change.length, pitch, velocity)
        for change, pitches in zip(sounding, voicings, strict=True)
        for pitch in pitches
    )


def strummed(
    sounding: Sequence[Change],
    voicings: Sequence[Sequence[float]],
    rhythm: str,
    *,
    beats: int,
    length: float,
    spread: float = 0.0,
) -> tuple[Note, ...]:
    """Return chords in a rhythm: `x..x..x.` divides a bar of `beats`; see `struck`.

    length: beats that a stroke sounds; spread: beats from the lowest to the highest string.
    """
    notes: list[Note] = []
    for stroke in _strokes(sounding, rhythm, beats=beats):
        pitches = voicings[_index(sounding, stroke.start)]
        lag = spread / max(len(pitches) - 1, 1)
        notes += [
            Note(stroke.start + k * lag, length, pitch, stroke.velocity)
            for k, pitch in enumerate(pitches)
        ]
    return tuple(notes)


def broken(
    sounding: Sequence[Change],
    voicings: Sequence[Sequence[float]],
    order: Sequence[int],
    *,
    step: float,
    length: float,
    velocity: float = 0.6,
) -> tuple[Note, ...]:
    """Return broken chords: the tones by number, one each `step` beats; −1 is a rest.

    A number beyond the chord is its first tone an octave higher, and so on.
    """
    notes: list[Note] = []
    for change, pitches in zip(sounding, voicings, strict=True):
        for k in range(round(change.length / step)):
            place = order[k % len(order)]
            if place >= 0:
                octave, tone = divmod(place, len(pitches))
                accent = 1.0 if k % len(order) == 0 else 0.82
                notes.append(
                    Note(
                        change.start + k * step,
                        length,
                        pitches[tone] + 12 * octave,
                        velocity * accent,
                    )
                )
    return tuple(notes)


def bass(
    sounding: Sequence[Change],
    figure: Sequence[tuple[float, float, str]],
    *,
    beats: int,
    low: float,
    velocity: float = 0.75,
) -> tuple[Note, ...]:
    """Return a bass figure in every bar: (beat in the bar, length, tone of the chord at that time).

    Tones: `root`, `third`, `fifth`, `octave` (of the root), and `next`, a step beside the root
    to come.
    """
    notes: list[Note] = []
    first, last = _bounds(sounding)
    for bar in range(round((last - first) / beats)):
        for offset, length, tone in figure:
            start = first + bar * beats + offset
            pitch = _bass_tone(sounding, start, start + length, tone, low)
            notes.append(
                Note(start, length * 0.92, pitch, velocity * (1.0 if offset == 0 else 0.88))
            )
    return tuple(notes)


def walking(
    rng: np.random.Generator, sounding: Sequence[Change], *, low: float, velocity: float = 0.7
) -> tuple[Note, ...]:
    """Return a walking bass: a chord's root when it comes, its tones, and a step into the next."""
    first, last = _bounds(sounding)
    notes: list[Note] = []
    pitch = low + 5
    for k in range(round(last - first)):
        start = first + k
        chord = at(sounding, start)
        if chord is not at(sounding, start - 1) or k == 0:
            pitch = nearest(within([chord.root], low, low + 14), pitch)
        elif at(sounding, start + 1) is not chord:
            pitch = _bass_tone(sounding, start, start + 1, "next", low)
        else:
            tones = [t for t in chord.between(low, low + 16) if t != pitch and abs(t - pitch) <= 7]
            pitch = float(rng.choice(tones)) if tones else pitch
        notes.append(Note(start, 0.9, pitch, velocity))
    return tuple(notes)


def struck(
    rhythm: str, *, first: int, bars: int, beats: int, length: float = 0.25
) -> tuple[Note, ...]:
    """Return drum strokes: `X` loud, `x` firm, `o` lighter, `-` a ghost, `.` none.

    A blank parts bars; a rhythm of several bars is repeated.

    >>> [(note.start, note.velocity) for note in struck("x.o.", first=1, bars=1, beats=4)]
    [(4.0, 0.8), (6.0, 0.55)]
    """
    patterns = rhythm.split()
    return tuple(
        Note((first + bar) * beats + place * beats / len(pattern), length, 60.0, _STROKES[mark])
        for bar in range(bars)
        for pattern in [patterns[bar % len(patterns)]]
        for place, mark in enumerate(pattern)
        if mark in _STROKES
    )


def _strokes(sounding: Sequence[Change], rhythm: str, *, beats: int) -> tuple[Note, ...]:
    first, last = _bounds(sounding)
    bars = round((last - first) / beats)
    return tuple(n.moved(first) for n in struck(rhythm, first=0, bars=bars, beats=beats))


def _bounds(sounding: Sequence[Change]) -> tuple[float, float]:
    return sounding[0].start, sounding[-1].start + sounding[-1].length


def _index(sounding: Sequence[Change], beat: float) -> int:
    return max(k for k, change in enumerate(sounding) if change.start <= beat + 1e-9)


def _bass_tone(
    sounding: Sequence[Change], start: float, following: float, tone: str, low: float
) -> float:
    chord = at(sounding, start)
    root = within([chord.root], low, low + 11)[0]
    if tone == "root":
        return root
    if tone == "octave":
        return root + 12
    if tone == "third":
        return within([chord.tones[1]], root, root + 11)[0]
    if tone == "fifth":
        above = within([chord.fifth], root, root + 11)[0]
        return above if above <= low + 14 else above - 12
    target = within([at(sounding, following).root], low, low + 11)[0]
    return target - 1 if target > low + 5 else target + 2
