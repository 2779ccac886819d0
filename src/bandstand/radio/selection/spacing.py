"""Which songs may come next: bans hold always, spacing as long as it leaves something.

    ban, snooze     never, or not before a given time: song, artist, album, genre
    spacing         not the last songs again, nor other versions of the last recordings,
                    nor the last artists

In a small library the gaps shrink to a quarter of what there is to choose from. Where spacing
would leave nothing, the artists give way first, then the recordings, then the songs.

Bans are one mask for all songs, made when they change. Spacing is a test that is asked only about
the songs that could come next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.music.catalogue.catalogue import NO_ROWS
from bandstand.music.catalogue.names import NOTHING
from bandstand.radio.selection.candidates import distinct, is_any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bandstand.core.model.candidates import Test
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.fold import Rule
    from bandstand.types import AnyArray, Indices

# How many songs must come between two plays of the same.
SONG_GAP: Final = 30
RECORDING_GAP: Final = 50
ARTIST_GAP: Final = 5
# No more of the last songs are ever looked at.
LONGEST_GAP: Final = max(SONG_GAP, RECORDING_GAP, ARTIST_GAP)
# A gap is at most one part in so many of what there is to choose from.
_PART: Final = 4


def unbanned(shelf: Catalogue, active: Iterable[Rule], gone: Indices = NO_ROWS) -> CandidateSet:
    """Return the songs that none of the rules that hold now forbids, but for those in `gone`."""
    banned = [gone, *(shelf.rows_of(rule.scope, rule.target) for rule in active)]
    if not any(map(len, banned)):
        return CandidateSet.everything(len(shelf))
    free = np.ones(len(shelf), dtype=np.bool_)
    for rows in banned:
        free[rows] = False
    return CandidateSet.marked(free)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """What keeps the last songs away for a while, over the songs that are not banned."""

    songs: int
    recordings: int
    artists: int

    @classmethod
    def over(cls, shelf: Catalogue, free: CandidateSet) -> Spacing:
        """Return gaps that fit what there is to choose from."""
        recordings = distinct(shelf.recording_codes, free, enough=_PART * RECORDING_GAP)
        artists = distinct(shelf.artist_codes, free, enough=_PART * ARTIST_GAP)
        return cls(
            # Even of two or three songs, none comes twice in a row.
            songs=min(SONG_GAP, max(free.most // _PART, 1)),
            recordings=min(RECORDING_GAP, recordings // _PART),
            artists=min(ARTIST_GAP, artists // _PART),
        )

    def left(
        self, shelf: Catalogue, some: CandidateSet, last: Sequence[int], *, once: Sequence[int] = ()
    ) -> CandidateSet:
        """Return those of `some` that may follow the songs `last`, the latest of them at its end.

        Those in `once` are kept away whatever the gap, as long as there are others; then only
        the gaps hold. All of `some` come back where spacing would leave none.
        """
        for left in self._degrees(shelf, some, last, once):
            if is_any(left):
                return left
        return some

    def _degrees(
        self, shelf: Catalogue, some: CandidateSet, last: Sequence[int], once: Sequence[int]
    ) -> Iterator[CandidateSet]:
        """Yield what is left when all of it is kept away, then less and less."""
        recordings = _differs(shelf.recording_codes, _latest(last, self.recordings))
        artists = _differs(shelf.artist_codes, _latest(last, self.artists))
        for planned in (once, ()) if len(once) else ((),):
            songs = some.without([*planned, *_latest(last, self.songs)])
            yield songs.where(recordings).where(artists)
            yield songs.where(recordings)
            yield songs
        yield some.without(_latest(last, 1))


def _latest(last: Sequence[int], count: int) -> Sequence[int]:
    return last[max(len(last) - count, 0) :] if count else last[:0]


def _differs(codes: AnyArray, last: Sequence[int]) -> Test:
    """Return a test of rows: whether their codes are none of those of the songs `last`."""
    kept_away = np.unique([code for row in last if (code := int(codes[row])) != NOTHING])
    if not len(kept_away):
        return lambda rows: np.ones(len(rows), dtype=np.bool_)
    final = len(kept_away) - 1

    def test(rows: Indices) -> AnyArray:
        found = codes[rows]
        places = np.minimum(np.searchsorted(kept_away, found), final)
        return np.asarray(kept_away[places] != found)

    return test
