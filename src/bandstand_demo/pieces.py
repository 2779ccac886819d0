"""The styles of the demo library, as tables, and its pieces.

Rhythms and figures are written in steps (see `steps`); `|` parts the choices of the variants.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand_demo.composition import (
    Part,
    Score,
    Style,
    bass,
    chords,
    compose,
    doubled,
    drum,
    tune,
)
from bandstand_demo.instruments import Sound
from bandstand_demo.mixing import mix
from bandstand_demo.notes import Key, Manner

STYLES: Final = (
    Style(
        name="Ambient",
        tempos=(56, 66),
        plan="A:4 B:4",
        chords="""
            lydian: Imaj9 IIadd9 Imaj9 vi9 | iii7 IIadd9 vi9 Imaj9
            lydian: Imaj9 vi9 IIadd9 Imaj9 | vi9 IIadd9 iii7 Imaj9
            major: Imaj9 iii7 IVmaj9 vi9 | IVmaj9 Iadd9 ii9 Imaj9
            major: Iadd9 vi9 IVmaj9 Vsus | vi9 IVmaj9 Iadd9 Imaj9
            dorian: i9 IVadd9 i9 ♭VIImaj9 | ♭IIImaj9 IVadd9 ♭VIImaj9 i9
            dorian: i9 ♭VIImaj9 IVadd9 i9 | ♭VIImaj9 IVadd9 ♭IIImaj9 i9
        """,
        parts=(
            Part(
                "warm_pad choir warm_pad glass_pad",
                (0.55, 0.0, 0.35),
                chords(50, 74, 4, "", 1.3, 0.65),
            ),
            Part("sub_bass", (0.24, 0.0, 0.05), bass("r---", 33, 0.6)),
            Part("surf", (0.22, 0.0, 0.2), drum("o... ....")),
            Part("celesta harp", (0.3, 0.25, 0.7), tune(Manner("..x-.x-. x-......", 71, 90)), 0.6),
        ),
        room=3.6,
    ),
    Style(
        name="Lullaby",
        tempos=(84, 100),
        beats=3,
        plan="intro:2 A:4 B:4 A:4 end:2",
        chords="""
            major: I vi IV V | IV I ii V
            major: I IV I V7 | vi iii IV V7
            major: I iii IV V | vi IV ii V7
            major: I V vi IV | ii V I V7
        """,
        end="IV/V home",
        parts=(
            Part(
                "music_box", (0.5, 0.1, 0.35), tune(Manner("xxx x-x x--xx- x-xxx- xxx-x-", 74, 91))
            ),
            Part(
                "music_box celesta",
                (0.32, -0.25, 0.3),
                chords(60, 76, 3, "012321|021312", 2.0, 0.85),
            ),
            Part("celesta", (0.36, 0.0, 0.25), bass("r--", 48, 0.5)),
        ),
        room=2.0,
    ),
    Style(
        name="Waltz",
        tempos=(146, 170),
        beats=3,
        plan="intro:2 A:8 B:8 A:8 end:2",
        chords="""
            harmonic minor: i i iv iv V7 V7 i V7 | iv iv i i V7 V7 i i
            harmonic minor: i V7 i i iv i V7 i | ♭III ♭VII ♭III ♭III iv i V7 i
            harmonic minor: i i V7 V7 V7 V7 i i | ♭VI ♭VI i i V7 V7 i i
            major: I I V7 V7 V7 V7 I I | IV IV I I V7 V7 I I
            major: I vi ii V7 I vi V7 I | IV IV I I II7 II7 V7 V7
            major: I I ii ii V7 V7 I V7 | vi vi ii ii V7 V7 I I
        """,
        end="V7 home",
        parts=(
            Part(
                "accordion",
                (0.34, 0.15, 0.2),
                tune(Manner("x-- x-x x-xxxx x--xx-", 66, 84, "abacabad")),
            ),
            Part("accordion", (0.19, -0.3, 0.2), doubled(-2), sections="B"),
            Part("piano nylon_guitar", (0.15, -0.2, 0.15), chords(57, 73, 3, ".xo", legato=0.55)),
            Part("upright_bass", (0.42, 0.0, 0.08), bass("r..", 36)),
        ),
    ),
    Style(
        name="Jazz",
        tempos=(67, 79),
        plan="intro:1 A:4 B:4 end:1",
        chords="""
            major: Imaj7/vi7 ii7/V13 iii7/VI♭9 ii7/V13 | IVmaj7/iv6 iii7/VI♭9 ii7/V13 Imaj9/vi7
            major: Imaj7/IV9 iii7/VI♭9 ii9/V♭9 Imaj7/V13 | v7/I7 IVmaj7/♭VII9 iii7/VI7 ii7/V13
            major: ii9/V13 Imaj9/vi7 ii9/V♭9 Imaj9 | iii7/VI7 ii9/V13 IVmaj7/iv6 Imaj9/V13
            minor: i7/iv7 iiø/V♭9 i7/♭VImaj7 iiø/V♭9 | iv7/♭VII9 ♭IIImaj7/♭VImaj7 iiø/V♭9 i6
            minor: i6 iv7/♭VII9 ♭IIImaj7/♭VImaj7 iiø/V♭9 | iv7 i7 iiø/V♭9 i6/V♭9
        """,
        parts=(
            Part(
                "vibraphone clarinet horn",
                (0.36, 0.2, 0.3),
                tune(Manner(".xxxx-x- x--xx--- ..xxx-xx xxx-.xx- x-.xxxx-", 62, 81, velocity=0.7)),
            ),
            Part(
                "electric_piano",
                (0.17, -0.25, 0.2),
                chords(53, 72, 4, "x--x---- x--o-x--|x--o-x-- x----o--"),
            ),
            Part("upright_bass", (0.46, 0.0, 0.08), bass("rtrn|rfrn", 33)),
            Part("brush", (1.2, 0.1, 0.15), drum("..x...x.")),
            Part("sweep", (0.9, -0.1, 0.1), drum("xxxx")),
            Part("ride", (0.8, 0.3, 0.1), drum("x.o,x.o,"), sections="A B"),
        ),
        swing=0.63,
        room=1.6,
    ),
    Style(
        name="Chiptune",
        tempos=(132, 150),
        plan="intro:2 A:8 B:8 end:1",
        chords="""
            minor: i ♭VI ♭III ♭VII i ♭VI iv V | ♭VI ♭VII i i ♭VI ♭VII V V
            minor: i i ♭VII ♭VII ♭VI ♭VI V V | iv ♭VII ♭III ♭VI iv V i V
            major: I V vi IV I V IV V | vi IV I V vi IV V V
            major: I IV V I vi ii V V | IV V iii vi ii V I V
            mixolydian: I ♭VII IV I I ♭VII IV V | IV IV I I ♭VII IV V V
            mixolydian: I I ♭VII IV I I ♭VII IV | ii IV I I ii IV V V
        """,
        parts=(
            Part(
                "square pulse square",
                (0.3, 0.1, 0.06),
                tune(
                    Manner(
                        "xxxxx-x- x--x--x-x---x--- xxx-xxx- x---x-x-x--x--x-", 67, 88, "abacabad"
                    )
                ),
                echo=0.25,
            ),
            Part(
                "pulse",
                (0.21, -0.35, 0.05),
                chords(60, 76, 3, "0123012301230123|0121012101210121", 0.9),
            ),
            Part("triangle", (0.2, 0.0, 0.0), bass("rorororo|rrrrrffr", 36)),
            Part("chip_kick", (0.42, 0.0, 0.0), drum("x.....x.x.......")),
            Part("chip_noise", (0.3, 0.1, 0.05), drum(",.,.x.,.,.,.x.,o")),
        ),
        looseness=0.0,
        room=0.7,
    ),
    Style(
        name="House",
        tempos=(118, 127),
        plan="intro:4 A:8 B:4",
        chords="""
            minor: i7 ♭VImaj7 ♭IIImaj7 ♭VII
            minor: i7 iv7 ♭VImaj7 v7
            minor: i9 i9 ♭VImaj7 ♭VII
            dorian: i7 IV7 i7 ♭VIImaj7
            dorian: i9 ♭VIImaj7 IV7 i9
            dorian: i7 i7 IV7 IV7
        """,
        parts=(
            Part("kick", (0.75, 0.0, 0.02), drum("XXXX")),
            Part("open_hat", (0.3, 0.15, 0.05), drum(".x.x.x.x")),
            Part("hat", (0.32, -0.2, 0.03), drum("x,o,x,o,x,o,x,o,")),
            Part("clap", (0.42, 0.0, 0.2), drum(".x.x"), sections="A B"),
            Part("saw_bass", (0.62, 0.0, 0.02), bass(".r.r.r.r|r--r-.o-..r-.f-.", 33)),
            Part(
                "stab",
                (0.22, -0.1, 0.2),
                chords(55, 74, 4, "x..x..x...x..x..|..x..x....x..x..|x..x...x..x.....", 1.4),
                echo=0.45,
                sections="A B",
            ),
            Part("warm_pad", (0.45, 0.0, 0.2), chords(55, 74, velocity=0.5), sections="B"),
            Part(
                "pulse electric_piano vibraphone",
                (0.2, 0.3, 0.25),
                tune(Manner(".xxx-... x--x--x---...... ..xxx...", 67, 82, "aaab", 0.8), "B"),
                echo=0.5,
            ),
        ),
        looseness=0.0,
    ),
    Style(
        name="Drum and bass",
        tempos=(168, 176),
        plan="intro:4 A:8 B:8 A:4",
        chords="""
            minor: i9 i9 ♭VImaj7 ♭VImaj7 iv9 iv9 ♭VII ♭VII
            minor: i9 i9 ♭IIImaj7 ♭IIImaj7 ♭VImaj7 ♭VImaj7 v7 v7
            dorian: i9 i9 IVadd9 IVadd9 ♭VIImaj7 ♭VIImaj7 i9 i9
            dorian: i9 i9 ♭VIImaj7 ♭VIImaj7 IVadd9 IVadd9 i9 i9
        """,
        parts=(
            Part("kick", (0.62, 0.0, 0.02), drum("X....X.. X.x..X..|XX...X.. XX...XX.")),
            Part(
                "snare",
                (0.68, 0.0, 0.1),
                drum("....X..,.,..X.., ....X..,.,..X.,o|....X.,.....X..,"),
            ),
            Part("hat", (0.5, 0.2, 0.03), drum("x,o,x,o,x,o,x,oo")),
            Part("ride", (0.4, -0.25, 0.05), drum("xxxx"), sections="A B"),
            Part(
                "reese sub_bass",
                (0.55, 0.0, 0.0),
                bass("r----f--|r--o-r--|r--f", 29),
                sections="A B",
            ),
            Part("warm_pad", (0.32, 0.0, 0.3), chords(55, 76, velocity=0.55)),
            Part(
                "electric_piano celesta vibraphone",
                (0.16, 0.3, 0.4),
                tune(Manner("x--x--x- .xx- x--. .x--x---", 67, 84, velocity=0.6)),
                echo=0.5,
            ),
        ),
        looseness=0.0,
        room=1.6,
    ),
    Style(
        name="Folk",
        tempos=(100, 120),
        plan="intro:2 A:4 B:4 A:4 end:1",
        chords="""
            major: I IV I V | vi IV I V
            major: I vi IV V | IV I ii V
            mixolydian: I ♭VII IV I | IV I ♭VII I
            mixolydian: I IV ♭VII I | v IV ♭VII I
            dorian: i ♭VII i ♭VII | ♭III ♭VII IV i
            dorian: i IV ♭VII i | ♭III IV ♭VII i
        """,
        parts=(
            Part(
                "whistle flute steel_guitar",
                (0.18, 0.25, 0.3),
                tune(Manner("x-xxx-x- x--xx-x- xxx-x-x- x-x-xxx- x-xx", 66, 84)),
            ),
            # The fingers play the treble between the strokes of the thumb.
            Part("steel_guitar", (0.13, -0.2, 0.15), chords(55, 71, 4, ".213.213|31213121", 2.0)),
            Part("steel_guitar", (0.15, -0.1, 0.12), bass("rfof", 40, 0.7)),
        ),
    ),
    Style(
        name="String quartet",
        tempos=(86, 106),
        plan="A:4 B:4 A:4 end:1",
        chords="""
            major: I vi/ii V7 I | vi iii/IV I/V I/V7
            major: I IV/V vi/IV ii/V7 | IV I ii/V7 I
            major: I V/vi IV/ii V7 | ii/V7 I/vi IV/V7 I
            harmonic minor: i iv/V7 i ♭VI/V7 | ♭III/♭VII ♭VI/iv i/V7 i
            harmonic minor: i V7/i iv/i V7 | ♭VI ♭III/iv i/V7 i
        """,
        parts=(
            Part(
                "violin",
                (0.36, -0.45, 0.3),
                tune(Manner("x-xx x--xx-x- xxx- x-xxx-x-", 67, 86, "abac", 1)),
            ),
            # The inner voices: held, in crotchets, in quavers after the beat.
            Part("violin", (0.2, -0.15, 0.3), chords(55, 69, 2, "1-1-|1111|.111.111")),
            Part("viola", (0.21, 0.15, 0.3), chords(55, 69, 2, "0-0-|0000|.000.000")),
            Part("cello", (0.4, 0.45, 0.28), bass("r-r-|r-rt", 36, 0.65)),
        ),
        room=2.0,
    ),
    Style(
        name="March",
        tempos=(104, 120),
        plan="intro:2 A:4 B:4 A:4 end:1",
        chords="""
            major: I I V7 I | IV I V7 I
            major: I V7 I V7 | vi II7 V7 V7
            major: I IV I V7 | ii V7 I V7
        """,
        parts=(
            Part(
                "trumpet",
                (0.3, 0.15, 0.22),
                tune(Manner("xxxx x--xx-x- x-xxx--- x--xx--xx---x---", 62, 79, "abac", 0.82, 0.8)),
            ),
            Part("trumpet", (0.17, -0.2, 0.22), doubled(-2)),
            Part("whistle", (0.1, 0.4, 0.25), doubled(7), sections="B"),
            Part("horn", (0.14, -0.4, 0.25), chords(53, 67, 3, "..x...x.", legato=0.8)),
            Part("tuba", (0.34, 0.1, 0.15), bass("r.f.", 34)),
            Part("field_snare", (0.28, 0.25, 0.15), drum("x.oox.ooxxoox.oo|x..ox.oox..oxooo")),
            Part("bass_drum", (0.42, 0.0, 0.1), drum("X.x. X.xo")),
            Part("crash", (0.2, -0.1, 0.2), drum(".... .... x... ....")),
        ),
        room=1.6,
    ),
)


# ── Pieces ─────────────────────────────────────────────────────────────────────────────


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
