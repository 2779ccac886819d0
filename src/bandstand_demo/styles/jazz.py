"""Jazz ballads: late, slow, with brushes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import struck, strummed, walking
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "major": (
        ("Imaj7/vi7 ii7/V13 iii7/VI♭9 ii7/V13", "IVmaj7/iv6 iii7/VI♭9 ii7/V13 Imaj9/vi7"),
        ("Imaj7/IV9 iii7/VI♭9 ii9/V♭9 Imaj7/V13", "v7/I7 IVmaj7/♭VII9 iii7/VI7 ii7/V13"),
        ("ii9/V13 Imaj9/vi7 ii9/V♭9 Imaj9", "iii7/VI7 ii9/V13 IVmaj7/iv6 Imaj9/V13"),
    ),
    "minor": (
        ("i7/iv7 iiø/V♭9 i7/♭VImaj7 iiø/V♭9", "iv7/♭VII9 ♭IIImaj7/♭VImaj7 iiø/V♭9 i6"),
        ("i6 iv7/♭VII9 ♭IIImaj7/♭VImaj7 iiø/V♭9", "iv7 i7 iiø/V♭9 i6/V♭9"),
    ),
}
_TUNE: Final = Manner(
    rhythms=(
        (-0.5, 0.5, 0.5, 0.5, 1, 1),
        (1.5, 0.5, 2),
        (-1, 0.5, 0.5, 1, 0.5, 0.5),
        (0.5, 0.5, 1, -0.5, 0.5, 1),
        (1, -0.5, 0.5, 0.5, 0.5, 1),
    ),
    low=62,
    high=81,
    plan="abac",
    moves=(-2, -1, -1, -1, 1, 1, 1, 2, 3, -3),
    loudness=0.7,
)
_LEADS: Final = ("vibraphone", "clarinet", "horn")
_COMPING: Final = ("x......x........", "x.....o...x.....", "x.........o..x..")
_ELECTRIC_PIANO: Final = Player("electric_piano", gain=0.17, pan=-0.25, wet=0.2, looseness=0.008)
_UPRIGHT_BASS: Final = Player("upright_bass", gain=0.46, wet=0.08, ring=0.1)
_BRUSH: Final = Player("brush", gain=1.2, pan=0.1, wet=0.15)
_SWEEP: Final = Player("sweep", gain=0.9, pan=-0.1, wet=0.1)
_RIDE: Final = Player("ride", gain=0.8, pan=0.3, wet=0.1)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a trio with a soloist: electric piano, double bass and brushes."""
    both = _PROGRESSIONS[sketch.key.mode]
    first, second = both[sketch.turn % len(both)]
    home = "Imaj9" if sketch.key.mode == "major" else "i6"
    plan = {"intro": first.split()[-1], "A": first, "B": second, "end": home}
    base = ground("intro:1 A:4 B:4 end:1", plan, sketch.key, beats=4)
    comping = f"{_COMPING[sketch.variant % 3]} {_COMPING[(sketch.variant + 1) % 3]}"
    voicings = base.voicings(53, 72, 4)
    keys = strummed(base.changes, voicings, comping, beats=4, length=1.7, spread=0.03)
    low = walking(rng, base.changes, low=33)
    lead = _LEADS[sketch.variant % len(_LEADS)]
    gain = {"vibraphone": 0.55, "clarinet": 0.27, "horn": 0.34}[lead]
    tune = base.tune(rng, _TUNE, "A", "B")
    last = Note(base.length - 4, 3.5, base.home(67), 0.55)
    bars = base.bars - 1
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        swing=0.63,
        broadening=0.4,
        room=1.6,
        tail=2.0,
        parts=(
            Player(lead, gain=gain, pan=0.2, wet=0.3, looseness=0.014, ring=0.15).plays(
                (*tune, last)
            ),
            _ELECTRIC_PIANO.plays(keys),
            _UPRIGHT_BASS.plays(low),
            _BRUSH.plays(struck("..x...x.", first=0, bars=bars, beats=4)),
            _SWEEP.plays(struck("x.x.x.x.", first=0, bars=bars, beats=4)),
            _RIDE.plays(struck("x.o-x.o-", first=1, bars=bars - 1, beats=4)),
        ),
    )
