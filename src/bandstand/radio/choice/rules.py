"""Which songs may come next: bans hold always, spacing as long as it leaves something.

    ban, snooze     never, or not before a given time: song, artist, album, genre
    spacing         not the last songs again, nor other versions of the last recordings,
                    nor the last artists

In a small library the gaps shrink to a quarter of what there is to choose from. Where spacing
would leave nothing, the artists give way first, then the recordings, then the songs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.radio.choice.shelf import NOBODY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.arrays import AnyArray, Indices
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.radio.log.ledger import Rule

# How many songs must come between two plays of the same.
SONG_GAP: Final = 30
RECORDING_GAP: Final = 50
ARTIST_GAP: Final = 5
# No more of the last songs are ever looked at.
LONGEST_GAP: Final = max(SONG_GAP, RECORDING_GAP, ARTIST_GAP)


def unbanned(shelf: Shelf, active: Iterable[Rule]) -> Indices:
    """Return the rows that none of the rules that hold now forbids."""
    free = np.ones(len(shelf), dtype=np.bool_)
    for rule in active:
        free[shelf.rows_of(rule.scope, rule.target)] = False
    return np.flatnonzero(free)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """What keeps the last songs away for a while, over the songs that are not banned."""

    songs: int
    recordings: int
    artists: int

    @classmethod
    def over(cls, shelf: Shelf, free: Indices) -> Spacing:
        """Return gaps that fit what there is to choose from."""
        artists = shelf.artist_codes[free]
        return cls(
            # Even of two or three songs, none comes twice in a row.
            songs=min(SONG_GAP, max(len(free) // 4, 1)),
            recordings=min(RECORDING_GAP, _distinct(shelf.recording_codes[free]) // 4),
            artists=min(ARTIST_GAP, _distinct(artists[artists != NOBODY]) // 4),
        )

    def left(
        self, shelf: Shelf, rows: Indices, last: Sequence[int], *, once: Sequence[int] = ()
    ) -> Indices:
        """Return those of `rows` that may follow the songs `last`, the latest of them at its end.

        Those in `once` are kept away whatever the gap, as long as there are others; then only
        the gaps hold. All of `rows` come back where spacing would leave none.
        """
        planned = _is_among(rows, once)
        songs = _is_among(rows, _latest(last, self.songs))
        recordings = _shares(shelf.recording_codes, rows, _latest(last, self.recordings))
        artists = _shares(shelf.artist_codes, rows, _latest(last, self.artists))
        spaced = (songs | recordings | artists, songs | recordings, songs)
        last_song = _is_among(rows, _latest(last, 1))
        for kept_away in (*(planned | each for each in spaced), *spaced, last_song):
            if not kept_away.all():
                left: Indices = rows[~kept_away]
                return left
        return rows


def _latest(last: Sequence[int], count: int) -> Sequence[int]:
    return last[max(len(last) - count, 0) :] if count else last[:0]


def _shares(codes: Indices, rows: Indices, last: Sequence[int]) -> AnyArray:
    """Return for each of `rows` whether its code is one of those of the songs `last`."""
    # One more than the codes, so that nobody is 0 and is never marked.
    some = {int(codes[row]) + 1 for row in last} - {NOBODY + 1}
    return _is_among(codes[rows] + 1, sorted(some))


def _is_among(values: Indices, some: Sequence[int]) -> AnyArray:
    if not len(values):
        return np.zeros(0, dtype=np.bool_)
    marked = np.zeros(max(int(values.max()), *some, 0) + 1, dtype=np.bool_)
    marked[list(some)] = True  # a tuple would be one place in many dimensions
    return marked[values]


def _distinct(codes: Indices) -> int:
    return int(np.count_nonzero(np.bincount(codes)))
