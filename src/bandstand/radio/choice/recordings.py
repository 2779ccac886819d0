"""Which songs are versions of one recording.

Two songs are, if they carry the same MusicBrainz recording, or the same artist and the same title
but for words such as "live" or "remastered 2011". MusicBrainz gives a live take a number of its
own, so either alone would miss some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.radio.choice.names import lead_artist, song_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.arrays import Indices
    from bandstand.tracks import Tags


def recording_codes(tags: Sequence[Tags]) -> Indices:
    """Return a number for each song, the same for all versions of one recording.

    Songs of which too little is known have a number of their own.
    """
    first_with: dict[tuple[str, ...], int] = {}
    parents = list(range(len(tags)))
    for row, one in enumerate(tags):
        for key in _keys(one):
            _join(parents, row, first_with.setdefault(key, row))
    roots = [_root(parents, row) for row in range(len(tags))]
    codes = np.unique(np.array(roots, dtype=np.intp), return_inverse=True)[1].astype(np.intp)
    codes.flags.writeable = False
    return codes


def _keys(tags: Tags) -> Iterator[tuple[str, ...]]:
    if tags.recording_mbid:
        yield ("mbid", tags.recording_mbid)
    artist = tags.artist or tags.album_artist
    if artist and tags.title:
        yield ("name", lead_artist(artist), song_key(tags.title))


def _root(parents: list[int], row: int) -> int:
    while parents[row] != row:
        parents[row] = parents[parents[row]]  # shorter next time
        row = parents[row]
    return row


def _join(parents: list[int], row: int, other: int) -> None:
    """Put two songs together, under the smaller of their roots."""
    low, high = sorted((_root(parents, row), _root(parents, other)))
    parents[high] = low
