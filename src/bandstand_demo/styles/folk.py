"""Folk: a steel-string guitar, picked, and a tune to walk by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass, broken
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "major": (
        ("I IV I V", "vi IV I V"),
        ("I vi IV V", "IV I ii V"),
        ("I iii IV V", "vi iii IV V"),
    ),
    "dorian": (
        ("i ♭VII i ♭VII", "♭III ♭VII IV i"),
        ("i IV ♭VII i", "♭III IV ♭VII i"),
    ),
    "mixolydian": (
        ("I ♭VII IV I", "IV I ♭VII I"),
        ("I IV ♭VII I", "v IV ♭VII I"),
    ),
}
_TUNE: Final = Manner(
    rhythms=(
        (1, 0.5, 0.5, 1, 1),
        (1.5, 0.5, 1, 1),
        (0.5, 0.5, 1, 1, 1),
        (1, 1, 0.5, 0.5, 1),
        (2, 1, 1),
    ),
    low=66,
    high=84,
    plan="abac",
)
# The treble fingers between the strokes of the thumb.
_FINGERS: Final = ((-1, 2, 1, 3, -1, 2, 1, 3), (3, 1, 2, 1, 3, 1, 2, 1), (-1, 1, 3, 2, -1, 1, 2, 3))
_THUMB: Final = ((0, 1, "root"), (1, 1, "fifth"), (2, 1, "octave"), (3, 1, "fifth"))
_LEADS: Final = ("whistle", "flute", "steel_guitar")
_HIGH_STRINGS: Final = Player(
    "steel_guitar", gain=0.13, pan=-0.2, wet=0.15, looseness=0.008, ring=0.4
)
_LOW_STRINGS: Final = Player(
    "steel_guitar", gain=0.15, pan=-0.1, wet=0.12, looseness=0.008, ring=0.3
)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return an alternating thumb, busy fingers, and a whistle, a flute or a second guitar."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    home = first.split()[0]
    plan = {"intro": first, "A": first, "B": second, "end": home}
    base = ground("intro:2 A:4 B:4 A:4 end:1", plan, sketch.key, beats=4)
    fingers = broken(
        base.changes,
        base.voicings(55, 71, 4),
        _FINGERS[sketch.variant % len(_FINGERS)],
        step=0.5,
        length=1.0,
    )
    thumb = bass(base.changes, _THUMB, beats=4, low=40, velocity=0.7)
    tune = base.tune(rng, _TUNE, "A", "B")
    last = Note(base.length - 4, 3.0, base.home(70), 0.7)
    lead = _LEADS[sketch.variant % len(_LEADS)]
    gain = {"whistle": 0.16, "flute": 0.22, "steel_guitar": 0.17}[lead]
    playing = ("intro", "A", "B")
    strum = tuple(
        Note(base.length - 4 + 0.04 * k, 4.0, pitch, 0.6)
        for k, pitch in enumerate(base.changes[-1].chord.between(43, 72))
    )
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        broadening=0.5,
        room=1.2,
        tail=1.8,
        parts=(
            Player(lead, gain=gain, pan=0.25, wet=0.3, looseness=0.012, ring=0.1).plays(
                (*tune, last)
            ),
            _HIGH_STRINGS.plays((*base.only(fingers, *playing), *strum)),
            _LOW_STRINGS.plays(base.only(thumb, *playing)),
        ),
    )
