"""Waltzes for an accordion and a small band, as danced in Paris."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner, in_thirds
from bandstand_demo.patterns import bass, strummed
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "harmonic minor": (
        ("i i iv iv V7 V7 i V7", "iv iv i i V7 V7 i i"),
        ("i V7 i i iv i V7 i", "♭III ♭VII ♭III ♭III iv i V7 i"),
        ("i i V7 V7 V7 V7 i i", "♭VI ♭VI i i V7 V7 i i"),
    ),
    "major": (
        ("I I V7 V7 V7 V7 I I", "IV IV I I V7 V7 I I"),
        ("I vi ii V7 I vi V7 I", "IV IV I I II7 II7 V7 V7"),
        ("I I ii ii V7 V7 I V7", "vi vi ii ii V7 V7 I I"),
    ),
}
_TUNE: Final = Manner(
    rhythms=((3,), (2, 1), (1, 1, 1), (1, 0.5, 0.5, 0.5, 0.5), (1.5, 0.5, 1), (0.5, 0.5, 1, 1)),
    low=66,
    high=84,
    plan="abacabad",
)
_STRUMMERS: Final = ("piano", "nylon_guitar", "piano")
_ACCORDION: Final = Player("accordion", gain=0.34, pan=0.15, wet=0.2)
_SECOND_ACCORDION: Final = Player("accordion", gain=0.22, pan=-0.3, wet=0.2)
_UPRIGHT_BASS: Final = Player("upright_bass", gain=0.42, wet=0.08, ring=0.1)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a bass on one, chords on two and three, and an accordion that sings above."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    home, dominant = first.split()[0], "V7"
    plan = {"intro": f"{home} {dominant}", "A": first, "B": second, "end": f"{dominant} {home}"}
    base = ground("intro:2 A:8 B:8 A:8 end:2", plan, sketch.key, beats=3)
    low = bass(base.changes, [(0, 1, "root")], beats=3, low=36)
    pah = strummed(base.changes, base.voicings(57, 73, 3), ".xo", beats=3, length=0.55, spread=0.02)
    tune = (*base.tune(rng, _TUNE, "A", "B"), Note(base.length - 3, 2.5, base.home(72), 0.8))
    partner = base.only(in_thirds(tune, base.key), "B" if sketch.variant % 2 else "A")
    strummer = _STRUMMERS[sketch.variant % len(_STRUMMERS)]
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        broadening=0.5,
        room=1.1,
        parts=(
            _ACCORDION.plays(tune),
            _SECOND_ACCORDION.plays(partner),
            Player(strummer, gain=0.15, pan=-0.2, wet=0.15).plays(pah),
            _UPRIGHT_BASS.plays(low),
        ),
    )
