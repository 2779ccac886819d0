"""Drum and bass: a broken beat at full speed over a slow, deep bass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass, held, struck
from bandstand_demo.score import Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "minor": (
        "i9 i9 ♭VImaj7 ♭VImaj7 iv9 iv9 ♭VII ♭VII",
        "i9 i9 ♭IIImaj7 ♭IIImaj7 ♭VImaj7 ♭VImaj7 v7 v7",
    ),
    "dorian": (
        "i9 i9 IVadd9 IVadd9 ♭VIImaj7 ♭VIImaj7 i9 i9",
        "i9 i9 ♭VIImaj7 ♭VIImaj7 IVadd9 IVadd9 i9 i9",
    ),
}
# Kick and snare of three classic breaks, two bars each.
_BREAKS: Final = (
    ("X.........X..... X..X......X.....", "....X..-.-..X..- ....X..-.-..X.-o"),
    ("X.X.......X..... X.X.......XX....", "....X..-.-..X... ....X..-.-....X."),
    ("X.....X...X..... X.........X..X..", "....X.-.....X..- ....X..-....X-.-"),
)
_BASSES: Final = (
    ((0, 2.5, "root"), (2.5, 1.5, "fifth")),
    ((0, 1.5, "root"), (1.5, 1.0, "octave"), (2.5, 1.5, "root")),
    ((0, 3.0, "root"), (3.0, 1.0, "fifth")),
)
_TUNE: Final = Manner(
    rhythms=((1.5, 1.5, 1), (-1, 1, 2), (3, -1), (-0.5, 1.5, 2)),
    low=67,
    high=84,
    plan="abac",
    legato=0.9,
    loudness=0.6,
)
_KICK: Final = Player("kick", gain=0.62, wet=0.02, looseness=0.002)
_SNARE: Final = Player("snare", gain=0.68, wet=0.10, looseness=0.003)
_HAT: Final = Player("hat", gain=0.5, pan=0.2, wet=0.03, looseness=0.003)
_RIDE: Final = Player("ride", gain=0.4, pan=-0.25, wet=0.05, looseness=0.003)
_WARM_PAD: Final = Player("warm_pad", gain=0.32, wet=0.3, ring=0.4)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a break, a bass, a pad and a few high notes that echo."""
    progressions = _PROGRESSIONS[sketch.key.mode]
    loop = progressions[sketch.turn % len(progressions)]
    base = ground(
        "intro:4 A:8 B:8 A:4", dict.fromkeys(("intro", "A", "B"), loop), sketch.key, beats=4
    )
    pad = held(base.changes, base.voicings(55, 76, 4), velocity=0.55)
    low = bass(base.changes, _BASSES[sketch.variant % len(_BASSES)], beats=4, low=29)
    bells = base.tune(rng, _TUNE, "A", "B")
    kicks, snares = _BREAKS[sketch.variant % len(_BREAKS)]
    bars = base.bars
    deep = ("reese", "sub_bass")[sketch.variant % 2]
    lead = ("electric_piano", "celesta", "vibraphone")[sketch.variant % 3]
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        room=1.6,
        tail=1.0,
        fade=3.0,
        parts=(
            _KICK.plays(struck(kicks, first=0, bars=bars, beats=4)),
            _SNARE.plays(struck(snares, first=0, bars=bars, beats=4)),
            _HAT.plays(struck("x-o-x-o-x-o-x-oo", first=0, bars=bars, beats=4)),
            _RIDE.plays(struck("x.x.x.x.", first=4, bars=bars - 4, beats=4)),
            Player(deep, gain=0.55, wet=0.0, looseness=0.002).plays(base.only(low, "A", "B")),
            _WARM_PAD.plays(pad),
            Player(lead, gain=0.16, pan=0.3, wet=0.4, echo=0.5, ring=0.5).plays(bells),
        ),
    )
