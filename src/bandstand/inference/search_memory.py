"""What is kept about a catalogue between one listener's steps: shortlists, and what they saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.inference.known_songs import KnownSongs
from bandstand.inference.shortlist.levels import Counters, Levels
from bandstand.model.allowed import Allowed

if TYPE_CHECKING:
    from bandstand.inference.exact_belief import ExactBelief
    from bandstand.inference.outlook import Outlook
    from bandstand.inference.song_table import SongTable

# How many songs the shortlists hold, each within the one before. At a million songs the first
# lasts for hundreds of answers of somebody who is known well, the last one for some; a step looks
# at some of the last. Where the matrix is soon read again, a shorter first one is soon made.
_LONGEST: Final = 16_384
_SHARE: Final = 48
_SHORTEST: Final = 1_024
# After so many questions with songs heard in thought they are taken for a playlist.
_FIRST_OF_PLAYLIST: Final = 3


def sizes_for(songs: int) -> tuple[int, ...]:
    """Return the sizes of the shortlists of a catalogue.

    >>> sizes_for(1_000_000), sizes_for(100_000), sizes_for(10_000)
    ((16384, 1024), (2083, 1024), (1024,))
    """
    first = min(songs // _SHARE, _LONGEST)
    return (first, _SHORTEST) if first >= 2 * _SHORTEST else (_SHORTEST,)


class SearchMemory:
    """Room for one listener's shortlists: among all songs, and among those of one filter."""

    def __init__(self, table: SongTable, *, sizes: tuple[int, ...] | None = None) -> None:
        self.table = table
        self.sizes = sizes_for(len(table)) if sizes is None else sizes
        self.counters = Counters()
        self.known = KnownSongs()
        self.outlook: Outlook | None = None  # of the playlist that is being made
        self._planning: tuple[object, int] = (None, 0)  # questions with thoughts, of one belief
        self.among_all = Levels(table, self.sizes, self.counters)
        self._filtered: Levels | None = None

    @property
    def passes(self) -> int:
        """How often the whole matrix was read."""
        return self.counters.passes

    @property
    def passes_ahead(self) -> int:
        """How often it was read before anybody had to wait for it."""
        return self.counters.passes_ahead

    @property
    def narrowings(self) -> int:
        """How often a shortlist was made from a longer one."""
        return self.counters.narrowings

    @property
    def looked_at(self) -> int:
        """How many exact quantiles were worked out."""
        return self.counters.looked_at

    @property
    def is_used(self) -> bool:
        """Whether anybody has asked for a shortlist yet."""
        return self.passes > 0

    @property
    def nbytes(self) -> int:
        """The size of what is kept for this listener alone."""
        filtered = self._filtered.nbytes if self._filtered else 0
        return self.among_all.nbytes + filtered + self.known.nbytes

    @property
    def are_worn(self) -> bool:
        """Whether `prepare` has something to do."""
        return any(levels.are_worn for levels in self._all())

    def prepare(self) -> None:
        """Read all songs again if that will soon be necessary; at any time, on any thread."""
        for levels in self._all():
            levels.prepare()

    def _all(self) -> list[Levels]:
        filtered = self._filtered
        return [self.among_all] if filtered is None else [self.among_all, filtered]

    def is_playlist(self, belief: ExactBelief) -> bool:
        """Return whether it seems that many songs are planned, one after the other.

        A question or two with songs heard in thought, such as those of a queue, is none.
        """
        before, count = self._planning
        count = count + 1 if before is belief.learnt else 1
        self._planning = (belief.learnt, count) if belief.is_in_thought else (None, 0)
        if self._planning[1] < _FIRST_OF_PLAYLIST:
            self.outlook = None
        return self.outlook is not None or self._planning[1] >= _FIRST_OF_PLAYLIST

    def filtered(self, allowed: Allowed, *, make: bool) -> Levels | None:
        """Return the shortlists for the marked or listed songs that `allowed` begins with.

        What is kept out or tested besides differs from step to step, so it is no part of them.
        They are kept for the last filter alone, and only made if one asks to `make` them.
        """
        if allowed.mask is None and allowed.listed is None:
            return None
        kept = self._filtered
        if kept is not None and kept.allowed is not None:
            same_marks = kept.allowed.mask is allowed.mask
            if same_marks and kept.allowed.listed is allowed.listed:
                return kept
        if not make:
            return None
        fixed = Allowed(count=allowed.count, mask=allowed.mask, listed=allowed.listed)
        self._filtered = Levels(self.table, self.sizes, self.counters, fixed)
        return self._filtered
