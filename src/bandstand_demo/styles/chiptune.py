"""Chiptunes: two pulses, a triangle and a noise, as in an early game console."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass, broken, struck
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "major": (
        ("I V vi IV I V IV V", "vi IV I V vi IV V V"),
        ("I IV V I vi ii V V", "IV V iii vi ii V I V"),
    ),
    "minor": (
        ("i ♭VI ♭III ♭VII i ♭VI iv V", "♭VI ♭VII i i ♭VI ♭VII V V"),
        ("i i ♭VII ♭VII ♭VI ♭VI V V", "iv ♭VII ♭III ♭VI iv V i V"),
    ),
    "mixolydian": (
        ("I ♭VII IV I I ♭VII IV V", "IV IV I I ♭VII IV V V"),
        ("I I ♭VII IV I I ♭VII IV", "ii IV I I ii IV V V"),
    ),
}
_TUNE: Final = Manner(
    rhythms=(
        (0.5, 0.5, 0.5, 0.5, 1, 1),
        (0.75, 0.75, 0.5, 1, 1),
        (1, 0.5, 0.5, 0.75, 0.75, 0.5),
        (0.5, 0.5, 1, 0.5, 0.5, 1),
        (0.75, 0.75, 0.5, 0.5, 0.5, 1),
    ),
    low=67,
    high=88,
    plan="abacabad",
    legato=0.85,
)
_ORDERS: Final = ((0, 1, 2, 3), (0, 1, 2, 1), (0, 2, 1, 3))
_LEADS: Final = ("square", "pulse", "square")
_FIGURE: Final = tuple((k / 2, 0.5, "octave" if k % 2 else "root") for k in range(8))
_DRIVING: Final = tuple((k / 2, 0.5, "fifth" if k in {5, 6} else "root") for k in range(8))
_PULSE: Final = Player("pulse", gain=0.21, pan=-0.35, wet=0.05, looseness=0.0)
_TRIANGLE: Final = Player("triangle", gain=0.20, wet=0.0, looseness=0.0)
_CHIP_KICK: Final = Player("chip_kick", gain=0.42, wet=0.0, looseness=0.0)
_CHIP_NOISE: Final = Player("chip_noise", gain=0.30, pan=0.1, wet=0.05, looseness=0.0)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a tune on one channel, fast broken chords on another, bass and noise."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    home = first.split()[0]
    plan = {"intro": first, "A": first, "B": second, "end": home}
    base = ground("intro:2 A:8 B:8 end:1", plan, sketch.key, beats=4)
    order = _ORDERS[sketch.variant % len(_ORDERS)]
    sparkle = broken(base.changes, base.voicings(60, 76, 3), order, step=0.25, length=0.22)
    low = bass(base.changes, (_FIGURE, _DRIVING)[sketch.variant % 2], beats=4, low=36)
    tune = base.tune(rng, _TUNE, "A", "B")
    last = Note(base.length - 4, 2.0, base.home(72), 0.8)
    bars = base.bars - 1
    playing = ("intro", "A", "B")
    lead = _LEADS[sketch.variant % len(_LEADS)]
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        room=0.7,
        echo_beats=0.75,
        tail=0.8,
        fade=1.0,
        parts=(
            Player(lead, gain=0.30, pan=0.1, wet=0.06, echo=0.25, looseness=0.0).plays(
                (*tune, last)
            ),
            _PULSE.plays(base.only(sparkle, *playing)),
            _TRIANGLE.plays(base.only(low, *playing)),
            _CHIP_KICK.plays(struck("x.....x.x.......", first=0, bars=bars, beats=4)),
            _CHIP_NOISE.plays(struck("-.-.x.-.-.-.x.-o", first=0, bars=bars, beats=4)),
        ),
    )
