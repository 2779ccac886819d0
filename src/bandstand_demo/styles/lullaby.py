"""Lullabies for a music box, in three four time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass, broken
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = (
    ("I vi IV V", "IV I ii V"),
    ("I IV I V7", "vi iii IV V7"),
    ("I iii IV V", "vi IV ii V7"),
    ("I V vi IV", "ii V I V7"),
)
_MANNER: Final = Manner(
    rhythms=((1, 1, 1), (2, 1), (1.5, 0.5, 1), (1, 0.5, 0.5, 1), (0.5, 0.5, 1, 1)),
    low=74,
    high=91,
    plan="abac",
    legato=1.0,
)
_ORDERS: Final = ((0, 1, 2, 3, 2, 1), (0, 2, 1, 3, 1, 2), (0, 2, 3, 4, 3, 2))
_MUSIC_BOX: Final = Player("music_box", gain=0.5, pan=0.1, wet=0.35, ring=1.2)
_CELESTA: Final = Player("celesta", gain=0.36, wet=0.25, ring=0.8)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a music box that plays a tune over broken chords."""
    first, second = _PROGRESSIONS[sketch.turn % len(_PROGRESSIONS)]
    plan = {"intro": "I IV", "A": first, "B": second, "end": "IV/V I"}
    base = ground("intro:2 A:4 B:4 A:4 end:2", plan, sketch.key, beats=3)
    order = _ORDERS[sketch.variant % len(_ORDERS)]
    rocking = broken(
        base.changes, base.voicings(60, 76, 3), order, step=0.5, length=1.0, velocity=0.5
    )
    tune = base.tune(rng, _MANNER, "A", "B")
    close = Note(base.length - 3, 3.0, base.home(79), 0.6)
    low = bass(base.changes, [(0, 3, "root")], beats=3, low=48, velocity=0.5)
    second_box = "celesta" if sketch.variant % 2 else "music_box"
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        broadening=0.5,
        room=2.0,
        tail=2.2,
        parts=(
            _MUSIC_BOX.plays((*tune, close)),
            Player(second_box, gain=0.32, pan=-0.25, wet=0.3, ring=0.8).plays(rocking),
            _CELESTA.plays(low),
        ),
    )
