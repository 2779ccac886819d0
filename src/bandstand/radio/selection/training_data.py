"""Training data of one listener: the plays that say something about a song.

code         shape   meaning
`rows`       (N,)    the catalogue's row of each play's song; −1 if it is not there, or has no
                     features there
`elapsed`    (N,)    minutes since the song had been heard before, at most `LONGEST`

A song that has left the catalogue still counts if its sound is known (`FeaturesOf`); plays of
songs without features are heard, but teach nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.model.history import History, PlayTimes, SongFeatures
from bandstand.core.model.novelty import RADIO_BASIS
from bandstand.types import Minutes, Vector, frozen

if TYPE_CHECKING:
    from bandstand.core.engines.song_table import SongTable
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.fold import PlayTable
    from bandstand.types import AnyArray, Indices, Matrix

# Features by song, without the constant; songs of unknown sound are left out.
FeaturesOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, Vector]]

# The radio's longest elapsed time, and that of a song never heard: the last node of its curves.
LONGEST: Final = Minutes(RADIO_BASIS.cap)
# The columns of a table of plays that are evidence.
_EVIDENCE: Final = ("song", "rating", "weight", "since_heard_ms")
# More plays than this are counted as heard sooner all at once.
_MAX_SINGLE_PLAYS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlayReader:
    """Reads plays as training data over one catalogue."""

    catalogue: Catalogue
    song_features: SongFeatures  # with the column of ones, or without it
    table: SongTable | None  # of the same features
    intercept: bool
    features_of: FeaturesOf

    @classmethod
    def over(
        cls, catalogue: Catalogue, *, intercept: bool, features_of: FeaturesOf | None = None
    ) -> PlayReader:
        """Return a reader with or without the column of ones; no columns where no song has any."""
        found, table = catalogue.song_features, catalogue.table
        if not intercept and catalogue.bare is not None:
            found, table = catalogue.bare
        return cls(
            catalogue=catalogue,
            song_features=SongFeatures.unknown(len(catalogue)) if found is None else found,
            table=table,
            intercept=intercept,
            features_of=features_of or catalogue.features_of,
        )

    def history(
        self, plays: PlayTable, before: History | None = None, *, start: int = 0
    ) -> History:
        """Return `before` with the plays from number `start` on."""
        known = History.empty(self.song_features.features.shape[1]) if before is None else before
        news = plays.rows(start)
        if not len(news):
            return known
        codes, place = np.unique(news["song"], return_inverse=True)
        features, has_features = self._songs(plays.named(codes.tolist()))
        counts = np.flatnonzero((news["weight"] > 0) & has_features[place])
        if not len(counts):
            return known
        more = History.of(
            features=features[place[counts]],
            elapsed=_elapsed(news["since_heard_ms"][counts]),
            ratings=news["rating"][counts],
            weights=news["weight"][counts],
        )
        return known.extended(more)

    def play_times(self, plays: PlayTable) -> PlayTimes:
        """Return when each song of the catalogue was heard, by all plays."""
        never = PlayTimes.nothing(len(self.catalogue), longest=LONGEST)
        rows, at = self._heard(plays, 0)
        # Of several plays the last one counts: in rows turned around, the first.
        heard_rows, place = np.unique(rows[::-1], return_index=True)
        return replace(never, heard_rows=heard_rows, heard_at=frozen(at[::-1][place]))

    def play_times_after(self, before: PlayTimes, plays: PlayTable, *, start: int) -> PlayTimes:
        """Return the same as `play_times`, from those of the first `start` plays."""
        if len(plays) - start > _MAX_SINGLE_PLAYS:
            return self.play_times(plays)
        # The last play that was known may have gone on since.
        for row, at in zip(*self._heard(plays, max(start - 1, 0)), strict=True):
            before = before.after(int(row), Minutes(float(at)))
        return before

    def features(self, song: str) -> Vector | None:
        """Return the features of one song, in the catalogue or not; None if they are not known."""
        features, known = self._songs([song])
        return features[0] if known[0] else None

    def _heard(self, plays: PlayTable, start: int) -> tuple[Indices, Vector]:
        """Return the row and the minute of each play from number `start` on, if it has a row."""
        news = plays.rows(start)
        codes, place = np.unique(news["song"], return_inverse=True)
        rows = self.catalogue.ids.rows(plays.named(codes.tolist()))[place]
        is_there = rows >= 0
        return rows[is_there], news["at"][is_there] / MILLISECONDS_PER_MINUTE

    def _songs(self, ids: Sequence[str]) -> tuple[Matrix, AnyArray]:
        """Return the features of some songs, and which of them are known."""
        catalogue, table = self.catalogue, self.song_features.features
        rows = catalogue.ids.rows(ids)
        rows[rows >= 0] = np.where(catalogue.has_features[rows[rows >= 0]], rows[rows >= 0], -1)
        known = rows >= 0
        features = np.zeros((len(ids), table.shape[1]))
        features[known] = table[rows[known]]
        elsewhere = np.flatnonzero(~known).tolist()
        found = self.features_of([ids[place] for place in elsewhere]) if elsewhere else {}
        for place in elsewhere:
            vector = found.get(ids[place])
            # One of another projection than the catalogue's would mean something else.
            if vector is not None and len(vector) + self.intercept == table.shape[1]:
                features[place, : len(vector)] = vector
                features[place, len(vector) :] = 1.0
                known[place] = True
        return features, known


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


def _elapsed(since_heard_ms: AnyArray) -> Vector:
    """Return minutes from milliseconds; a song never heard before (−1) counts as longest ago."""
    minutes = np.minimum(since_heard_ms / MILLISECONDS_PER_MINUTE, LONGEST)
    return np.where(since_heard_ms < 0, LONGEST, minutes)
