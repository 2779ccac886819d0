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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bandstand.algorithms.situation import RECENT, Listening
from bandstand.arrays import Vector, frozen
from bandstand.domain import History
from bandstand.model.piecewise_linear import RADIO_BASIS
from bandstand.radio.clock import MILLISECONDS_PER_MINUTE
from bandstand.units import Minutes

if TYPE_CHECKING:
    from bandstand.algorithms.situation import Catalogue
    from bandstand.arrays import AnyArray, Indices, Matrix
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.radio.log.ledger import Columns

# Features by song, without the constant; songs of which nothing is known are left out.
FeaturesOf: TypeAlias = Callable[[Sequence[str]], Mapping[str, Vector]]

# The radio's longest elapsed time, and that of a song never heard: the last node of its curves.
LONGEST: Final = Minutes(RADIO_BASIS.cap)


def nothing_known(ids: Sequence[str]) -> Mapping[str, Vector]:
    """Return no features: nothing is known of songs that are not on the shelf."""
    del ids
    return {}


def minutes_at(moment: int) -> Minutes:
    """Return a time in minutes since 1970."""
    return Minutes(moment / MILLISECONDS_PER_MINUTE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What a listener has told over one shelf, as far as `columns` of the ledger go."""

    columns: Columns
    history: History
    recent: tuple[int, ...]  # rows of the last songs that were heard, as diversity needs them


class Reader:
    """Reads ledgers over one shelf."""

    def __init__(
        self, shelf: Shelf, catalogue: Catalogue, features_of: FeaturesOf, *, intercept: bool
    ) -> None:
        self._shelf = shelf
        self._catalogue = catalogue
        self._features_of = features_of
        self._intercept = intercept

    def told(self, columns: Columns) -> Told:
        """Return what all plays tell."""
        nothing = History.empty(self._catalogue.features.shape[1])
        return self._extended(nothing, (), columns, 0)

    def continued(self, before: Told, columns: Columns) -> Told | None:
        """Return what all plays tell if they go on from `before`, or None if those changed.

        When the last one of them ended does not matter, only what it says.
        """
        if not _begins_with(columns, before.columns):
            return None
        start = len(before.columns.song)
        return self._extended(before.history, before.recent, columns, start)

    def features(self, song: str) -> Vector | None:
        """Return the features of one song, on the shelf or not; None if they are not known."""
        features, known, _ = self._songs([song])
        return features[0] if known[0] else None

    def _extended(
        self, history: History, recent: tuple[int, ...], columns: Columns, start: int
    ) -> Told:
        codes, place = np.unique(columns.song[start:], return_inverse=True)
        features, known, rows = self._songs([columns.ids[code] for code in codes])
        rows, features = rows[place], features[place]
        diversity = self._diversity(recent, rows, features)
        tells = np.flatnonzero((columns.weight[start:] > 0) & known[place])
        more = History.of(
            features=features[tells],
            elapsed=_elapsed(columns.since_heard_ms[start:][tells]),
            ratings=columns.rating[start:][tells],
            weights=columns.weight[start:][tells],
            diversity=diversity[tells],
        )
        heard = (*recent, *rows[rows >= 0].tolist())
        return Told(columns=columns, history=history.extended(more), recent=heard[-RECENT:])

    def _songs(self, ids: Sequence[str]) -> tuple[Matrix, AnyArray, Indices]:
        """Return features, which of them are known, and the shelf's rows of some songs."""
        shelf, columns = self._shelf, self._catalogue.features.shape[1]
        rows = np.array([shelf.row_of.get(song, -1) for song in ids], dtype=np.intp)
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
        before = self._catalogue.features[[*recent, *rows[on_shelf].tolist()]]
        sums = np.concatenate([np.zeros((1, features.shape[1])), np.cumsum(before, axis=0)])
        last = len(recent) + np.cumsum(on_shelf) - on_shelf
        first = np.maximum(last - RECENT, 0)
        count = np.maximum(last - first, 1)[:, np.newaxis]
        with np.errstate(under="ignore"):
            away = features - (sums[last] - sums[first]) / count
            distance = np.sqrt(np.einsum("np,np->n", away, away))
        return np.where(last > first, distance / self._catalogue.typical_distance, 1.0)


def listening_of(shelf: Shelf, columns: Columns, recent: tuple[int, ...]) -> Listening:
    """Return when each song of the shelf was heard, by a ledger's plays."""
    last_heard = np.full(len(shelf), -np.inf)
    if len(columns.song) and len(shelf):
        at = np.full(len(columns.ids), -np.inf)
        # Of several plays the last one stays.
        at[columns.song] = columns.at / MILLISECONDS_PER_MINUTE
        rows = np.array([shelf.row_of.get(song, -1) for song in columns.ids], dtype=np.intp)
        last_heard[rows[rows >= 0]] = at[rows >= 0]
    return Listening(last_heard=frozen(last_heard), recent=recent, longest=LONGEST)


def _begins_with(columns: Columns, before: Columns) -> bool:
    count = len(before.song)
    return (
        len(columns.song) >= count
        and columns.ids[: len(before.ids)] == before.ids
        and all(
            bool((getattr(columns, name)[:count] == getattr(before, name)).all())
            for name in ("song", "rating", "weight", "since_heard_ms")
        )
    )


def _elapsed(since_heard_ms: AnyArray) -> Vector:
    """Return minutes from milliseconds; a song never heard before (−1) counts as longest ago."""
    minutes = np.minimum(since_heard_ms / MILLISECONDS_PER_MINUTE, LONGEST)
    return np.where(since_heard_ms < 0, LONGEST, minutes)
