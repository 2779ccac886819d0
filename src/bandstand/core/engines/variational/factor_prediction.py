"""The prediction of a model of factors: U is a product of independent normals.

Under q each factor β_f'v_f of a song is normal, with mean v'm_f and standard deviation
|L_f⁻¹v|. Mean and standard deviation of their product have closed forms. Quantiles are
deterministic: (24) for two factors, and a sum over it for more.

code              maths       shape      meaning
`means`           m_f         (d_f,)     expected coefficients of each factor
`precision_roots` L_f         (d_f,d_f)  lower triangle of each precision, LL' = Λ_f

The best songs of a large catalogue are found without computing every quantile. Songs never heard
share all factors but content, so (`quantile_bounds`)

    Q(x) ≤ max_k (slope_k μ + width_k σ),    μ = x'm,  σ = √(x'Λ⁻¹x),  |μ| ≤ R σ

With b the largest width, slope_k μ + width_k σ ≤ (slope_k ∓ (b − width_k)/R) μ + b σ for either
sign of μ: a `Screen` with two knots along m, which bounds all songs in one pass. Songs heard lately
are bounded one by one. A model of three factors has no such screen, since each song has its own
diversity; there every song is bounded by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.blocks import blocks
from bandstand.core.engines.exact.search.screen import Screen
from bandstand.core.engines.variational.equations import triangular_inverse
from bandstand.core.engines.variational.quantile_bounds import FactorBounds
from bandstand.core.model import product_normal
from bandstand.core.model.candidates import allowed_of
from bandstand.core.model.history import SONGS_PER_BLOCK, Songs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.engines.variational.quantile_bounds import Envelope
    from bandstand.core.model.candidates import CandidateSet, Choice
    from bandstand.core.model.factors import Factor
    from bandstand.types import Indices, Matrix, Vector

# The square of a length below this has lost digits to underflow; its row is scaled first.
_SMALLEST_LENGTH: Final = 1e-145
_NO_SCALE: Final = 1e-12
# Up to this number of songs all are computed; with three factors bounds take long to prepare.
_COMPUTED_UP_TO: Final = 32
_COMPUTED_UP_TO_OF_THREE: Final = 1_024
# Up to this number of songs are bounded one by one.
_BOUNDED_UP_TO: Final = 16_384
# Songs computed first, besides as many as are wanted; then twice as many each time.
_FIRST_BATCH: Final = 8
_MAX_BATCH: Final = 4_096
# Songs of the largest bounds that are first tested for whether they are allowed.
_FIRST_TESTED: Final = 1_024
# Of the products that a bound is made of, and of slopes; far more than the errors of rounding.
_PRODUCT_MARGIN: Final = 1e-11
_SLOPE_MARGIN: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class FactorPrediction:
    """p(U | D) of each song as a product of independent normals.

    Every number of a song is computed from its own row alone, in the same order wherever the
    row stands: songs that are equal have equal quantiles to the last digit.
    """

    factors: tuple[Factor, ...]
    means: tuple[Vector, ...]
    precision_roots: tuple[Matrix, ...]
    songs: Songs
    memory: SearchCache | None = None

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector:
        """Return E[U | D], the product of the factors' means."""
        with np.errstate(under="ignore"):
            return np.asarray(np.prod(self.factor_means, axis=0))

    def standard_deviation(self) -> Vector:
        """Return the square root of Π(m² + s²) − Πm², without the difference."""
        return product_normal.standard_deviation(self.factor_means, self.factor_deviations)

    def quantile(self, level: float) -> Vector:
        """Return the value that U stays below with probability `level`, for each song."""
        return product_normal.quantile(level, self.factor_means, self.factor_deviations)

    def sample(self, rng: np.random.Generator, size: int) -> Matrix:
        """Return `size` draws of all expected ratings, each from one draw of all coefficients."""
        drawn = [
            # LL' = Λ, so L'⁻¹z has the covariance Λ⁻¹.
            mean + rng.standard_normal((size, len(mean))) @ triangular_inverse(root)
            for mean, root in zip(self.means, self.precision_roots, strict=True)
        ]
        draws = np.ones((size, len(self)))
        with np.errstate(under="ignore"):
            for rows in self._blocks():
                for design, coefficients in zip(self._designs_of(rows), drawn, strict=True):
                    draws[:, rows] *= coefficients @ design.T
        return draws

    def parts(self) -> dict[str, Vector]:
        """Return the mean of each factor; only their product is known, so curves are scaled.

        Each curve is 1 at its reference (novelty: the longest time; diversity: the typical
        distance), and the first factor carries the scale of all.
        """
        first, *curves = self.factors
        parts = {first.name: self.factor_means[0]}
        with np.errstate(under="ignore"):
            for factor, mean, values in zip(
                curves, self.means[1:], self.factor_means[1:], strict=True
            ):
                scale = 1.0 if factor.reference is None else float(factor.reference @ mean)
                # A curve that is 0 at its reference has no scale to be shown in.
                if abs(scale) <= _NO_SCALE * float(np.abs(mean).max()):
                    scale = 1.0
                parts[factor.name] = values / scale
                parts[first.name] = parts[first.name] * scale
        return parts

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        some = allowed_of(allowed, len(self))
        few = _COMPUTED_UP_TO if len(self.factors) <= 2 else _COMPUTED_UP_TO_OF_THREE
        if self.memory is None or count <= 0 or some.upper_count <= max(few, 4 * count):
            return self._best_among(some.rows(), level, count)
        with np.errstate(under="ignore"):
            search = BestFirst(self, level, count)
            search.run(self.memory, some)
        self.memory.evaluated += search.evaluated
        return search.rows

    def _best_among(self, rows: Indices, level: float, count: int) -> Indices:
        """Return those of `rows`, which rise, that have the `count` largest quantiles."""
        best, values = rows[:0], np.empty(0)
        for block in blocks(len(rows), SONGS_PER_BLOCK):
            some = rows[block]
            which, found = product_normal.largest_quantiles(level, count, *self.normals_of(some))
            best, values = _largest(
                np.concatenate([best, some[which]]), np.concatenate([values, found]), count
            )
        return best

    def normals_of(self, rows: Indices | slice) -> tuple[Matrix, Matrix]:
        """Return mean and standard deviation of each factor of the songs in `rows`: (F, n) each."""
        return self._normals(self._designs_of(rows))

    def _normals(self, designs: list[Matrix]) -> tuple[Matrix, Matrix]:
        with np.errstate(under="ignore"):
            means = [_means(each, mean) for each, mean in zip(designs, self.means, strict=True)]
        deviations = [
            _deviations(each, root) for each, root in zip(designs, self.inverse_roots, strict=True)
        ]
        return np.stack(means), np.stack(deviations)

    def fast_normals(self, songs: Songs) -> tuple[Matrix, Matrix]:
        """Return the same for `songs`, sooner, but for rounding that depends on their order."""
        designs = [factor.design(songs) for factor in self.factors]
        means = [design @ mean for design, mean in zip(designs, self.means, strict=True)]
        halves = [d @ root.T for d, root in zip(designs, self.inverse_roots, strict=True)]
        deviations = [np.sqrt(np.einsum("ij,ij->i", half, half)) for half in halves]
        return np.stack(means), np.stack(deviations)

    def bounds(self, level: float) -> FactorBounds:
        """Return upper bounds of the `level` quantiles."""
        columns = self.songs.features.shape[1]
        silence = Songs(
            features=np.zeros((1, columns)),
            elapsed=np.array([self.songs.longest]),
            diversity=np.ones(1),
        )
        means, deviations = self._normals([factor.design(silence) for factor in self.factors])
        # x'm = (L⁻¹x)'(L'm) ≤ |L⁻¹x| |L'm|, so no song has a larger |μ|/σ than |L'm|.
        farthest = float(np.linalg.norm(self.precision_roots[0].T @ self.means[0]))
        return FactorBounds(
            level=level,
            never_heard=(means[:, 0], deviations[:, 0]),
            farthest=farthest * (1 + 1e-9),
        )

    @cached_property
    def factor_means(self) -> Matrix:
        """The mean of each factor of each song: (F, S)."""
        values = np.empty((len(self.factors), len(self)))
        with np.errstate(under="ignore"):
            for rows in self._blocks():
                for place, design in enumerate(self._designs_of(rows)):
                    values[place, rows] = _means(design, self.means[place])
        return values

    @cached_property
    def factor_deviations(self) -> Matrix:
        """The standard deviation of each factor of each song: (F, S)."""
        values = np.empty((len(self.factors), len(self)))
        for rows in self._blocks():
            for place, design in enumerate(self._designs_of(rows)):
                values[place, rows] = _deviations(design, self.inverse_roots[place])
        return values

    @cached_property
    def inverse_roots(self) -> tuple[Matrix, ...]:
        """L_f⁻¹ of each factor."""
        return tuple(triangular_inverse(root) for root in self.precision_roots)

    def _blocks(self) -> Iterator[slice]:
        return blocks(len(self), SONGS_PER_BLOCK)

    def _designs_of(self, rows: Indices | slice) -> list[Matrix]:
        some = self.songs.take(rows)
        return [factor.design(some) for factor in self.factors]


def _means(design: Matrix, coefficients: Vector) -> Vector:
    # Not a product of matrices, whose rounding depends on the row's place.
    means: Vector = np.einsum("ij,j->i", design, coefficients)
    return means


def _deviations(design: Matrix, inverse_root: Matrix) -> Vector:
    """Return |L⁻¹v| of each row v, also where its square is too small for a number."""
    with np.errstate(under="ignore"):
        deviations = _lengths(design, inverse_root)
        (small,) = np.nonzero(deviations < _SMALLEST_LENGTH)
        largest = np.abs(design[small]).max(axis=1, initial=0.0)
        scale = np.where(largest > 0, largest, 1.0)
        deviations[small] = scale * _lengths(design[small] / scale[:, np.newaxis], inverse_root)
    return deviations


def _lengths(design: Matrix, inverse_root: Matrix) -> Vector:
    half = np.einsum("ij,kj->ik", design, inverse_root)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", half, half)))


class BestFirst:
    """A search for the `count` largest quantiles: songs with the largest bounds are computed first.

    Bounds come from products of matrices, whose rounding is inside the bound. The search ends as
    soon as the largest bound that is left is below the last of the best values found.
    """

    def __init__(self, prediction: FactorPrediction, level: float, count: int) -> None:
        self.prediction, self.level, self.count = prediction, level, count
        self.bounds = prediction.bounds(level)
        self.evaluated = 0
        # The best songs so far, best first, with their quantiles.
        self.rows, self.values = np.empty(0, dtype=np.intp), np.empty(0)
        self._considered = self.rows
        self._length = float(np.linalg.norm(prediction.means[0]))

    @property
    def threshold(self) -> float:
        """The least of the `count` best values, below which no song matters; −∞ at first."""
        return float(self.values[self.count - 1]) if len(self.values) >= self.count else -np.inf

    def run(self, cache: SearchCache, allowed: CandidateSet) -> None:
        """Find the best songs among `allowed`."""
        if allowed.upper_count <= _BOUNDED_UP_TO:
            rows = allowed.rows()
            self.add(rows, self.above(rows))
            return
        cache.passes += 1
        lines, farthest = self.bounds.shared, self.bounds.farthest
        screen = None if lines is None else _screen(self.prediction, lines, farthest)
        if screen is None:
            self._add_best_of_all(self.above(np.arange(len(self.prediction))), allowed)
            return
        heard = self.prediction.songs.heard
        self.add_new(heard, allowed)
        above = screen.bounds(cache.table).upper.astype(np.float64)
        above *= screen.unit
        above[heard] = -np.inf
        self._add_best_of_all(above, allowed)

    def above(self, rows: Indices) -> Vector:
        """Return what no quantile of the songs in `rows` exceeds: (n,)."""
        found = np.empty(len(rows))
        for block in blocks(len(rows), SONGS_PER_BLOCK):
            found[block] = self._above(rows[block])
        return found

    def add(self, rows: Indices, above: Vector) -> None:
        """Compute the quantiles of songs, bounded by `above`, that can be among the best."""
        order = np.argsort(-above, kind="stable")
        rows, above = rows[order], above[order]
        start, size = 0, self.count + _FIRST_BATCH
        while start < len(rows) and above[start] >= self.threshold:
            some = slice(start, start + size)
            viable = rows[some][above[some] >= self.threshold]
            self.evaluated += len(viable)
            more, values = self._best_of(viable)
            self.rows, self.values = _largest(
                np.concatenate([self.rows, more]),
                np.concatenate([self.values, values]),
                self.count,
            )
            start, size = start + size, min(2 * size, _MAX_BATCH)

    def add_new(self, rows: Indices, allowed: CandidateSet) -> None:
        """Add those of `rows` that are allowed and were not considered before."""
        new = np.setdiff1d(rows, self._considered, assume_unique=True)
        self._considered = np.union1d(self._considered, new)
        new = new[allowed.contains(new)]
        self.add(new, self.above(new))

    def _add_best_of_all(self, above: Vector, allowed: CandidateSet) -> None:
        """Add the best of all songs that are allowed, from a bound of every one: (S,)."""
        tested = _FIRST_TESTED
        while len(self.rows) < self.count and tested < len(above):
            # Without `count` values nothing can be left out, so the largest bounds come first.
            first = np.argpartition(above, len(above) - tested)[len(above) - tested :]
            self.add_new(np.sort(first), allowed)
            tested *= 8
        self.add_new(np.flatnonzero(above >= self.threshold), allowed)

    def _above(self, rows: Indices) -> Vector:
        songs = self.prediction.songs.take(rows)
        is_heard = songs.elapsed < self.prediction.songs.longest
        means, deviations = self.prediction.fast_normals(songs)
        bounds = self.bounds.above(means, deviations, is_heard)
        norms = np.sqrt(np.einsum("sp,sp->s", songs.features, songs.features))
        others = np.prod(np.abs(means[1:]) + 10 * deviations[1:], axis=0)
        return np.asarray(bounds + _PRODUCT_MARGIN * self._length * norms * others)

    def _best_of(self, rows: Indices) -> tuple[Indices, Vector]:
        """Return the `count` best of `rows` at least, and their quantiles."""
        normals = self.prediction.normals_of(rows)
        if len(self.prediction.factors) <= 2:
            return rows, product_normal.quantile(self.level, *normals)
        # A quantile of more factors takes so long that one more test of each song pays.
        which, values = product_normal.largest_quantiles(self.level, self.count, *normals)
        return rows[which], values


def _largest(rows: Indices, values: Vector, count: int) -> tuple[Indices, Vector]:
    """Return the rows of the `count` largest values and these, best first; equal ones by row."""
    order = np.lexsort((rows, -values))[: max(count, 0)]
    return rows[order], values[order]


def _screen(prediction: FactorPrediction, lines: Envelope, farthest: float) -> Screen | None:
    mean, inverse_root = prediction.means[0], prediction.inverse_roots[0]
    width = max(float(lines.widths.max()), 0.0)
    spare = (width - lines.widths) / max(farthest, _SLOPE_MARGIN)
    slopes = np.array([(lines.slopes - spare).max(), (lines.slopes + spare).min()])
    # What the slopes may be off by is added to the width: |μ| ≤ R σ.
    width += _SLOPE_MARGIN * (width + float(np.abs(slopes).max()) * farthest)
    return Screen.of(slopes[:, np.newaxis] * mean, np.array([width]), inverse_root.T @ inverse_root)
