"""String quartets: four voices that listen to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import Ground, ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "major": (
        ("I vi/ii V7 I", "vi iii/IV I/V I/V7"),
        ("I IV/V vi/IV ii/V7", "IV I ii/V7 I"),
        ("I V/vi IV/ii V7", "ii/V7 I/vi IV/V7 I"),
    ),
    "harmonic minor": (
        ("i iv/V7 i ♭VI/V7", "♭III/♭VII ♭VI/iv i/V7 i"),
        ("i V7/i iv/i V7", "♭VI ♭III/iv i/V7 i"),
    ),
}
_TUNE: Final = Manner(
    rhythms=((2, 1, 1), (1.5, 0.5, 1, 1), (1, 1, 2), (1, 0.5, 0.5, 1, 1), (3, 0.5, 0.5)),
    low=67,
    high=86,
    plan="abac",
    legato=1.0,
    loudness=0.7,
)
# How the inner voices move within a chord: held, in crotchets, in quavers after the beat.
_INNER: Final = ((0.0,), (0.0, 1.0), (0.5, 1.0, 1.5), (0.0, 1.0))
_BASSES: Final = (
    ((0, 2, "root"), (2, 2, "root")),
    ((0, 2, "root"), (2, 1, "root"), (3, 1, "third")),
)
_VIOLIN: Final = Player("violin", gain=0.36, pan=-0.45, wet=0.3, looseness=0.012, ring=0.06)
_SECOND_VIOLIN: Final = Player("violin", gain=0.28, pan=-0.15, wet=0.3, looseness=0.012, ring=0.06)
_VIOLA: Final = Player("viola", gain=0.30, pan=0.15, wet=0.3, looseness=0.012, ring=0.06)
_CELLO: Final = Player("cello", gain=0.40, pan=0.45, wet=0.28, looseness=0.01, ring=0.06)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a first violin that leads, two inner voices and a cello."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    home = first.split()[0]
    plan = {"A": first, "B": second, "end": home}
    base = ground("A:4 B:4 A:4 end:1", plan, sketch.key, beats=4)
    tune = base.tune(rng, _TUNE, "A", "B")
    last = Note(base.length - 4, 3.6, base.home(72), 0.6)
    second_violin, viola = _inner(base, _INNER[sketch.variant % len(_INNER)])
    low = bass(base.changes, _BASSES[sketch.variant % 2], beats=4, low=36, velocity=0.65)
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        broadening=0.7,
        room=2.0,
        tail=2.0,
        parts=(
            _VIOLIN.plays((*tune, last)),
            _SECOND_VIOLIN.plays(second_violin),
            _VIOLA.plays(viola),
            _CELLO.plays(low),
        ),
    )


def _inner(base: Ground, offsets: tuple[float, ...]) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """Return the second violin and the viola: two voices, in a rhythm within each two beats."""
    upper: list[Note] = []
    lower: list[Note] = []
    for change, (below, above) in zip(base.changes, base.voicings(55, 69, 2), strict=True):
        final = change is base.changes[-1]
        for half in range(0, int(change.length), 2):
            inside = (0.0,) if final else offsets
            for place, offset in enumerate(inside):
                end = inside[place + 1] if place + 1 < len(inside) else 2.0
                start = change.start + half + offset
                upper.append(Note(start, end - offset, above, 0.55))
                lower.append(Note(start, end - offset, below, 0.55))
    return tuple(upper), tuple(lower)
