"""A listener's profile: how often, with what ratings, how often the same songs, which favourites.

All spellings of an artist are one, as in the list of songs, and all of a genre, as the model has
them: shown as most songs write it, with the number of its songs. Texts that are no names, such as
"<Unknown>", are left out.

code       maths  shape  meaning
`songs`           (M,)   the song of each pair of a song and one of its names
`codes`           (M,)   which of `names` it is
`liking`          (S,)   expected rating of each song when it is new; NaN if not known
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand._util.power_laws import Zipf, plays_by_rank, repeat_share, zipf
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.music.catalogue.tags import artist_name, spelled_tags, usual
from bandstand.radio.log.evidence import FULL_LISTEN
from bandstand.radio.log.fold import PlayTable
from bandstand.store.songs.pages import name_key
from bandstand.types import AnyArray, Indices, Vector

# Ratings are noisy: the mean over this number says how songs pleased around then.
WINDOW: Final = 20
_MAX_POINTS: Final = 400
_MAX_RANKS: Final = 200
MIN_SONGS: Final = 3  # of fewer, the mean says more of the songs than of the name
MAX_NAMED: Final = 5


# ── Plays ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of plays, by how they ended."""

    plays: int
    ratings: int
    skips: int
    listens: int  # to the end, not rated
    songs: int  # different ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingPoint:
    """One rating, and the mean of it and those just before it."""

    at: int  # UTC, in milliseconds
    stars: float
    running_mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often songs come back."""

    share: float  # of all plays that were not a song's first
    plays_by_rank: tuple[int, ...]  # of the most played song, the second, …
    zipf: Zipf | None  # None where all were played as often, or hardly any


def counts(plays: PlayTable) -> Counts:
    """Return the number of plays of each kind; a play without evidence is of none."""
    rows = plays.rows()
    rated = rows["weight"] == 1.0
    unrated = (rows["weight"] > 0) & ~rated
    listened = unrated & (rows["rating"] == FULL_LISTEN.rating)
    return Counts(
        plays=len(rows),
        ratings=int(rated.sum()),
        skips=int((unrated & ~listened).sum()),
        listens=int(listened.sum()),
        songs=len(plays.songs),
    )


def ratings_over_time(plays: PlayTable) -> tuple[RatingPoint, ...]:
    """Return the star ratings in order; of very many some, evenly spread, the last among them."""
    rows = plays.rows()
    rated = rows["weight"] == 1.0
    stars, at = rows["rating"][rated], rows["at"][rated]
    means = running_mean(stars)
    last = len(stars) - 1
    wanted = np.linspace(0, last, min(len(stars), _MAX_POINTS)).round().astype(int)
    return tuple(
        RatingPoint(at=int(at[row]), stars=float(stars[row]), running_mean=float(means[row]))
        for row in np.unique(wanted)
    )


def running_mean(values: Vector, window: int = WINDOW) -> Vector:
    """Return the mean of each value and those before it, at most `window` in all.

    >>> running_mean(np.array([1.0, 3.0, 5.0]), window=2).tolist()
    [1.0, 2.0, 4.0]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))


def repeats(plays: PlayTable) -> Repeats | None:
    """Return how often songs come back; None before the first play."""
    songs = np.ascontiguousarray(plays.rows()["song"])
    if not len(songs):
        return None
    ranked = plays_by_rank(songs)[:_MAX_RANKS]
    return Repeats(
        share=repeat_share(songs),
        plays_by_rank=tuple(map(int, ranked)),
        zipf=zipf(ranked),
    )


# ── Favourites ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An artist or a genre, with the expected rating of its songs when they are new."""

    name: str
    songs: int
    expected: float  # mean over its songs with a prediction, in stars


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourites:
    """The best and the least liked of one kind; no name is in both."""

    most: tuple[Named, ...] = ()  # best first
    least: tuple[Named, ...] = ()  # worst first
    usual: float | None = None  # median over all names, in stars


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Which songs have which of some names."""

    songs: Indices
    codes: Indices
    names: tuple[str, ...]


def groups_of(catalogue: Catalogue) -> tuple[Groups, Groups]:
    """Return the songs of a catalogue by artist and by genre, without texts that are no names."""
    columns = catalogue.columns
    artists, genres = columns.names.artists, columns.names.genres
    by_artist = groups_by_tag(columns.artist, lambda code: _artist(str(artists[code])))
    by_genre = groups_by_tag(columns.genre, lambda code: spelled_tags(genres[code]))
    return by_artist, by_genre


def _artist(text: str) -> dict[str, str]:
    return {} if artist_name(text) is None else {name_key(text): text}


def groups_by_tag(tags: AnyArray, names_in: Callable[[int], Mapping[str, str]]) -> Groups:
    """Return the groups of songs with a name in common; each has the number of a tag, or −1.

    `names_in` a tag are spellings by what all spellings of a name have in common. Each tag is read
    once, and there are far fewer than songs.

    >>> tags = [{"pop": "Pop"}, {"rock": "Rock"}, {"pop": "pop"}, {"pop": "POP", "rock": "Rock"}]
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
        names=tuple(map(usual, spellings.values())),
    )


def _names_of_tags(
    tags: Iterable[int], counts: Iterable[int], names_in: Callable[[int], Mapping[str, str]]
) -> tuple[dict[str, Counter[str]], list[list[int]]]:
    """Return the spellings of each name with their numbers, by key, and the codes of each tag."""
    spellings: dict[str, Counter[str]] = {}
    places: dict[str, int] = {}
    codes = []
    for tag, count in zip(tags, counts, strict=True):
        names = names_in(tag)
        for key, name in names.items():
            spellings.setdefault(key, Counter())[name] += count
        codes.append([places.setdefault(key, len(places)) for key in names])
    return spellings, codes


def favourites(liking: Vector, groups: Groups) -> Favourites:
    """Return the best and the least liked names.

    >>> tags = [{"a": "a"}, {"b": "b"}]
    >>> groups = groups_by_tag(np.array([0, 0, 0, 0, 1]), tags.__getitem__)
    >>> favourites(np.array([4.0, 5.0, 3.0, np.nan, 9.0]), groups).most
    (Named(name='a', songs=4, expected=4.0),)
    """
    values, count = liking[groups.songs], len(groups.names)
    is_known = np.isfinite(values)
    songs = np.bincount(groups.codes, minlength=count)
    known = np.bincount(groups.codes[is_known], minlength=count)
    sums = np.bincount(groups.codes[is_known], weights=values[is_known], minlength=count)
    enough = np.flatnonzero(known >= MIN_SONGS)
    means = sums[enough] / known[enough]
    order = np.argsort(-means, kind="stable")
    found = [
        Named(name=groups.names[code], songs=int(songs[code]), expected=float(mean))
        for code, mean in zip(enough[order].tolist(), means[order].tolist(), strict=True)
    ]
    most = min(MAX_NAMED, -(-len(found) // 2))
    least = min(MAX_NAMED, len(found) - most)
    return Favourites(
        most=tuple(found[:most]),
        least=tuple(reversed(found[len(found) - least :])),
        usual=float(np.median(means)) if found else None,
    )
