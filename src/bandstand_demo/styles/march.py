"""Marches for a brass band on a Sunday."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner, in_thirds
from bandstand_demo.patterns import bass, struck, strummed
from bandstand_demo.score import Note, Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = (
    ("I I V7 I", "IV I V7 I"),
    ("I V7 I V7", "vi II7 V7 V7"),
    ("I IV I V7", "ii V7 I V7"),
)
_TUNE: Final = Manner(
    rhythms=(
        (1, 1, 1, 1),
        (1.5, 0.5, 1, 1),
        (1, 0.5, 0.5, 2),
        (0.75, 0.25, 0.75, 0.25, 1, 1),
        (1, 1, 0.75, 0.25, 1),
    ),
    low=62,
    high=79,
    plan="abac",
    legato=0.82,
    loudness=0.8,
)
_OOM: Final = ((0, 1, "root"), (2, 1, "fifth"))
_SNARES: Final = ("x.oox.ooxxoox.oo", "x..ox.oox..oxooo", "xooxooxox.oox.oo")
_TRUMPET: Final = Player("trumpet", gain=0.30, pan=0.15, wet=0.22, looseness=0.008)
_SECOND_TRUMPET: Final = Player("trumpet", gain=0.20, pan=-0.2, wet=0.22, looseness=0.010)
_WHISTLE: Final = Player("whistle", gain=0.10, pan=0.4, wet=0.25)
_HORN: Final = Player("horn", gain=0.14, pan=-0.4, wet=0.25)
_TUBA: Final = Player("tuba", gain=0.34, pan=0.1, wet=0.15)
_FIELD_SNARE: Final = Player("field_snare", gain=0.28, pan=0.25, wet=0.15, looseness=0.004)
_BASS_DRUM: Final = Player("bass_drum", gain=0.42, wet=0.1)
_CRASH: Final = Player("crash", gain=0.2, pan=-0.1, wet=0.2)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return trumpets in thirds, horns after the beat, a tuba on it, and the drums."""
    first, second = _PROGRESSIONS[sketch.turn % len(_PROGRESSIONS)]
    plan = {"intro": "I V7", "A": first, "B": second, "end": "I"}
    base = ground("intro:2 A:4 B:4 A:4 end:1", plan, sketch.key, beats=4)
    low = bass(base.changes, _OOM, beats=4, low=34)
    pah = strummed(base.changes, base.voicings(53, 67, 3), "..x...x.", beats=4, length=0.4)
    tune = (*base.tune(rng, _TUNE, "A", "B"), Note(base.length - 4, 2.0, base.home(67), 0.9))
    second_trumpet = in_thirds(tune, base.key)
    piccolo = base.only([note.moved(0, pitch=12) for note in tune], "B")
    bars, playing = base.bars - 1, ("intro", "A", "B")
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        broadening=0.4,
        room=1.6,
        parts=(
            _TRUMPET.plays(tune),
            _SECOND_TRUMPET.plays(second_trumpet),
            _WHISTLE.plays(piccolo),
            _HORN.plays(base.only(pah, *playing)),
            _TUBA.plays(low),
            _FIELD_SNARE.plays(struck(_SNARES[sketch.variant % 3], first=0, bars=bars, beats=4)),
            _BASS_DRUM.plays(struck("X.x. X.xo", first=0, bars=bars + 1, beats=4)),
            _CRASH.plays(
                struck("x...", first=2, bars=1, beats=4)
                + struck("X...", first=bars, bars=1, beats=4)
            ),
        ),
    )
