"""Training data of one listener: the plays that say something about a song.

code         shape   meaning
`elapsed`    (N,)    minutes since the song had been heard before, at most `never`

A song that has left the catalogue still counts if its sound is known (`SongsOf`); plays of
songs without features are heard, but teach nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias

import numpy as np

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.history import History, PlayTimes, SongFeatures, Songs
from bandstand.core.model.novelty import RADIO_BASIS
from bandstand.core.model.priors import ListenerPrior, radio_prior
from bandstand.core.model.song_groups import UNKNOWN, SongGroups
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.music.catalogue.design import Columns
from bandstand.music.catalogue.design_view import DesignView, KnownSong
from bandstand.radio.log.fold import PlayTable
from bandstand.types import AnyArray, Indices, Matrix, Minutes, Vector

# What is known of songs, in the catalogue or not; those of unknown sound are left out.
SongsOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, KnownSong]]

# The radio's longest elapsed time, and that of a song never heard where a model has no "never":
# the last node of its curves.
LONGEST: Final = Minutes(RADIO_BASIS.cap)
# The columns of a table of plays that are evidence.
_EVIDENCE: Final = ("song", "rating", "weight", "since_heard_ms")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlayReader:
    """Reads plays as training data over one catalogue."""

    catalogue: Catalogue
    view: DesignView | None  # None where no song has features
    intercept: bool
    has_effects: bool
    songs_of: SongsOf

    @classmethod
    def over(
        cls,
        catalogue: Catalogue,
        *,
        intercept: bool,
        has_effects: bool = False,
        songs_of: SongsOf | None = None,
    ) -> PlayReader:
        """Return a reader for a model with or without names, and with or without an intercept."""
        view = catalogue.named if has_effects else catalogue.sound
        return cls(
            catalogue=catalogue,
            view=view if intercept or view is None else view.without_constant,
            intercept=intercept,
            has_effects=has_effects,
            songs_of=songs_of or catalogue.songs_of,
        )

    def onto(self, catalogue: Catalogue, songs_of: SongsOf | None = None) -> PlayReader:
        """Return the reader of the same model over another catalogue."""
        return PlayReader.over(
            catalogue,
            intercept=self.intercept,
            has_effects=self.has_effects,
            songs_of=songs_of,
        )

    @property
    def song_features(self) -> SongFeatures:
        """The features of all songs; without any column where no song has some."""
        return (
            SongFeatures.unknown(len(self.catalogue))
            if self.view is None
            else self.view.song_features
        )

    @property
    def table(self) -> SongTable | None:
        """The same features as engines stream through them."""
        return None if self.view is None else self.view.table

    @property
    def columns(self) -> Columns:
        """What the columns of the features are."""
        if self.view is None:
            return Columns()
        spellings = self.catalogue.tag_spellings if self.has_effects else None
        return self.view.columns._replace(averages=self.view.averages, spellings=spellings)

    def prior(self) -> ListenerPrior:
        """Return the prior of a listener for these features."""
        if self.view is None:
            return radio_prior(1, intercept=self.intercept)
        return self.view.prior(has_effects=self.has_effects)

    @property
    def never(self) -> Minutes:
        """How long ago a song never heard counts as heard: no other song counts as longer."""
        return Minutes(inf) if self.has_effects else LONGEST

    def history(
        self, plays: PlayTable, before: History | None = None, *, start: int = 0
    ) -> History:
        """Return `before` with the plays from number `start` on."""
        known = History.empty(self.song_features.features.shape[1]) if before is None else before
        news = plays.rows(start)
        if not len(news):
            return known
        codes, place = np.unique(news["song"], return_inverse=True)
        features, groups, has_features = self._songs(plays.named(codes.tolist()))
        counts = np.flatnonzero((news["weight"] > 0) & has_features[place])
        if not len(counts):
            return known
        more = History.of(
            features=features[place[counts]],
            elapsed=_elapsed(news["since_heard_ms"][counts], self.never),
            ratings=news["rating"][counts],
            weights=news["weight"][counts],
            groups=groups.take(place[counts]),
        )
        return known.extended(more)

    def play_times(self, plays: PlayTable) -> PlayTimes:
        """Return when each song of the catalogue was heard, by all plays."""
        never = PlayTimes.nothing(len(self.catalogue), longest=self.never)
        return self.play_times_after(never, plays, start=0)

    def play_times_after(self, before: PlayTimes, plays: PlayTable, *, start: int) -> PlayTimes:
        """Return the same as `play_times`, from those of the first `start` plays."""
        # The last play that was known may have gone on since.
        return before.after(*self._heard(plays, max(start - 1, 0)))

    def song(self, song: str, elapsed: Minutes) -> Songs | None:
        """Return one song, in the catalogue or not, heard so long ago; None if it is not known."""
        features, groups, known = self._songs([song])
        if not known[0]:
            return None
        return Songs.of(features=features, elapsed=elapsed, groups=groups)

    def _heard(self, plays: PlayTable, start: int) -> tuple[Indices, Vector]:
        """Return the row and the minute of each play from number `start` on, if it has a row."""
        news = plays.rows(start)
        codes, place = np.unique(news["song"], return_inverse=True)
        rows = self.catalogue.ids.rows(plays.named(codes.tolist()))[place]
        is_there = rows >= 0
        return rows[is_there], news["at"][is_there] / MILLISECONDS_PER_MINUTE

    def _songs(self, ids: Sequence[str]) -> tuple[Matrix, SongGroups, AnyArray]:
        """Return the features and groups of some songs, and which of them are known."""
        catalogue, songs = self.catalogue, self.song_features
        rows = catalogue.ids.rows(ids)
        rows[rows >= 0] = np.where(catalogue.has_features[rows[rows >= 0]], rows[rows >= 0], -1)
        known = rows >= 0
        features = np.zeros((len(ids), songs.features.shape[1]))
        features[known] = songs.features[rows[known]]
        groups = np.full((3, len(ids)), UNKNOWN)
        if songs.groups is not None:
            groups[:, known] = songs.groups.take(rows[known]).stacked()
        elsewhere = np.flatnonzero(~known).tolist()
        found = self.songs_of([ids[place] for place in elsewhere]) if elsewhere else {}
        for place in elsewhere:
            song = found.get(ids[place])
            row = None if song is None else self._row(song.features)
            if song is None or row is None:
                continue
            features[place], known[place] = row, True
            if songs.groups is not None:
                groups[:, place] = song.groups.stacked()[:, 0]
        return features, SongGroups.unstacked(groups), known

    def _row(self, columns: Vector) -> Vector | None:
        """Return the features of a song as this model sees them; None if they are of no use."""
        view = self.view
        if view is None:
            return None
        if not self.has_effects and self.catalogue.named is not None:
            columns = columns[self.catalogue.named.columns.first_sound :]
        row = np.append(columns, 1.0) if self.intercept else columns
        # One of another design than the catalogue's would mean something else.
        return row if len(row) == view.song_features.features.shape[1] else None


def plays_in_common(before: PlayTable, plays: PlayTable) -> int | None:
    """Return the number of plays in `before` if `plays` begins with them; None if it does not.

    When the last one of them ended does not matter, only its evidence.
    """
    count = len(before)
    if len(plays) < count:
        return None
    # Those before the last are the same rows as a rule, and need no comparison.
    start = max(count - 1, 0) if plays.continues(before) else 0
    old, new = before.rows(start), plays.rows(start)[: count - start]
    if not all((old[name] == new[name]).all() for name in _EVIDENCE):
        return None
    codes = np.unique(old["song"]).tolist()
    return count if before.named(codes) == plays.named(codes) else None


def _elapsed(since_heard_ms: AnyArray, never: Minutes) -> Vector:
    """Return minutes from milliseconds; a song never heard before (−1) counts as longest ago."""
    minutes = np.minimum(since_heard_ms / MILLISECONDS_PER_MINUTE, never)
    return np.where(since_heard_ms < 0, never, minutes)
