"""House: four to the floor, chords against it, a bass between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_demo.arrangement import ground
from bandstand_demo.melody import Manner
from bandstand_demo.patterns import bass, held, struck, strummed
from bandstand_demo.score import Player, Score

if TYPE_CHECKING:
    import numpy as np

    from bandstand_demo.arrangement import Sketch

_PROGRESSIONS: Final = {
    "minor": (
        "i7 ♭VImaj7 ♭IIImaj7 ♭VII",
        "i7 iv7 ♭VImaj7 v7",
        "i9 i9 ♭VImaj7 ♭VII",
    ),
    "dorian": (
        "i7 IV7 i7 ♭VIImaj7",
        "i9 ♭VIImaj7 IV7 i9",
        "i7 i7 IV7 IV7",
    ),
}
_STABS: Final = ("x..x..x...x..x..", "..x..x....x..x..", "x..x...x..x.....")
_BASSES: Final = (
    tuple((k + 0.5, 0.4, "root") for k in range(4)),
    (
        (0, 0.7, "root"),
        (0.75, 0.4, "root"),
        (1.5, 0.5, "octave"),
        (2.5, 0.4, "root"),
        (3.25, 0.6, "fifth"),
    ),
    (
        (0.5, 0.4, "root"),
        (1.25, 0.25, "octave"),
        (1.5, 0.4, "root"),
        (2.5, 0.4, "root"),
        (3.5, 0.4, "fifth"),
    ),
)
_TUNE: Final = Manner(
    rhythms=((-0.5, 0.5, 0.5, 1, -1.5), (0.75, 0.75, 1, -1.5), (-1, 0.5, 0.5, 0.5, -1.5)),
    low=67,
    high=82,
    plan="aaab",
    legato=0.8,
)
_KICK: Final = Player("kick", gain=0.75, wet=0.02, looseness=0.0)
_OPEN_HAT: Final = Player("open_hat", gain=0.30, pan=0.15, wet=0.05, looseness=0.002)
_HAT: Final = Player("hat", gain=0.32, pan=-0.2, wet=0.03, looseness=0.003)
_CLAP: Final = Player("clap", gain=0.42, wet=0.2, looseness=0.003)
_SAW_BASS: Final = Player("saw_bass", gain=0.62, wet=0.02, looseness=0.002)
_STAB: Final = Player("stab", gain=0.22, pan=-0.1, wet=0.2, echo=0.45, looseness=0.003)
_WARM_PAD: Final = Player("warm_pad", gain=0.45, wet=0.2, ring=0.3)


def compose(sketch: Sketch, rng: np.random.Generator) -> Score:
    """Return a floor that builds up: drums, bass, chords, a pad and a riff."""
    progressions = _PROGRESSIONS[sketch.key.mode]
    loop = progressions[sketch.turn % len(progressions)]
    plan = dict.fromkeys(("intro", "A", "B"), loop)
    base = ground("intro:4 A:8 B:4", plan, sketch.key, beats=4)
    voicings = base.voicings(55, 74, 4)
    stabs = strummed(base.changes, voicings, _STABS[sketch.variant % 3], beats=4, length=0.35)
    low = bass(base.changes, _BASSES[sketch.variant % len(_BASSES)], beats=4, low=33)
    carpet = base.only(held(base.changes, voicings, velocity=0.5), "B")
    riff = base.tune(rng, _TUNE, "B")
    bars = base.bars
    lead = ("pulse", "electric_piano", "vibraphone")[sketch.variant % 3]
    return Score(
        tempo=sketch.tempo,
        beats=base.length,
        room=1.2,
        tail=1.0,
        fade=3.0,
        parts=(
            _KICK.plays(struck("X.X.X.X.", first=0, bars=bars, beats=4)),
            _OPEN_HAT.plays(struck(".x.x.x.x", first=0, bars=bars, beats=4)),
            _HAT.plays(struck("x-o-x-o-x-o-x-o-", first=2, bars=bars - 2, beats=4)),
            _CLAP.plays(struck("..x...x.", first=2, bars=bars - 2, beats=4)),
            _SAW_BASS.plays(low),
            _STAB.plays(base.only(stabs, "A", "B")),
            _WARM_PAD.plays(carpet),
            Player(lead, gain=0.2, pan=0.3, wet=0.25, echo=0.5, looseness=0.004).plays(riff),
        ),
    )
