"""The styles of the demo library: their names, their tempos and scales, and who composes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_demo.styles import (
    ambient,
    chiptune,
    drum_and_bass,
    folk,
    house,
    jazz,
    lullaby,
    march,
    quartet,
    waltz,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from bandstand_demo.arrangement import Sketch
    from bandstand_demo.score import Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A kind of music: `compose` makes a score of a sketch."""

    name: str
    tempos: tuple[float, float]  # beats in a minute: the slowest and the fastest
    modes: tuple[str, ...]
    compose: Callable[[Sketch, np.random.Generator], Score]


STYLES: Final = (
    Style(
        name="Ambient",
        tempos=(56, 66),
        modes=("lydian", "major", "dorian"),
        compose=ambient.compose,
    ),
    Style(name="Lullaby", tempos=(84, 100), modes=("major",), compose=lullaby.compose),
    Style(
        name="Waltz", tempos=(146, 170), modes=("harmonic minor", "major"), compose=waltz.compose
    ),
    Style(name="Jazz", tempos=(67, 79), modes=("major", "minor"), compose=jazz.compose),
    Style(
        name="Chiptune",
        tempos=(132, 150),
        modes=("minor", "major", "mixolydian"),
        compose=chiptune.compose,
    ),
    Style(name="House", tempos=(118, 127), modes=("minor", "dorian"), compose=house.compose),
    Style(
        name="Drum and bass",
        tempos=(168, 176),
        modes=("minor", "dorian"),
        compose=drum_and_bass.compose,
    ),
    Style(
        name="Folk",
        tempos=(100, 120),
        modes=("major", "mixolydian", "dorian"),
        compose=folk.compose,
    ),
    Style(
        name="String quartet",
        tempos=(86, 106),
        modes=("major", "harmonic minor"),
        compose=quartet.compose,
    ),
    Style(name="March", tempos=(104, 120), modes=("major",), compose=march.compose),
)
