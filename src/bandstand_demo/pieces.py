"""The pieces of the demo library, and each of them as sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand_demo.arrangement import Sketch
from bandstand_demo.credits import CREDITS
from bandstand_demo.mixing import mix
from bandstand_demo.pitches import Key
from bandstand_demo.styles import STYLES, Style

if TYPE_CHECKING:
    from bandstand_demo.score import Score
    from bandstand_demo.sound import Sound

PER_STYLE: Final = 6
_ALBUMS: Final = 2  # of each style
_YEARS: Final = (1987, 2024)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of the demo library: all that is needed to make it again."""

    seed: int  # of the library
    number: int  # its place in the library, from 0
    title: str
    artist: str
    album: str
    genre: str
    year: int
    track: int  # its place on the album, from 1
    tempo: float
    key: Key

    @property
    def variant(self) -> int:
        """Its place among the pieces of its style, from 0."""
        return self.number % PER_STYLE


def pieces(seed: int) -> tuple[Piece, ...]:
    """Return all pieces of the library of this seed, style by style.

    >>> len(pieces(1)), pieces(1) == pieces(1)
    (60, True)
    """
    if seed < 0:
        msg = f"the seed of the demo library must not be negative, got {seed}"
        raise InvalidInputError(msg)
    return tuple(
        piece
        for place, style in enumerate(STYLES)
        for piece in _of_style(style, place, seed, np.random.default_rng([seed, place]))
    )


def score(piece: Piece) -> Score:
    """Return the notes of a piece."""
    style = next(style for style in STYLES if style.name == piece.genre)
    turn = piece.variant // len(style.modes)
    sketch = Sketch(tempo=piece.tempo, key=piece.key, variant=piece.variant, turn=turn)
    return style.compose(sketch, np.random.default_rng([piece.seed, piece.number, 0]))


def render(piece: Piece) -> Sound:
    """Return a piece as sound: (2, n) float32 at 48 kHz."""
    return mix(score(piece), np.random.default_rng([piece.seed, piece.number, 1]))


def _of_style(style: Style, place: int, seed: int, rng: np.random.Generator) -> tuple[Piece, ...]:
    """Return the pieces of one style: tempos spread over its range, tonics all different."""
    names = CREDITS[style.name]
    albums = [names.albums[k] for k in rng.permutation(len(names.albums))[:_ALBUMS]]
    titles = [names.titles[k] for k in rng.permutation(len(names.titles))[:PER_STYLE]]
    years = rng.integers(*_YEARS, size=_ALBUMS, endpoint=True)
    tonics = rng.permutation(12)[:PER_STYLE]
    slowest, fastest = style.tempos
    spread = (rng.permutation(PER_STYLE) + rng.random(PER_STYLE)) / PER_STYLE
    found = []
    for k in range(PER_STYLE):
        side, track = divmod(k, PER_STYLE // _ALBUMS)
        found.append(
            Piece(
                seed=seed,
                number=place * PER_STYLE + k,
                title=titles[k],
                artist=albums[side][0],
                album=albums[side][1],
                genre=style.name,
                year=int(years[side]),
                track=track + 1,
                tempo=float(round(slowest + (fastest - slowest) * spread[k])),
                key=Key(tonic=int(tonics[k]), mode=style.modes[k % len(style.modes)]),
            )
        )
    return tuple(found)
