"""From a listener's ledger to what an engine learns from: the plays that say something.

code         shape   meaning
`rows`       (N,)    the shelf's row of each play's song; −1 if it is not on the shelf, or has
                     no features there
`elapsed`    (N,)    minutes since the song had been heard before, at most `LONGEST`

A song that is no longer on the shelf still counts if its sound is known (`FeaturesOf`); plays of
songs without features are heard, but nothing can be learnt from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand._util.clock import MILLISECONDS_PER_MINUTE
from bandstand.core.model.history import History
from bandstand.core.model.piecewise_linear import RADIO_BASIS
from bandstand.core.play_times import RECENT, PlayTimes
from bandstand.types import Minutes, Vector, frozen

if TYPE_CHECKING:
    from bandstand.core.play_times import SongFeatures
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.play_table import PlayTable
    from bandstand.types import AnyArray, Indices, Matrix

# Features by song, without the constant; songs of which nothing is known are left out.
FeaturesOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, Vector]]

# The radio's longest elapsed time, and that of a song never heard: the last node of its curves.
LONGEST: Final = Minutes(RADIO_BASIS.cap)
# What a play says, in the columns of a table of plays.
_SAYS: Final = ("song", "rating", "weight", "since_heard_ms")
# More plays than this are counted as heard sooner all at once.
_FEW: Final = 16


def nothing_known(ids: Sequence[str]) -> Mapping[str, Vector]:
    """Return no features: nothing is known of songs that are not on the shelf."""
    del ids
    return {}


def minutes_at(moment: int) -> Minutes:
    """Return a time in minutes since 1970."""
    return Minutes(moment / MILLISECONDS_PER_MINUTE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What a listener has told over one shelf by some plays."""

    plays: PlayTable
    history: History
    recent: tuple[int, ...]  # rows of the last songs that were heard, as diversity needs them


class Reader:
    """Reads ledgers over one shelf."""

    def __init__(
        self, shelf: Catalogue, catalogue: SongFeatures, features_of: FeaturesOf, *, intercept: bool
    ) -> None:
        self._shelf = shelf
        self._catalogue = catalogue
        self._features_of = features_of
        self._intercept = intercept

    def told(self, plays: PlayTable) -> Told:
        """Return what all plays tell."""
        nothing = History.empty(self._catalogue.features.shape[1])
        return self._extended(nothing, (), plays, 0)

    def continued(self, before: Told, plays: PlayTable) -> Told | None:
        """Return what all plays tell if they go on from `before`, or None if those changed.

        When the last one of them ended does not matter, only what it says.
        """
        start = _in_common(before.plays, plays)
        if start is None:
            return None
        return self._extended(before.history, before.recent, plays, start)

    def features(self, song: str) -> Vector | None:
        """Return the features of one song, on the shelf or not; None if they are not known."""
        features, known, _ = self._songs([song])
        return features[0] if known[0] else None

    def _extended(
        self, history: History, recent: tuple[int, ...], plays: PlayTable, start: int
    ) -> Told:
        news = plays.rows(start)
        if not len(news):
            return Told(plays=plays, history=history, recent=recent)
        codes, place = np.unique(news["song"], return_inverse=True)
        features, known, rows = self._songs(plays.named(codes.tolist()))
        rows, features = rows[place], features[place]
        diversity = self._diversity(recent, rows, features)
        tells = np.flatnonzero((news["weight"] > 0) & known[place])
        more = History.of(
            features=features[tells],
            elapsed=_elapsed(news["since_heard_ms"][tells]),
            ratings=news["rating"][tells],
            weights=news["weight"][tells],
            diversity=diversity[tells],
        )
        heard = (*recent, *rows[rows >= 0].tolist())
        return Told(plays=plays, history=history.extended(more), recent=heard[-RECENT:])

    def _songs(self, ids: Sequence[str]) -> tuple[Matrix, AnyArray, Indices]:
        """Return features, which of them are known, and the shelf's rows of some songs."""
        shelf, columns = self._shelf, self._catalogue.features.shape[1]
        rows = shelf.ids.rows(ids)
        rows[rows >= 0] = np.where(shelf.has_features[rows[rows >= 0]], rows[rows >= 0], -1)
        features = np.zeros((len(ids), columns))
        features[rows >= 0] = self._catalogue.features[rows[rows >= 0]]
        known = rows >= 0
        elsewhere = np.flatnonzero(~known).tolist()
        found = self._features_of([ids[place] for place in elsewhere]) if elsewhere else {}
        for place in elsewhere:
            vector = found.get(ids[place])
            # Of another projection than the shelf's, it would say something else.
            if vector is not None and len(vector) + self._intercept == columns:
                features[place, : len(vector)] = vector
                features[place, len(vector) :] = 1.0
                known[place] = True
        return features, known, rows

    def _diversity(self, recent: tuple[int, ...], rows: Indices, features: Matrix) -> Vector:
        """Return how far each play was from the mean of the last ones before it (1 for none)."""
        on_shelf = rows >= 0
        heard = [*recent, *rows[on_shelf].tolist()]
        before = np.asarray(self._catalogue.features[heard], dtype=np.float64)
        sums = np.concatenate([np.zeros((1, features.shape[1])), np.cumsum(before, axis=0)])
        last = len(recent) + np.cumsum(on_shelf) - on_shelf
        first = np.maximum(last - RECENT, 0)
        count = np.maximum(last - first, 1)[:, np.newaxis]
        with np.errstate(under="ignore"):
            away = features - (sums[last] - sums[first]) / count
            distance = np.sqrt(np.einsum("np,np->n", away, away))
        return np.where(last > first, distance / self._catalogue.typical_distance, 1.0)


def listening_of(shelf: Catalogue, plays: PlayTable, recent: tuple[int, ...]) -> PlayTimes:
    """Return when each song of the shelf was heard, by all plays."""
    nothing = PlayTimes.nothing(len(shelf), longest=LONGEST)
    if not len(plays):
        return replace(nothing, recent=recent)
    rows, at = _heard(shelf, plays, 0)
    # Of several plays the last one counts: in rows turned around, the first.
    heard_rows, place = np.unique(rows[::-1], return_index=True)
    return replace(nothing, heard_rows=heard_rows, heard_at=frozen(at[::-1][place]), recent=recent)


def listening_after(
    before: PlayTimes, shelf: Catalogue, known: PlayTable, plays: PlayTable, recent: tuple[int, ...]
) -> PlayTimes:
    """Return the same as `listening_of`, going on from `before`, which was that of `known`."""
    start = _in_common(known, plays)
    if start is None or len(plays) - start > _FEW:
        return listening_of(shelf, plays, recent)
    # The last play that was known may have gone on since.
    for row, at in zip(*_heard(shelf, plays, max(start - 1, 0)), strict=True):
        before = before.after(int(row), Minutes(float(at)))
    return replace(before, recent=recent)


def _heard(shelf: Catalogue, plays: PlayTable, start: int) -> tuple[Indices, Vector]:
    """Return the row of each play's song from number `start` on, if it has one, and when it was."""
    news = plays.rows(start)
    codes, place = np.unique(news["song"], return_inverse=True)
    rows = shelf.ids.rows(plays.named(codes.tolist()))[place]
    on_shelf = rows >= 0
    return rows[on_shelf], news["at"][on_shelf] / MILLISECONDS_PER_MINUTE


def _in_common(before: PlayTable, plays: PlayTable) -> int | None:
    """Return how many plays `before` has, if `plays` begins with them; None if it does not."""
    count = len(before)
    if len(plays) < count:
        return None
    # Those before the last are the same rows as a rule, and need not be looked at.
    start = max(count - 1, 0) if plays.continues(before) else 0
    old, new = before.rows(start), plays.rows(start)[: count - start]
    if not all((old[name] == new[name]).all() for name in _SAYS):
        return None
    codes = np.unique(old["song"]).tolist()
    return count if before.named(codes) == plays.named(codes) else None


def _elapsed(since_heard_ms: AnyArray) -> Vector:
    """Return minutes from milliseconds; a song never heard before (−1) counts as longest ago."""
    minutes = np.minimum(since_heard_ms / MILLISECONDS_PER_MINUTE, LONGEST)
    return np.where(since_heard_ms < 0, LONGEST, minutes)
