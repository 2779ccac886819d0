"""Which artists and genres a listener is expected to like best and least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.arrays import AnyArray, Vector

FEWEST_SONGS: Final = 3  # of fewer, the mean tells of the songs and not of the name
MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An artist or a genre, and what its songs are expected to get when they are new."""

    name: str
    songs: int
    expected: float  # mean over its songs, in stars


@dataclass(frozen=True, slots=True, kw_only=True)
class Favourites:
    """The best and the least liked of one kind; no name is in both."""

    most: tuple[Named, ...] = ()  # best first
    least: tuple[Named, ...] = ()  # worst first


def favourites(liking: Vector, codes: AnyArray, names: Sequence[str]) -> Favourites:
    """Return the best and the least liked names.

    `liking` is that of each song, `codes` says which of `names` it has, or -1 for none.

    >>> found = favourites(np.array([4.0, 5.0, 3.0, 9.0]), np.array([0, 0, 0, 1]), ["a", "b"])
    >>> found.most
    (Named(name='a', songs=3, expected=4.0),)
    """
    named = codes >= 0
    counts = np.bincount(codes[named], minlength=len(names))
    sums = np.bincount(codes[named], weights=liking[named], minlength=len(names))
    enough = np.flatnonzero(counts >= FEWEST_SONGS)
    ranked = enough[np.argsort(-sums[enough] / counts[enough], kind="stable")]
    found = [
        Named(name=names[code], songs=int(counts[code]), expected=float(sums[code] / counts[code]))
        for code in ranked.tolist()
    ]
    most = min(MOST_NAMED, -(-len(found) // 2))
    least = min(MOST_NAMED, len(found) - most)
    return Favourites(most=tuple(found[:most]), least=tuple(reversed(found[len(found) - least :])))
