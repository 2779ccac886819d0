"""Which songs are versions of one recording.

Two songs are, if they carry the same MusicBrainz recording, or the same artist and the same title
but for words such as "live" or "remastered 2011". MusicBrainz gives a live take a number of its
own, so either alone would miss some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.types import AnyArray

# An odd number with its bits all over the place, so that artist and title mix well.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def recording_codes(lead_artist: AnyArray, title: AnyArray, recording: AnyArray) -> AnyArray:
    """Return a number for each song, the same for all versions of one recording.

    `lead_artist` has a number per song, −1 for none; the others have digests, 0 for none. Songs
    of which too little is known have a number of their own.

    >>> alone, digests = np.array([0, 0, 1]), np.array([7, 7, 7], dtype=np.uint64)
    >>> recording_codes(alone, digests, np.zeros(3, dtype=np.uint64)).tolist()
    [0, 0, 1]
    """
    named = np.flatnonzero((lead_artist >= 0) & (title != 0))
    artists = (lead_artist[named].astype(np.uint64) + np.uint64(1)) * _SPREAD
    first = _first_with_the_same(len(title), named, title[named] ^ artists)
    numbered = np.flatnonzero(recording != 0)
    partner = _first_with_the_same(len(title), numbered, recording[numbered])
    differs = first != first[partner]
    joined = _joined(first[differs], first[partner][differs])
    if joined:
        first = first.copy()
        changed = np.isin(first, list(joined))
        first[changed] = [joined[row] for row in first[changed].tolist()]
    codes: AnyArray = read_only(np.unique(first, return_inverse=True)[1].astype(np.int32))
    return codes


def _first_with_the_same(count: int, rows: AnyArray, keys: AnyArray) -> AnyArray:
    """Return for each song the first one with its key: itself if it has none."""
    first = np.arange(count)
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    first[rows] = rows[places][inverse]
    return first


def _joined(ones: AnyArray, others: AnyArray) -> dict[int, int]:
    """Return what stands for each row that pairs of rows put together: the smallest of them."""
    parents: dict[int, int] = {}
    for one, other in zip(ones.tolist(), others.tolist(), strict=True):
        low, high = sorted((_root(parents, one), _root(parents, other)))
        if low != high:
            parents[high] = low
    return {row: _root(parents, row) for row in parents}


def _root(parents: dict[int, int], row: int) -> int:
    while row in parents:
        above = parents[row]
        parents[row] = parents.get(above, above)  # shorter next time
        row = above
    return row
