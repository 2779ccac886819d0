"""Ridge regression, the regression of LinUCB (27).

    A = λI + Σ w xx'        mean = x'A⁻¹ Σ w x r        width = √(x'A⁻¹x)

code              maths     shape   meaning
`regularisation`  λ                 precision of every coefficient before the first answer
`coefficients`    A⁻¹Σ w x r (d,)   expected weight of each input
`covariance_root` R         (d, d)  RR' = A⁻¹; A itself is not stored
`time_unit`                         minutes; the elapsed time is one more input in this unit

The inputs are the features (d = p, `linucb-c`), or the features and the elapsed time
(d = p + 1, `linucb-cn`). Novelty is additive there and content times novelty is out of reach,
which is what the paper shows with it.

A root of A⁻¹ is kept rather than A⁻¹ itself: by an answer it is multiplied instead of reduced
by a difference (J. E. Potter's form of the rank-one update), so no width can turn negative by
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtri

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.model.history import SONGS_PER_BLOCK
from bandstand.core.model.prediction import PointPrediction
from bandstand.errors import InvalidInputError
from bandstand.types import blocks, frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.core.model.history import History, Songs
    from bandstand.types import Matrix, Minutes, Rows, Vector

# Rounding grows with every rank-one update; a fresh factorisation now and then removes it,
# for long histories each time they double, so that its cost stays a constant share.
_MAX_UPDATES: Final = 512
# An answer that shrinks a variance by more than this factor loses too many digits online.
_MAX_SHRINKAGE: Final = 1e8
# Rows that are factorised at a time, so that memory stays small for long histories.
_FACTORISED_PER_BLOCK: Final = 4_096
# Beyond these, λ and the largest evidence together leave the range of double precision.
_REGULARISATION_RANGE: Final = (1e-30, 1e30)


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeBelief:
    """The regression after a history."""

    history: History
    coefficients: Vector = field(repr=False)
    covariance_root: Matrix = field(repr=False)
    updates: int = 0  # rank-one updates since the last factorisation
    planned: int = 0  # songs that `plan` assumed to be heard

    def covariance(self) -> Matrix:
        """Return A⁻¹."""
        with np.errstate(under="ignore"):
            product: Matrix = self.covariance_root @ self.covariance_root.T
        return product


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgePrediction(PointPrediction):
    """Mean and confidence width; neither is a statement about p(U | D)."""

    belief: RidgeBelief
    songs: Songs
    time_unit: Minutes | None = None

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector:
        """Return the expected rating of each song: (S,)."""
        return self._for_each_song(lambda inputs: inputs @ self.belief.coefficients)

    def width(self) -> Vector:
        """Return LinUCB's confidence width √(x'A⁻¹x) of each song: (S,)."""
        return self._for_each_song(self._width)

    def parts(self) -> dict[str, Vector]:
        """Return what the features add, what the elapsed time adds if it is used, and the width."""
        coefficients, columns = self.belief.coefficients, self.belief.history.columns
        parts = {"content": self.songs.content(coefficients[:columns])}
        if self.time_unit is not None:
            with np.errstate(under="ignore"):
                parts["time"] = self.songs.elapsed / self.time_unit * coefficients[columns]
        return {**parts, "width": self.width()}

    def _width(self, inputs: Matrix) -> Vector:
        spread = inputs @ self.belief.covariance_root
        return np.asarray(np.sqrt(np.einsum("sp,sp->s", spread, spread)))

    def _for_each_song(self, function: Callable[[Matrix], Vector]) -> Vector:
        """Return `function` of the inputs of each song, a bounded number of songs at a time."""
        values = np.empty(len(self))
        with np.errstate(under="ignore"):
            for rows in blocks(len(self), SONGS_PER_BLOCK):
                values[rows] = function(_inputs(self.songs, self.time_unit, rows))
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge(Engine[RidgeBelief]):
    """The engine of LinUCB; `time_unit` makes the elapsed time one more input.

    >>> from bandstand import History, Songs
    >>> engine = Ridge(regularisation=4.0)
    >>> belief = engine.fit(History.empty(2))
    >>> engine.predict(belief, Songs.of(features=[[3.0, 4.0]], elapsed=0)).width()
    array([2.5])
    """

    online: ClassVar[bool] = True
    regularisation: float = 1.0
    time_unit: Minutes | None = None

    def __post_init__(self) -> None:
        """Refuse what no regression can be made of."""
        low, high = _REGULARISATION_RANGE
        if not low <= self.regularisation <= high:
            msg = f"regularisation must be between {low:g} and {high:g}, got {self.regularisation}"
            raise InvalidInputError(msg)
        if self.time_unit is not None and not 1e-6 <= self.time_unit <= 1e30:
            msg = f"time_unit must be between 1e-06 and 1e+30 minutes, got {self.time_unit}"
            raise InvalidInputError(msg)

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> RidgeBelief:
        """Return the regression of `history`; nothing is drawn, so `rng` is not used."""
        del rng
        root_weights = np.sqrt(history.weights)
        with np.errstate(under="ignore"):
            rows = _inputs(history.songs, self.time_unit) * root_weights[:, np.newaxis]
            answers = history.ratings * root_weights
            triangle = _triangle(np.column_stack([rows, answers]), np.sqrt(self.regularisation))
            root, _ = dtrtri(triangle[:-1, :-1])
            coefficients = root @ triangle[:-1, -1]
        return RidgeBelief(
            history=history, coefficients=frozen(coefficients), covariance_root=frozen(root)
        )

    def update(
        self, belief: RidgeBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> RidgeBelief:
        """Return the regression after one more answer, by a rank-one update (14)."""
        one_more = len(history) == len(belief.history) + 1
        due = belief.updates + 1 >= max(_MAX_UPDATES, len(history) // 2)
        if not one_more or belief.planned or due:
            return self.fit(history, rng=rng)
        row = _inputs(history.songs, self.time_unit, slice(-1, None))[0]
        weight, rating = float(history.weights[-1]), float(history.ratings[-1])
        with np.errstate(under="ignore"):
            after = _rank_one_update(belief.covariance_root, row, weight)
            error = rating - row @ belief.coefficients
            coefficients = belief.coefficients + after.gain * error
        if after.shrinkage > _MAX_SHRINKAGE:
            return self.fit(history, rng=rng)
        return RidgeBelief(
            history=history,
            coefficients=frozen(coefficients),
            covariance_root=frozen(after.root),
            updates=belief.updates + 1,
        )

    def predict(self, belief: RidgeBelief, songs: Songs, *, memory: Any = None) -> RidgePrediction:
        """Return mean and confidence width of `songs`."""
        del memory
        songs.require_columns(belief.history.columns)
        return RidgePrediction(belief=belief, songs=songs, time_unit=self.time_unit)

    def plan(self, belief: RidgeBelief, song: Songs) -> RidgeBelief:
        """Return the belief as if `song` had been heard: only A grows, what is expected stays."""
        with np.errstate(under="ignore"):
            after = _rank_one_update(belief.covariance_root, _inputs(song, self.time_unit)[0], 1.0)
        return replace(belief, covariance_root=frozen(after.root), planned=belief.planned + 1)

    def summary(self, belief: RidgeBelief) -> Summary:
        """Return a summary in which everything is absent: this model has no recovery time."""
        del belief
        return Summary()


def _inputs(songs: Songs, time_unit: Minutes | None, rows: Rows = slice(None)) -> Matrix:
    """Return the features, with the elapsed time at their end if it is used: (n, d)."""
    features = songs.features_of(rows)
    if time_unit is None:
        return features
    with np.errstate(under="ignore"):
        inputs: Matrix = np.column_stack([features, songs.elapsed_of(rows) / time_unit])
    return inputs


def _triangle(rows: Matrix, root_regularisation: float) -> Matrix:
    """Return upper-triangular T with T'T = diag(λ, …, λ, 0) + Σ row row', from a QR.

    The rows are never squared. The multiple of the identity is on top, where no reflection
    before a column's own touches its entry, so no diagonal entry can fall below √λ.
    """
    width = rows.shape[1]
    triangle = np.diag(np.append(np.full(width - 1, root_regularisation), 0.0))
    for block in blocks(len(rows), _FACTORISED_PER_BLOCK):
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, rows[block]]), mode="r"))
    return triangle


class _RankOneUpdate(NamedTuple):
    root: Matrix  # of A⁻¹ after the answer
    gain: Vector  # how far the coefficients move by one unit of error: w A⁻¹x, A after it
    shrinkage: float  # of the variance along x: q


def _rank_one_update(root: Matrix, row: Vector, weight: float) -> _RankOneUpdate:
    """Return what an answer about `row` does to the root of A⁻¹.

    With v = R'x and q = 1 + w v'v:  R ← R − w Rv v' / (q + √q),  gain = w Rv / q.
    """
    seen = row @ root
    shrinkage = 1 + weight * float(seen @ seen)
    towards = root @ seen
    step = towards * (weight / (shrinkage + np.sqrt(shrinkage)))
    return _RankOneUpdate(
        root=root - np.outer(step, seen), gain=towards * (weight / shrinkage), shrinkage=shrinkage
    )
