"""A piece of music as notes, and when each of them sounds.

Times are in beats until the very end; `Clock` turns them into seconds, with the swing of a
jazz quaver and the broadening of the last bars.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Note:
    """One note; for a drum the pitch does not matter."""

    start: float  # beats from the beginning of the piece
    length: float  # beats
    pitch: float
    velocity: float  # (0, 1]

    def moved(self, beats: float, *, pitch: float = 0.0) -> Note:
        """Return the note later by `beats` and higher by `pitch`."""
        return Note(self.start + beats, self.length, self.pitch + pitch, self.velocity)

    def scaled(self, factor: float) -> Note:
        """Return the note with its velocity multiplied, at most 1."""
        return Note(self.start, self.length, self.pitch, min(1.0, self.velocity * factor))


@dataclass(frozen=True, slots=True)
class Player:
    """Somebody with an instrument: how loud, where, in which room, how exact."""

    instrument: str
    _: KW_ONLY
    gain: float
    pan: float = 0.0  # from −1, left, to 1, right
    wet: float = 0.15  # how much of it goes to the room
    echo: float = 0.0  # how much of it comes back after `Score.echo_beats`
    looseness: float = 0.006  # standard deviation of the timing, in seconds
    ring: float = 0.0  # seconds that a note goes on sounding after its end

    def plays(self, notes: Iterable[Note]) -> Part:
        """Return what this player plays in a piece."""
        return Part(player=self, notes=tuple(notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A player and the notes."""

    player: Player
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A whole piece."""

    tempo: float  # beats in a minute
    beats: float  # until the end of the last bar
    parts: tuple[Part, ...]
    swing: float = 0.5  # where the second quaver of a beat falls; 2/3 is a triplet
    broadening: float = 0.0  # how much slower the very end is, in parts of the tempo
    room: float = 1.2  # seconds until the room is silent (−60 dB)
    echo_beats: float = 0.75
    fade: float = 1.5  # seconds of fading at the end
    tail: float = 1.5  # seconds after the last bar

    @property
    def clock(self) -> Clock:
        """The clock that this piece goes by."""
        return Clock(
            tempo=self.tempo, swing=self.swing, beats=self.beats, broadening=self.broadening
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """When a beat sounds."""

    tempo: float
    swing: float
    beats: float
    broadening: float

    def seconds(self, beat: float) -> float:
        """Return the time of a beat.

        >>> clock = Clock(tempo=60, swing=0.6, beats=16, broadening=0.0)
        >>> [round(clock.seconds(beat), 2) for beat in (1, 1.25, 1.5, 1.75, 2)]
        [1.0, 1.3, 1.6, 1.8, 2.0]
        """
        whole, part = divmod(beat, 1.0)
        bent = (
            part * 2.0 * self.swing
            if part < 0.5
            else self.swing + (part - 0.5) * 2.0 * (1.0 - self.swing)
        )
        straight = whole + bent
        # A parabola: the tempo falls evenly over the last four beats.
        late = max(0.0, straight - (self.beats - 4.0))
        return (straight + self.broadening * late * late / 8.0) * 60.0 / self.tempo

    def duration(self, note: Note) -> float:
        """Return how many seconds a note lasts."""
        return self.seconds(note.start + note.length) - self.seconds(note.start)


def shifted(notes: Iterable[Note], beats: float, *, pitch: float = 0.0) -> tuple[Note, ...]:
    """Return the notes later by `beats` and higher by `pitch`."""
    return tuple(note.moved(beats, pitch=pitch) for note in notes)
