"""The plan of a piece: its sections, and which chord sounds when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand_demo.chords import Chord, chord, voicing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_demo.pitches import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of bars with a name: intro, A, B, end."""

    name: str
    first: int  # bar, counted from 0
    bars: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A chord and how long it lasts, in beats."""

    start: float
    length: float
    chord: Chord


def sections(plan: str) -> tuple[Section, ...]:
    """Return the sections of a plan such as `intro:2 A:8 B:8 A:8 end:2`.

    >>> [(section.name, section.first) for section in sections("intro:2 A:8 end:1")]
    [('intro', 0), ('A', 2), ('end', 10)]
    """
    found: list[Section] = []
    first = 0
    for word in plan.split():
        name, _, bars = word.partition(":")
        found.append(Section(name=name, first=first, bars=int(bars)))
        first += int(bars)
    return tuple(found)


def changes(progression: str, key: Key, *, first: int, bars: int, beats: int) -> tuple[Change, ...]:
    """Return the chords of some bars from bar `first` on, of `beats` beats each.

    A word is a bar; `ii7/V7` shares a bar between two chords. A progression that is shorter
    than the section begins again.
    """
    words = progression.split()
    found: list[Change] = []
    for bar in range(bars):
        symbols = words[bar % len(words)].split("/")
        length = beats / len(symbols)
        found.extend(
            Change(
                start=(first + bar) * beats + k * length, length=length, chord=chord(symbol, key)
            )
            for k, symbol in enumerate(symbols)
        )
    return tuple(found)


def at(sounding: Sequence[Change], beat: float) -> Chord:
    """Return the chord at a beat; after the last one, the last."""
    past = [change for change in sounding if change.start <= beat + 1e-9]
    return (past[-1] if past else sounding[0]).chord


def voiced(
    sounding: Sequence[Change], *, low: float, high: float, voices: int
) -> tuple[tuple[float, ...], ...]:
    """Return pitches for each chord, each led smoothly from the one before."""
    found: list[tuple[float, ...]] = []
    for change in sounding:
        previous = found[-1] if found else None
        found.append(voicing(change.chord, previous, low, high, voices))
    return tuple(found)
