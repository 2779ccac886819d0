"""The ground that a piece is built on, and what a style is asked to build there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand_demo.harmony import Change, Section, changes, sections, voiced
from bandstand_demo.melody import melody
from bandstand_demo.pitches import within
from bandstand_demo.score import Note, shifted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    from bandstand_demo.melody import Manner
    from bandstand_demo.pitches import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What is settled about a piece before it is composed."""

    tempo: float
    key: Key
    # The place of the piece among those of its style; it chooses among instruments and figures.
    variant: int
    # The same among those of its style and mode; it chooses among progressions.
    turn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """The sections of a piece and the chords through all of them."""

    key: Key
    beats: int  # in a bar
    sections: tuple[Section, ...]
    changes: tuple[Change, ...]

    @property
    def bars(self) -> int:
        """How many bars the piece has."""
        return self.sections[-1].first + self.sections[-1].bars

    @property
    def length(self) -> int:
        """How many beats the piece has."""
        return self.bars * self.beats

    @property
    def last(self) -> Section:
        """The last section."""
        return self.sections[-1]

    def named(self, *names: str) -> tuple[Section, ...]:
        """Return the sections of these names, in order."""
        return tuple(section for section in self.sections if section.name in names)

    def only(self, notes: Iterable[Note], *names: str) -> tuple[Note, ...]:
        """Return the notes that begin in sections of these names."""
        spans = [self._span(section) for section in self.named(*names)]
        return tuple(n for n in notes if any(a <= n.start + 1e-9 < b for a, b in spans))

    def chords(self, section: Section) -> tuple[Change, ...]:
        """Return the chords of one section."""
        first, last = self._span(section)
        return tuple(c for c in self.changes if first <= c.start + 1e-9 < last)

    def voicings(self, low: float, high: float, voices: int) -> tuple[tuple[float, ...], ...]:
        """Return pitches for all chords, led smoothly from the first to the last."""
        return voiced(self.changes, low=low, high=high, voices=voices)

    def home(self, low: float) -> float:
        """Return the lowest tonic at or above `low`, where a tune may end."""
        return within([self.key.tonic], low, low + 11)[0]

    def tune(self, rng: np.random.Generator, manner: Manner, *names: str) -> tuple[Note, ...]:
        """Return a tune for each name, the same wherever a section comes back."""
        notes: list[Note] = []
        for name in names:
            first, *others = self.named(name)
            sung = melody(rng, manner, self.key, self.chords(first))
            notes += sung
            for other in others:
                end = (other.first + other.bars) * self.beats
                moved = shifted(sung, (other.first - first.first) * self.beats)
                notes += [note for note in moved if note.start < end - 1e-9]
        return tuple(sorted(notes, key=lambda note: note.start))

    def _span(self, section: Section) -> tuple[float, float]:
        return section.first * self.beats, (section.first + section.bars) * self.beats


def ground(plan: str, progressions: Mapping[str, str], key: Key, *, beats: int) -> Ground:
    """Return the ground for a plan and a progression for the name of each section."""
    laid = sections(plan)
    sounding = [
        change
        for section in laid
        for change in changes(
            progressions[section.name], key, first=section.first, bars=section.bars, beats=beats
        )
    ]
    return Ground(key=key, beats=beats, sections=laid, changes=tuple(sounding))
