"""Which artists and genres a listener is expected to like best and least.

Names go together as they do in the list of songs: all spellings of one name are one, which is
shown as most songs write it, and its number is that of the songs that are found under it.

code       maths  shape  meaning
`songs`           (M,)   the song of each pair of a song and one of its names
`codes`           (M,)   which of `names` it is
`liking`   E[θ]'x (S,)   what each song is expected to get when it is new; NaN if not known
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.radio.choice.names import name_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.arrays import Indices, Vector

FEWEST_SONGS: Final = 3  # of fewer, the mean tells of the songs and not of the name
MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An artist or a genre, and what its songs are expected to get when they are new."""

    name: str
    songs: int
    expected: float  # mean over those of its songs that something is known of, in stars


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourites:
    """The best and the least liked of one kind; no name is in both."""

    most: tuple[Named, ...] = ()  # best first
    least: tuple[Named, ...] = ()  # worst first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Which songs have which of some names."""

    songs: Indices
    codes: Indices
    names: tuple[str, ...]


def groups_of(written: Sequence[Sequence[str]]) -> Groups:
    """Return the groups of songs with a name in common; `written` has the names of each song.

    >>> groups_of([["Pop", "pop"], ["Rock"], ["pop"], ["POP", "Rock"], ["pop"]]).names
    ('pop', 'Rock')
    """
    key_of = cache(name_key)
    spellings: dict[str, Counter[str]] = {}
    places: dict[str, int] = {}
    songs, codes = [], []
    for song, names in enumerate(written):
        # Of several spellings in one tag the first one counts, and the song counts once.
        for key, name in {key_of(name): name for name in reversed(names)}.items():
            if key:
                spellings.setdefault(key, Counter())[name] += 1
                songs.append(song)
                codes.append(places.setdefault(key, len(places)))
    return Groups(
        songs=np.array(songs, dtype=np.intp),
        codes=np.array(codes, dtype=np.intp),
        names=tuple(_usual(spellings[key]) for key in places),
    )


def _usual(spellings: Counter[str]) -> str:
    """Return the spelling that most songs have; of several the first by its letters."""
    return min(spellings, key=lambda name: (-spellings[name], name))


def favourites(liking: Vector, groups: Groups) -> Favourites:
    """Return the best and the least liked names.

    >>> groups = groups_of([["a"], ["a"], ["a"], ["a"], ["b"]])
    >>> favourites(np.array([4.0, 5.0, 3.0, np.nan, 9.0]), groups).most
    (Named(name='a', songs=4, expected=4.0),)
    """
    values, count = liking[groups.songs], len(groups.names)
    is_known = np.isfinite(values)
    songs = np.bincount(groups.codes, minlength=count)
    known = np.bincount(groups.codes[is_known], minlength=count)
    sums = np.bincount(groups.codes[is_known], weights=values[is_known], minlength=count)
    enough = np.flatnonzero(known >= FEWEST_SONGS)
    means = sums[enough] / known[enough]
    order = np.argsort(-means, kind="stable")
    found = [
        Named(name=groups.names[code], songs=int(songs[code]), expected=float(mean))
        for code, mean in zip(enough[order].tolist(), means[order].tolist(), strict=True)
    ]
    most = min(MOST_NAMED, -(-len(found) // 2))
    least = min(MOST_NAMED, len(found) - most)
    return Favourites(most=tuple(found[:most]), least=tuple(reversed(found[len(found) - least :])))
