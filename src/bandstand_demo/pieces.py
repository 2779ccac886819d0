"""The pieces of the demo library, and each of them as sound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_demo.composition import compose
from bandstand_demo.mixing import mix
from bandstand_demo.notes import Key
from bandstand_demo.styles import STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_demo.composition import Score
    from bandstand_demo.sound import Sound

PER_STYLE: Final = 6
# Two invented albums of each style, in the order of the styles: artist, album, year; the titles.
_ALBUMS: Final = """
Slow Harbour / Tide Tables / 2007
    A Window Left Open / What the Lake Remembers / Everyone Asleep but the Sea
Ivo Lindqvist / Rooms Without Corners / 1990
    Low Clouds, Slow Trains / The Lighthouse Keeps Still / Letters to the Moon
Pim Oosterbeek / Small Songs for Small Hours / 2003
    Button Up the Sky / A Blanket Made of Clouds / Seven Sleepy Foxes
Tante Mimi / Buttons and Stars / 2002
    The Night Train to Pillow Town / Where the Bears Put Their Slippers / The Sheep Who Counted Us
Anton Veselka / Cherries in the Rain / 1994
    Lemonade on the Balcony / Second-Hand Roses / Three Steps to Montmartre
Madame Lucette / Dimanche au Canal / 1995
    The Last Boat to the Island / The Umbrella Seller's Waltz / The Baker Dances at Dawn
The Eddie Marlow Quartet / After the Last Tram / 2017
    The Taxi Can Wait / She Left Her Scarf / Old Shoes, New Moon
Theo Brandt Trio / Smoke Rings in the Library / 2008
    Sunday in a Minor Way / The Bartender Hums Along / Coffee at Quarter to Two
Captain Sprite / Bonus Stage / 1995
    Jetpack Lemonade / Warp Pipe Holiday / The Hidden Staircase
Pixel Otter / Insert Courage / 1987
    Coin Room / Double Jump / Robots in the Rain Forest
Nina Neon / Basement Sunrise / 2019
    Warehouse Weather / One More Hour / Strobe and Sympathy
Velour Department / Mirrorball Maintenance / 2003
    Tangerine Strobe / Lost Coat Anthem / Keep the Receipt
Sub Rosa Transit / Last Train, Fast Train / 2005
    Fast Forward, Slow Love / Copper Wire Sky / Underpass
Tunnel Vision Club / Concrete Garden / 2006
    Rain at One Hundred Miles / Breakfast in the Tunnel / Ring Road
Fionn Carrow / Seven Miles of Heather / 2017
    A Penny for the Ferryman / Blackberry Lane / Stone Walls and Small Gates
Old Tom Hathersage / Boots by the Fire / 1994
    The Road Above the Farm / When the Geese Come Home / The Fiddler Missed the Wedding
The Marchmont Strings / An Evening at Number Nine / 2020
    A Walk Around the Pond / The Argument, and After / The Letter, Folded Twice
Quatuor Hirondelle / Letters and Replies / 2005
    Allegretto with Umbrella / The Cellist's Garden / Farewell at the Green Door
The Pier Pavilion Band / Sunday at the Bandstand / 1997
    Three Cheers for the Pump Room / Salute to the Tea Urn / The Grand Old Deck Chair
The Tramway Workers' Band / All Change / 1987
    The Mayor's New Bicycle / Parade of the Garden Gnomes / The Fire Brigade's Day Off
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of the demo library: all that is needed to make it again."""

    number: int  # its place in the library, from 0
    title: str
    artist: str
    album: str
    year: int
    track: int  # its place on the album, from 1
    genre: str
    tempo: float  # beats in a minute
    key: Key

    @property
    def variant(self) -> int:
        """Its place among the pieces of its style, from 0."""
        return self.number % PER_STYLE


def score(piece: Piece) -> Score:
    """Return the notes of a piece."""
    style, rng = STYLES[piece.number // PER_STYLE], np.random.default_rng([piece.number, 0])
    return compose(style, piece.tempo, piece.key, piece.variant, rng)


def render(piece: Piece) -> Sound:
    """Return a piece as sound: (2, n) float32 at 48 kHz."""
    return mix(score(piece), np.random.default_rng([piece.number, 1]))


def _pieces() -> Iterator[Piece]:
    """Yield all pieces, style by style: tempos spread over its range, tonics all different."""
    lines = iter(_ALBUMS.strip().splitlines())
    for place, style in enumerate(STYLES):
        rng = np.random.default_rng(place)
        tonics = rng.permutation(12)
        slowest, fastest = style.tempos
        spread = (rng.permutation(PER_STYLE) + rng.random(PER_STYLE)) / PER_STYLE
        modes = list(dict.fromkeys(mode for mode, _ in style.progressions))
        for side in (0, 3):
            artist, album, year = next(lines).split(" / ")
            for track, title in enumerate(next(lines).strip().split(" / ")):
                k = side + track
                yield Piece(
                    number=place * PER_STYLE + k,
                    title=title,
                    artist=artist,
                    album=album,
                    year=int(year),
                    track=track + 1,
                    genre=style.name,
                    tempo=float(round(slowest + (fastest - slowest) * spread[k])),
                    key=Key(int(tonics[k]), modes[k % len(modes)]),
                )


PIECES: Final = tuple(_pieces())
