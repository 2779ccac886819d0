"""Made-up songs with made-up names, for demonstrations: nothing has to be downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.arrays import Matrix

_FIRST: Final = (
    *("Amber", "Autumn", "Blue", "Borrowed", "Bright", "Clear", "Copper", "Distant", "Early"),
    *("Evening", "Faint", "First", "Gentle", "Golden", "Half", "Hidden", "Hollow", "Last"),
    *("Late", "Little", "Long", "Low", "Morning", "Northern", "Open", "Paper", "Quiet"),
    *("Salt", "Silver", "Slow", "Small", "Soft", "Southern", "Still", "Summer", "Velvet"),
    *("Warm", "White", "Wide", "Winter"),
)
_SECOND: Final = (
    *("Avenue", "Bells", "Bridge", "Candles", "Coast", "Country", "Dance", "Days", "Echo"),
    *("Ferry", "Field", "Garden", "Harbour", "Hours", "House", "Island", "Lanterns", "Letters"),
    *("Light", "Meadow", "Mirror", "Moon", "Orchard", "Parade", "Rain", "River", "Road"),
    *("Room", "Season", "Shore", "Signal", "Sky", "Song", "Station", "Stones", "Street"),
    *("Sun", "Tide", "Waltz", "Window"),
)
_ARTISTS: Final = (
    *("Anna Lindqvist", "Arden & Vale", "Bellwether", "Clara Moreau", "Dorian Ash"),
    *("Eleven Rivers", "Field Notes", "Gabriel Osei", "Halcyon Radio", "Isabel Carvalho"),
    *("Jonah West", "Kites at Dawn", "Lena Hartmann", "Miro Kovač", "Night Ferries"),
    *("Oskar & June", "Paper Atlas", "Quiet Engines", "Rosa Iwata", "Sable Choir"),
    *("Tall Ships", "Umber Trio", "Violet Static", "Willow Park", "Yuki Tanaka"),
)
# How much of a song's variance is shared by all songs of its artist.
_ARTIST_SHARE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticCatalogue:
    """Songs with features of mean 0 and variance 1; those of one artist resemble each other."""

    features: Matrix
    titles: tuple[str, ...]
    artists: tuple[str, ...]

    @classmethod
    def drawn(cls, songs: int, columns: int, rng: np.random.Generator) -> SyntheticCatalogue:
        """Return that many songs with different titles."""
        if songs < 1 or columns < 1:
            msg = f"a catalogue must have songs and features, got {songs} and {columns}"
            raise InvalidInputError(msg)
        artist = rng.integers(len(_ARTISTS), size=songs)
        styles = rng.standard_normal((len(_ARTISTS), columns))
        own = rng.standard_normal((songs, columns))
        features = np.sqrt(_ARTIST_SHARE) * styles[artist] + np.sqrt(1 - _ARTIST_SHARE) * own
        return cls(
            features=frozen(features),
            titles=_titles(songs, rng),
            artists=tuple(_ARTISTS[row] for row in artist),
        )

    def __len__(self) -> int:
        return len(self.titles)


def _titles(count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return `count` different titles; once all pairs of words are used, with a number."""
    pairs: Sequence[tuple[str, str]] = list(product(_FIRST, _SECOND))
    order = rng.permutation(len(pairs))
    titles = []
    for place in range(count):
        first, second = pairs[order[place % len(pairs)]]
        volume = place // len(pairs)
        titles.append(f"{first} {second}" + (f" {volume + 1}" if volume else ""))
    return tuple(titles)
