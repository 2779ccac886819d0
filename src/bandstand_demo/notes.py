"""Pitches, chords, notes, rhythms and tunes.

A pitch is a MIDI number: 69 is the A of 440 Hz, one unit is a semitone. A pitch class is a pitch
modulo 12; C is 0. A chord is a tuple of pitch classes, the root first; it is written as a Roman
numeral counted from the tonic of the major scale, so that `♭VI` in A minor is F major; upper case
is a major chord, lower case a minor one; the ending names the other tones: `ii7 V7 Imaj7`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise
from typing import Final, TypeAlias

import numpy as np

Chord: TypeAlias = tuple[int, ...]

# Semitones above the tonic.
SCALES: Final[dict[str, tuple[int, ...]]] = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "minor": (0, 2, 3, 5, 7, 8, 10),
    "harmonic minor": (0, 2, 3, 5, 7, 8, 11),
    "dorian": (0, 2, 3, 5, 7, 9, 10),
    "mixolydian": (0, 2, 4, 5, 7, 9, 10),
    "lydian": (0, 2, 4, 6, 7, 9, 11),
}
_NUMERALS: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii")
_SYMBOL: Final = re.compile("(♭?)([ivIV]+)")
# Semitones above the root for each ending; 3 is the third, minor after a lower-case numeral.
_TONES: Final[dict[str, tuple[int, ...]]] = {
    "": (0, 3, 7),
    "6": (0, 3, 7, 9),
    "7": (0, 3, 7, 10),
    "maj7": (0, 3, 7, 11),
    "9": (0, 3, 10, 14),
    "maj9": (0, 3, 11, 14),
    "add9": (0, 3, 7, 14),
    "13": (0, 3, 10, 21),
    "♭9": (0, 3, 10, 13),
    "sus": (0, 5, 7),
    "ø": (0, 3, 6, 10),
}


@dataclass(frozen=True, slots=True)
class Key:
    """A tonic (a pitch class) and the name of the scale above it."""

    tonic: int
    mode: str

    def ladder(self, low: float, high: float) -> tuple[int, ...]:
        """Return the pitches of the scale from `low` to `high`, both included, upwards."""
        return within([self.tonic + step for step in SCALES[self.mode]], low, high)


@dataclass(frozen=True, slots=True)
class Change:
    """A chord and how long it lasts, in beats."""

    start: float
    length: float
    chord: Chord


@dataclass(frozen=True, slots=True)
class Note:
    """One note; for a drum the pitch does not matter."""

    start: float  # beats from the beginning of the piece
    length: float  # beats
    pitch: int
    velocity: float  # (0, 1]


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of each beat: swing within a beat, and a slower end."""

    tempo: float  # beats in a minute
    beats: float  # until the end of the last bar
    swing: float = 0.5  # where the second quaver of a beat falls; 2/3 is a triplet
    broadening: float = 0.0  # how much slower the very end is, in parts of the tempo

    def seconds(self, beat: float) -> float:
        """Return the time of a beat.

        >>> clock = Clock(tempo=60, beats=16, swing=0.6)
        >>> [round(clock.seconds(beat), 2) for beat in (1, 1.25, 1.5, 1.75, 2)]
        [1.0, 1.3, 1.6, 1.8, 2.0]
        """
        whole, part = divmod(beat, 1.0)
        late = max(0.0, part - 0.5)
        straight = whole + 2.0 * (self.swing * (part - late) + (1.0 - self.swing) * late)
        # A parabola: the tempo falls evenly over the last four beats.
        over = max(0.0, straight - (self.beats - 4.0))
        return (straight + self.broadening * over * over / 8.0) * 60.0 / self.tempo

    def duration(self, note: Note) -> float:
        """Return how many seconds a note lasts."""
        return self.seconds(note.start + note.length) - self.seconds(note.start)


def hertz(pitch: float) -> float:
    """Return the frequency of a pitch in equal temperament."""
    return float(440.0 * 2.0 ** ((pitch - 69.0) / 12.0))


def within(classes: Iterable[int], low: float, high: float) -> tuple[int, ...]:
    """Return all pitches of these pitch classes from `low` to `high`, upwards."""
    found = {c % 12 + 12 * octave for c in classes for octave in range(11)}
    return tuple(sorted(pitch for pitch in found if low <= pitch <= high))


def nearest(pitches: Iterable[int], wanted: float) -> int:
    """Return the pitch that is nearest to `wanted`; of two, the lower one."""
    return min(pitches, key=lambda pitch: (abs(pitch - wanted), pitch))


def chord(symbol: str, key: Key) -> Chord:
    """Return the chord that a Roman numeral means in a key.

    >>> chord("V7", Key(0, "major")), chord("♭VI", Key(9, "minor"))
    ((7, 11, 2, 5), (5, 9, 0))
    """
    _, flat, numeral, ending = _SYMBOL.split(symbol)
    root = key.tonic + SCALES["major"][_NUMERALS.index(numeral.lower())] - len(flat)
    raised = numeral.isupper()
    return tuple((root + tone + (tone == 3 and raised)) % 12 for tone in _TONES[ending])


def changes(words: Sequence[str], key: Key, *, first: int, bars: int, beats: int) -> list[Change]:
    """Return the chords of bars from bar `first` on: a word is a bar, which `ii7/V7` share.

    Words that are too few for the bars begin again.
    """
    found = []
    for bar in range(bars):
        symbols = words[bar % len(words)].split("/")
        length = beats / len(symbols)
        for place, symbol in enumerate(symbols):
            start = (first + bar) * beats + place * length
            found.append(Change(start, length, chord(symbol, key)))
    return found


def at(sounding: Sequence[Change], beat: float) -> Chord:
    """Return the chord at a beat; before the first one the first, after the last one the last."""
    past = [change for change in sounding if change.start <= beat + 1e-9]
    return (past[-1] if past else sounding[0]).chord


def voicings(chords: Sequence[Chord], low: int, high: int, voices: int) -> list[tuple[int, ...]]:
    """Return pitches for each chord, each led smoothly from the one before."""
    found: list[tuple[int, ...]] = []
    for tones in chords:
        found.append(_voicing(tones, found[-1] if found else None, low, high, voices))
    return found


@cache
def _voicing(
    tones: Chord, previous: tuple[int, ...] | None, low: int, high: int, voices: int
) -> tuple[int, ...]:
    """Return pitches for a chord, upwards, that move as little as they can from the previous ones.

    The third and the seventh, which make the chord what it is, are always there where there is
    room; close seconds deep down and gaps of more than an octave are avoided.
    """
    options = combinations(within(tones, low, high), voices)
    return min(options, key=lambda option: (_cost(tones, previous, option), option))


def _cost(tones: Chord, previous: tuple[int, ...] | None, option: tuple[int, ...]) -> float:
    classes = {pitch % 12 for pitch in option}
    # How much each tone would be missed; the fifth least.
    weights = (6.0, 20.0, 4.0 if len(tones) > 3 else 8.0, 14.0)
    cost = sum(w for tone, w in zip(tones, weights, strict=False) if tone not in classes)
    for lower, upper in pairwise(option):
        gap = upper - lower
        cost += 5.0 * (gap < 2) + 4.0 * (gap < 3 and lower < 55) + 3.0 * (gap > 9)
    if previous is None:
        return cost + 0.1 * (option[-1] - option[0])
    moves = [abs(new - old) for new, old in zip(option, previous, strict=True)]
    return cost + sum(moves) + 0.5 * max(moves)


def steps(bar: str, beats: int) -> list[tuple[float, float, str]]:
    """Return (offset, length, mark) in beats for each note of a bar that is written in steps.

    A mark begins a note, `-` goes on with it, `.` is silence.

    >>> steps("x--xr-..", 4)
    [(0.0, 1.5, 'x'), (1.5, 0.5, 'x'), (2.0, 1.0, 'r')]
    """
    step = beats / len(bar)
    found = []
    for place, mark in enumerate(bar):
        if mark not in "-.":
            held = len(bar[place + 1 :]) - len(bar[place + 1 :].lstrip("-"))
            found.append((place * step, (1 + held) * step, mark))
    return found


# ── Tunes: a motif, its repetition on other chords, an answer, a close ─────────────────

# Chord tones where the beat is strong, steps of the scale between them, no leap beyond a sixth,
# repetition of rhythm and contour, a long chord tone at the end of a phrase.


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
