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

from bandstand.store.songs.names import genre_names, name_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.types import AnyArray, Indices, Vector

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


def groups_on(shelf: Catalogue) -> tuple[Groups, Groups]:
    """Return the songs of a shelf by artist and by genre."""
    columns = shelf.columns
    artists, genres = columns.names.artists, columns.names.genres
    by_artist = groups_by_tag(columns.artist, lambda code: (str(artists[code]),))
    by_genre = groups_by_tag(columns.genre, lambda code: genre_names(genres[code]))
    return by_artist, by_genre


def groups_by_tag(tags: AnyArray, names_in: Callable[[int], Sequence[str]]) -> Groups:
    """Return the groups of songs with a name in common; each has the number of a tag, or −1.

    Each tag is looked at once, and there are far fewer than songs.

    >>> tags = [["Pop", "pop"], ["Rock"], ["pop"], ["POP", "Rock"]]
    >>> groups_by_tag(np.array([0, 1, 2, 3, 2]), tags.__getitem__).names
    ('pop', 'Rock')
    """
    some, first, counts = np.unique(tags, return_index=True, return_counts=True)
    is_there = some >= 0
    order = np.argsort(first[is_there])  # as they come in the songs
    seen, count_of = some[is_there][order], counts[is_there][order]
    spellings, codes_of = _names_of_tags(seen.tolist(), count_of.tolist(), names_in)
    most = max(map(len, codes_of), default=0)
    # The codes of each tag, filled up with −1; the last row is that of no tag.
    table = np.full((int(seen.max(initial=-1)) + 2, max(most, 1)), -1, dtype=np.intp)
    for tag, codes in zip(seen.tolist(), codes_of, strict=True):
        table[tag, : len(codes)] = codes
    songs, places = np.nonzero(table[tags] >= 0)
    return Groups(
        songs=songs,
        codes=table[tags[songs], places],
        names=tuple(_usual(each) for each in spellings.values()),
    )


def _names_of_tags(
    tags: Iterable[int], counts: Iterable[int], names_in: Callable[[int], Sequence[str]]
) -> tuple[dict[str, Counter[str]], list[list[int]]]:
    """Return how often each name is spelt how, by its key, and the codes of each tag's names."""
    key_of = cache(name_key)
    spellings: dict[str, Counter[str]] = {}
    places: dict[str, int] = {}
    codes = []
    for tag, count in zip(tags, counts, strict=True):
        # Of several spellings in one tag the first one counts, and the song counts once.
        names = {key_of(name): name for name in reversed(names_in(tag))}
        names.pop("", None)
        for key, name in names.items():
            spellings.setdefault(key, Counter())[name] += count
        codes.append([places.setdefault(key, len(places)) for key in names])
    return spellings, codes


def _usual(spellings: Counter[str]) -> str:
    """Return the spelling that most songs have; of several the first by its letters."""
    return min(spellings, key=lambda name: (-spellings[name], name))


def favourites(liking: Vector, groups: Groups) -> Favourites:
    """Return the best and the least liked names.

    >>> groups = groups_by_tag(np.array([0, 0, 0, 0, 1]), [["a"], ["b"]].__getitem__)
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
