"""From a style to the notes of each player.

A part of a style is an instrument with a role, and a role makes notes over the chords of a piece.
Where a part has several instruments or figures, the place of the piece among those of its style,
its variant, takes one after the other.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeAlias

import numpy as np

from bandstand_demo.notes import (
    Change,
    Clock,
    Key,
    Manner,
    Note,
    at,
    changes,
    melody,
    nearest,
    parallel,
    steps,
    voicings,
    within,
)

P = ParamSpec("P")
Role: TypeAlias = "Callable[[Ground], list[Note]]"
# The instrument of a variant, its part and its notes.
Line: TypeAlias = "tuple[str, Part, list[Note]]"

_STROKES: Final = {"X": 1.0, "x": 0.8, "o": 0.55, ",": 0.32}
_MINOR: Final = ("minor", "harmonic minor", "dorian")


@dataclass(frozen=True, slots=True)
class Part:
    """An instrument, its place in the mix and its role."""

    instruments: str  # of the variants, in turn
    mix: tuple[float, float, float]  # gain, pan from −1 to 1, how much goes to the room
    role: Role
    echo: float = 0.0  # how much of it comes back as an echo
    sections: str = ""  # only in these; in all of them unless given


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A kind of music."""

    name: str
    tempos: tuple[float, float]  # beats in a minute: the slowest and the fastest
    beats: int = 4  # in a bar
    plan: str  # sections and their bars: `intro:2 A:8 B:8 end:1`
    chords: str  # on each line a scale, the chords of A, and after `|` those of B
    end: str = "home"
    parts: tuple[Part, ...]
    swing: float = 0.5
    looseness: float = 0.006  # standard deviation of the timing, in seconds
    room: float = 1.2  # seconds until the room is silent (−60 dB)

    @property
    def progressions(self) -> list[tuple[str, str]]:
        """A scale and its chords for each line."""
        lines = [line.partition(": ") for line in self.chords.strip().splitlines()]
        return [(mode.strip(), words) for mode, _, words in lines]


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of bars with a name, intro, A, B or end, and its chords."""

    name: str
    first: float  # beat
    last: float
    changes: list[Change]

    def holds(self, beat: float) -> bool:
        """Return whether a beat lies in the section."""
        return self.first <= beat + 1e-9 < self.last


@dataclass(frozen=True, slots=True)
class Ground:
    """What a piece is built on: key, bars and the chords through all of them."""

    key: Key
    beats: int  # in a bar
    variant: int
    sections: list[Section]
    rng: np.random.Generator
    tune: list[Note] = field(default_factory=list)  # filled by the part that has the tune

    @property
    def changes(self) -> list[Change]:
        """The chords of all sections."""
        return [change for section in self.sections for change in section.changes]

    def rhythm(self, options: str) -> Iterator[tuple[float, float, str]]:
        """Yield (start, length, mark) through all bars; bars of the pattern take turns.

        At the end only the first mark of a bar is left, as long as the bar.
        """
        patterns = options.split("|")
        bars = patterns[self.variant % len(patterns)].split()
        for bar in range(round(self.sections[-1].last / self.beats)):
            start, written = bar * self.beats, steps(bars[bar % len(bars)], self.beats)
            if self.sections[-1].name == "end" and self.sections[-1].holds(start):
                written = [(0.0, float(self.beats), mark) for _, _, mark in written[:1]]
            for offset, length, mark in written:
                yield start + offset, length, mark


@dataclass(frozen=True, slots=True)
class Score:
    """A whole piece as notes."""

    style: Style
    clock: Clock
    lines: list[Line]


def compose(style: Style, tempo: float, key: Key, variant: int, rng: np.random.Generator) -> Score:
    """Return a piece of a style; variants differ in chords, instruments and figures."""
    ground = Ground(key, style.beats, variant, list(_sections(style, key, variant)), rng)
    lines = [_line(part, ground) for part in style.parts]
    # People slow down where a piece ends; machines do not.
    broadening = 0.5 if "end" in style.plan and style.looseness else 0.0
    return Score(style, Clock(tempo, ground.sections[-1].last, style.swing, broadening), lines)


def _sections(style: Style, key: Key, variant: int) -> Iterator[Section]:
    options = [words for mode, words in style.progressions if mode == key.mode]
    modes = len({mode for mode, _ in style.progressions})
    chords, _, answer = options[variant // modes % len(options)].partition(" | ")
    words = {"A": chords, "B": answer or chords}
    words["end"] = style.end.replace("home", "i" if key.mode in _MINOR else "I")
    first = 0
    for name, _, count in (word.partition(":") for word in style.plan.split()):
        bars = int(count)
        # An introduction leads into A as its last bars do.
        here = words["A"].split()[-bars:] if name == "intro" else words[name].split()
        found = changes(here, key, first=first, bars=bars, beats=style.beats)
        yield Section(name, first * style.beats, (first + bars) * style.beats, found)
        first += bars


def _line(part: Part, ground: Ground) -> Line:
    names, wanted = part.instruments.split(), part.sections.split()
    spans = [one for one in ground.sections if not wanted or one.name in wanted]
    notes = [n for n in part.role(ground) if any(span.holds(n.start) for span in spans)]
    return names[ground.variant % len(names)], part, notes


def _role(function: Callable[Concatenate[Ground, P], list[Note]]) -> Callable[P, Role]:
    """Let a role be written in a style without the ground, which it gets in a piece."""

    @wraps(function)
    def described(*args: P.args, **kwargs: P.kwargs) -> Role:
        return lambda ground: function(ground, *args, **kwargs)

    return described


@_role
def tune(ground: Ground, manner: Manner, sections: str = "A B") -> list[Note]:
    """Return a tune for each section, the same wherever it comes back, and a last long tone."""
    found: list[Note] = []
    for name in sections.split():
        first, *others = [one for one in ground.sections if one.name == name]
        sung = melody(ground.rng, manner, ground.key, first.changes, ground.beats)
        found += sung
        for other in others:
            moved = [replace(n, start=n.start + other.first - first.first) for n in sung]
            found += [note for note in moved if other.holds(note.start)]
    if ground.sections[-1].name == "end":
        last = max(found, key=lambda note: note.start)
        pitch = nearest(within([ground.key.tonic], manner.low, manner.high), last.pitch)
        start = ground.sections[-1].last - ground.beats
        found.append(Note(start, 0.8 * ground.beats, pitch, manner.velocity))
    ground.tune.extend(found)
    return found


@_role
def doubled(ground: Ground, moved: int) -> list[Note]:
    """Return the tune again, some steps of the scale higher."""
    return parallel(ground.tune, ground.key, moved)


@_role
def chords(
    ground: Ground,
    low: int,
    high: int,
    voices: int = 4,
    rhythm: str = "",
    legato: float = 1.0,
    velocity: float = 1.0,
) -> list[Note]:
    """Return chords, or single tones of them, in a rhythm.

    A digit is one tone of the chord, counted from the lowest; a number beyond the chord is its
    first tone an octave higher, and so on. Without a rhythm each chord is held.
    """
    sounding, found = ground.changes, []
    voiced = voicings([change.chord for change in sounding], low, high, voices)
    held = [(change.start, change.length, "x") for change in sounding]
    for start, length, mark in ground.rhythm(rhythm) if rhythm else held:
        pitches = voiced[max(k for k, one in enumerate(sounding) if one.start <= start + 1e-9)]
        level = velocity * _STROKES.get(mark, 0.6)
        if mark.isdigit() and length < ground.beats:
            octave, tone = divmod(int(mark), len(pitches))
            pitches = (pitches[tone] + 12 * octave,)
        found += [Note(start, length * legato, pitch, level) for pitch in pitches]
    return found


@_role
def bass(ground: Ground, figures: str, low: int, velocity: float = 0.75) -> list[Note]:
    """Return a bass: `r` root, `t` third, `f` fifth, `o` the root's octave, `n` beside the next."""
    sounding, found = ground.changes, []
    for start, length, mark in ground.rhythm(figures):
        chord = at(sounding, start)
        root, following = (
            within(c[:1], low, low + 11)[0] for c in (chord, at(sounding, start + length))
        )
        fifth = root + (6 if (root + 6) % 12 in chord else 7)
        tones = {
            "r": root,
            "o": root + 12,
            "t": within(chord[1:2], root, root + 11)[0],
            "f": fifth if fifth <= low + 14 else fifth - 12,
            "n": following - 1 if following > low + 5 else following + 2,
        }
        level = velocity * (1.0 if start % ground.beats == 0 else 0.88)
        found.append(Note(start, 0.92 * length, tones[mark], level))
    return found


@_role
def drum(ground: Ground, patterns: str) -> list[Note]:
    """Return strokes: `X` loud, `x` firm, `o` lighter, `,` a ghost."""
    return [Note(start, 0.25, 60, _STROKES[mark]) for start, _, mark in ground.rhythm(patterns)]
