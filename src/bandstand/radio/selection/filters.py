"""What a listener's bans, years and wish leave of a shelf, kept from song to song.

They change rarely, and finding out what they mean looks at every song. So it is done when they
change; what changes with every song is asked of few songs only (`rules.Spacing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import NotFoundError
from bandstand.music.catalogue.catalogue import NO_ROWS
from bandstand.music.catalogue.years import ALL_YEARS
from bandstand.radio.selection import spacing as rules
from bandstand.radio.selection.candidates import is_any
from bandstand.radio.selection.stations import Granting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.music.catalogue.years import Years
    from bandstand.radio.log.fold import Rule
    from bandstand.radio.selection.spacing import Spacing
    from bandstand.radio.selection.stations import Wish


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Free:
    """What some rules and years leave, and how far apart it is to be kept."""

    active: tuple[Rule, ...]
    years: Years
    songs: CandidateSet
    spacing: Spacing


class Leeway:
    """What one listener may hear of one shelf; it is used by one thread at a time."""

    def __init__(self, shelf: Catalogue) -> None:
        self._shelf = shelf
        self._all_analysed = bool(np.all(shelf.has_features))
        self._gone = NO_ROWS
        self._free: Free | None = None
        self._granting: tuple[Wish, Free, Granting] | None = None

    def free(self, active: tuple[Rule, ...], years: Years = ALL_YEARS) -> Free:
        """Return what these rules leave of these years; mostly the same as for the song before."""
        known = self._free
        if known is not None and (known.active, known.years) == (active, years):
            return known
        songs = self._of_years(self._unbanned(active), years)
        spacing = rules.Spacing.over(self._shelf, songs)
        self._free = found = Free(active=active, years=years, songs=songs, spacing=spacing)
        self._granting = None  # it was over what was free before, and would keep that alive
        return found

    def _unbanned(self, active: tuple[Rule, ...]) -> CandidateSet:
        songs = rules.unbanned(self._shelf, active, self._gone)
        if not is_any(songs):
            empty = "there are no songs"
            left = len(self._shelf) - len(self._gone)
            why = "every song is banned or snoozed" if left else empty
            msg = f"nothing may be played: {why}"
            raise NotFoundError(msg)
        return songs

    def _of_years(self, songs: CandidateSet, years: Years) -> CandidateSet:
        found = years.among(self._shelf.columns.year, songs)
        if is_any(found):
            return found
        everything = CandidateSet.everything(len(self._shelf))
        if is_any(years.among(self._shelf.columns.year, everything)):
            msg = f"nothing may be played: every song of {years} is banned or snoozed"
        else:
            msg = f"there must be songs of the years that are asked for, got {years}"
        raise NotFoundError(msg)

    def granting(self, wish: Wish, free: Free) -> Granting:
        """Return what a wish comes to; mostly the same as for the song before."""
        known = self._granting
        if known is not None and known[:2] == (wish, free):
            return known[2]
        granting = Granting(self._shelf, wish, free.songs)
        self._granting = (wish, free, granting)
        return granting

    def lose(self, songs: Sequence[str]) -> None:
        """Play none of these any more: they have left the library since the shelf was made."""
        rows = self._shelf.ids.rows(songs)
        self._gone = np.union1d(self._gone, rows[rows >= 0])
        self._free = self._granting = None

    def analysed(self, songs: CandidateSet) -> CandidateSet:
        """Return those of the songs that have features."""
        if self._all_analysed:
            return songs
        has_features = self._shelf.has_features
        return songs.where(lambda rows: has_features[rows])

    @property
    def nbytes(self) -> int:
        """The size of what is kept for this listener alone."""
        mask = None if self._free is None else self._free.songs.mask
        near = 0 if self._granting is None else self._granting[2].nbytes
        return near + int(self._gone.nbytes) + (0 if mask is None else int(mask.nbytes))
