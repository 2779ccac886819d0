"""Ambient: slow pads under a few bells, with a great deal of room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import Ground, ground
from bandstand_demo.patterns import bass, held
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "major": (
        ("Imaj9 iii7 IVmaj9 vi9", "IVmaj9 Iadd9 ii9 Imaj9"),
        ("Iadd9 vi9 IVmaj9 Vsus", "vi9 IVmaj9 Iadd9 Imaj9"),
    ),
    "lydian": (
        ("Imaj9 IIadd9 Imaj9 vi9", "iii7 IIadd9 vi9 Imaj9"),
        ("Imaj9 vi9 IIadd9 Imaj9", "vi9 IIadd9 iii7 Imaj9"),
    ),
    "dorian": (
        ("i9 IVadd9 i9 ♭VIImaj9", "♭IIImaj9 IVadd9 ♭VIImaj9 i9"),
        ("i9 ♭VIImaj9 IVadd9 i9", "♭VIImaj9 IVadd9 ♭IIImaj9 i9"),
    ),
}
_PADS: Final = ("warm_pad", "choir", "warm_pad", "glass_pad", "warm_pad", "choir")
_BELLS: Final = ("celesta", "electric_piano", "harp")
_SUB_BASS: Final = Player("sub_bass", gain=0.24, wet=0.05, ring=0.3)
_SURF: Final = Player("surf", gain=0.22, wet=0.2, looseness=0.2)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return four chords, their answer, and bells that come when they like."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    base = ground("A:4 B:4", {"A": first, "B": second}, sketch.key, beats=4)
    carpet = held(base.changes, base.voicings(50, 74, 4), velocity=0.65)
    low = bass(base.changes, [(0, 4, "root")], beats=4, low=33, velocity=0.6)
    waves = [Note(4 * bar - 1, 7.5, float(rng.uniform(60, 68)), 0.6) for bar in (0.25, 2, 4, 6)]
    bells = _bells(base, rng, rate=0.30 + 0.04 * sketch.variant)
    pad, bell = _PADS[sketch.variant], _BELLS[sketch.variant % 3]
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        room=3.6,
        tail=2.0,
        fade=2.5,
        parts=(
            Player(pad, gain=0.55, wet=0.35, looseness=0.05, ring=1.6).plays(carpet),
            _SUB_BASS.plays(low),
            _SURF.plays(tuple(waves)),
            Player(bell, gain=0.30, pan=0.25, wet=0.7, echo=0.6, ring=2.5).plays(bells),
        ),
    )


def _bells(base: Ground, rng: np.random.Generator, *, rate: float) -> tuple[Note, ...]:
    """Return tones of the chords, high up, each beat with a chance of `rate`."""
    notes = []
    for change in base.changes:
        tones = change.chord.between(71, 90)
        for beat in range(int(change.length)):
            if rng.random() < rate:
                late = float(rng.choice([0.0, 0.5]))
                velocity = float(rng.uniform(0.3, 0.7))
                notes.append(
                    Note(change.start + beat + late, 1.0, float(rng.choice(tones)), velocity)
                )
    return tuple(notes)
