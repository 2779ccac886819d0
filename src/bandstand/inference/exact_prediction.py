"""The exact engine's prediction: one mixture of Student t distributions per song (13).

code         maths              shape   meaning
`content`    x'm_g              (S, G)  expected liking of the content given s_g
`variance`   x'Λ_g⁻¹x           (S, G)  its variance in units of the noise variance
`location`   u_g x'm_g          (S, G)  centre of each component
`scale`      u_g √(B_g/A · …)   (S, G)  width of each component

Where the data fix the preferences but not the recovery time, the components are narrower
than their distance and the mixture would be a comb. The functions of s between the nodes
are smooth, so such songs are predicted on a finer grid by interpolation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrf

from bandstand.inference import recovery_grid
from bandstand.inference.exact_search import search
from bandstand.model import interpolation, student_mixture
from bandstand.model.novelty import novelty
from bandstand.model.ranking import best_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.arrays import AnyArray, Indices, Matrix, Vector
    from bandstand.domain import Songs
    from bandstand.inference.exact import ExactBelief
    from bandstand.inference.search_memory import SearchMemory

# Far from its centre a density may be smaller than any number: then it is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# Songs taken at a time, so that memory does not grow with the catalogue.
_CHUNK: Final = 512
# Neighbouring components may be this many scales apart; the sum is then right to about 1e-10.
_WIDEST_STEP: Final = 0.5
# A finer grid has at most about this many nodes; beyond, components are widened a little.
_MOST_NODES: Final = 16_384
# Components this light do not call for a finer grid.
_LIGHT: Final = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The mixtures of some songs: (S, G) each, weights (G,)."""

    locations: Matrix
    scales: Matrix
    weights: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPrediction:
    """p(U | D) of each song under the exact model."""

    belief: ExactBelief
    songs: Songs
    memory: SearchMemory | None = None

    def __len__(self) -> int:
        return len(self.songs)

    @_tiny_is_zero
    def mean(self) -> Vector | None:
        """Return E[U | D], which exists from the first rating on."""
        if self.belief.freedom <= 1:
            return None
        elapsed = self.songs.elapsed
        longest = float(elapsed.max(initial=0.0))
        # Songs of one elapsed time share m̄ = Σ w_g u_g m_g: one product for all never heard.
        share = self.belief.weights * novelty(longest, self.belief.recovery_times)
        means: Vector = self.songs.features @ (share @ self.belief.means)
        for rows in _chunks(np.flatnonzero(elapsed < longest)):
            means[rows] = self._mean_of(rows)
        return means

    @_tiny_is_zero
    def standard_deviation(self) -> Vector | None:
        """Return the standard deviation of p(U | D), which exists from the second rating on."""
        if self.belief.freedom <= 2:
            return None
        longest = float(self.songs.elapsed.max(initial=0.0))
        is_heard = self.songs.elapsed < longest
        deviations = np.empty(len(self))
        pooled = self._pooled_covariance(longest)
        for rows in _chunks(np.flatnonzero(~is_heard)):
            deviations[rows] = self._shared_deviation_of(rows, longest, pooled)
        for rows in _chunks(np.flatnonzero(is_heard)):
            deviations[rows] = self._deviation_of(rows)
        return deviations

    def quantile(self, level: float) -> Vector | None:
        """Return the quantile of p(U | D) of each song."""
        return self._quantiles(np.arange(len(self)), level)

    @_tiny_is_zero
    def quantile_of(self, rows: Indices, level: float) -> Vector | None:
        """Return the quantile of the songs in `rows` alone.

        A distribution too wide to have a mean has no quantile worth naming either: before the
        first rating under the paper's prior it would be a number of hundreds of digits.
        """
        if self.belief.freedom <= 1:
            return None
        content, variance = self._given_recovery(rows)
        elapsed = self.songs.elapsed[rows]
        base = self._components(content, variance, elapsed, 1)
        factors = self._refinements(base)
        values = np.empty(len(rows))
        for factor in np.unique(factors):
            part = factors == factor
            fine = self._components(content[part], variance[part], elapsed[part], int(factor))
            chunk = student_mixture.quantile(
                level, fine.locations, fine.scales, fine.weights, self.belief.freedom
            )
            if chunk is None:
                return None
            values[part] = chunk
        return values

    @_tiny_is_zero
    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return joint draws of all songs: (size, S), or None before τ can be drawn."""
        belief = self.belief
        if belief.freedom <= 1:
            return None
        draws = np.empty((size, len(self)))
        root_of = cache(lambda node: _root(belief.covariances[node]))
        for row, place in enumerate(self._drawn_places(rng, size)):
            start, share = interpolation.stencil(len(belief.weights), place)
            nodes = range(start, start + len(share))
            spacing = belief.grid.places[1] - belief.grid.places[0]
            recovery_time = recovery_grid.times(
                belief.grid.log_times(belief.grid.places[0] + place * spacing)
            )
            rate = np.exp(share @ np.log(belief.rates[nodes.start : nodes.stop]))
            noise = np.sqrt(rate / rng.gamma(belief.shape))
            root = sum(part * root_of(node) for part, node in zip(share, nodes, strict=True))
            mean = share @ belief.means[nodes.start : nodes.stop]
            preference = mean + noise * (root @ rng.standard_normal(len(mean)))
            heard = novelty(self.songs.elapsed, recovery_time)
            draws[row] = (self.songs.features @ preference) * heard
        return draws

    @_tiny_is_zero
    def parts(self) -> dict[str, Vector]:
        """Return the expected liking of the content alone, where it exists, and novelty now."""
        belief = self.belief
        curves = novelty(self.songs.elapsed[:, np.newaxis], belief.recovery_times)
        parts: dict[str, Vector] = {}
        if belief.freedom > 1:
            parts["content"] = self.songs.features @ (belief.weights @ belief.means)
        parts["novelty"] = np.asarray(curves @ belief.weights)
        return parts

    @_tiny_is_zero
    def best_by_quantile(self, level: float, count: int, allowed: Indices) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        if self.memory is not None:
            found = search(self, self.memory, level, count, allowed)
            if found is not None:
                return found
        scores = self._quantiles(np.unique(allowed), level)
        return allowed[:0] if scores is None else best_rows(scores, count, allowed)

    def _quantiles(self, rows: Indices, level: float) -> Vector | None:
        """Return the quantiles of the songs in `rows`, at their places among all songs: (S,)."""
        values = np.full(len(self), -np.inf)
        for start in range(0, len(rows), _CHUNK):
            some = rows[start : start + _CHUNK]
            found = self.quantile_of(some, level)
            if found is None:
                return None
            values[some] = found
        return values

    def _mean_of(self, rows: Indices) -> Vector:
        content = self.songs.features[rows] @ self.belief.means.T
        curves = novelty(self.songs.elapsed[rows][:, np.newaxis], self.belief.recovery_times)
        return np.asarray((curves * content) @ self.belief.weights)

    def _deviation_of(self, rows: Indices) -> Vector:
        content, variance = self._given_recovery(rows)
        base = self._components(content, variance, self.songs.elapsed[rows], 1)
        total = student_mixture.variance(
            base.locations, base.scales, base.weights, self.belief.freedom
        )
        return np.sqrt(total)  # type: ignore[arg-type]

    def _pooled_covariance(self, elapsed: float) -> Matrix:
        """Return Σ w_g u_g² B_g/(A−1) Λ_g⁻¹: what songs of one elapsed time have in common (p, p).

        So the sum over the nodes is taken once, and not for every song.
        """
        belief = self.belief
        curves = novelty(elapsed, belief.recovery_times)
        share = belief.weights * curves**2 * belief.rates / (belief.shape - 1)
        pooled: Matrix = np.tensordot(share, belief.covariances, axes=1)
        return pooled

    def _shared_deviation_of(self, rows: Indices, elapsed: float, pooled: Matrix) -> Vector:
        """Return the standard deviations of songs that were all heard so long ago."""
        belief, features = self.belief, self.songs.features[rows]
        locations = novelty(elapsed, belief.recovery_times) * (features @ belief.means.T)
        away = locations - (locations @ belief.weights)[:, np.newaxis]
        within = np.einsum("sp,sp->s", features @ pooled, features)
        return np.asarray(np.sqrt(np.maximum(within, 0.0) + away**2 @ belief.weights))

    def _given_recovery(self, rows: Indices) -> tuple[Matrix, Matrix]:
        """Return x'm_g and x'Λ_g⁻¹x of the songs in `rows`: (S, G) each."""
        features = self.songs.features[rows]
        content = features @ self.belief.means.T
        spread = np.matmul(features, self.belief.covariances)  # (G, S, p)
        variance = np.einsum("gsp,sp->sg", spread, features)
        # Rounding may leave a hair below zero where the truth is zero.
        return content, np.maximum(variance, 0.0)

    def _components(
        self, content: Matrix, variance: Matrix, elapsed: Vector, factor: int
    ) -> Components:
        """Return the mixtures on a grid `factor` times as fine as the belief's."""
        belief = self.belief
        nodes, rates, weights = belief.log_recovery_times, belief.rates, belief.weights
        if factor > 1:
            finer = interpolation.refinement(len(nodes), factor)
            content, variance = content @ finer.T, np.maximum(variance @ finer.T, 0.0)
            nodes, density = belief.grid.refined(belief.log_density, factor)
            rates = np.exp(finer @ np.log(rates))
            weights = recovery_grid.weights(density)
        curves = novelty(elapsed[:, np.newaxis], recovery_grid.times(nodes))
        scales = curves * np.sqrt(rates / belief.shape * variance)
        locations = curves * content
        if factor >= self._finest():
            scales = np.maximum(scales, 0.5 * _steps(locations))
        return Components(locations=locations, scales=scales, weights=weights)

    def _refinements(self, base: Components) -> AnyArray:
        """Return for each song how much finer a grid it needs: a power of two."""
        matter = base.weights > _LIGHT
        steps, scales = _steps(base.locations)[:, matter], base.scales[:, matter]
        with np.errstate(over="ignore"):
            ratio = np.divide(steps, scales, out=np.zeros_like(steps), where=scales > 0)
        ratio[(scales == 0) & (steps > 0)] = np.inf
        widest = np.clip(ratio.max(axis=1) / _WIDEST_STEP, 1, self._finest())
        return np.asarray(2 ** np.ceil(np.log2(widest)), dtype=np.intp)

    def _finest(self) -> int:
        """Return the largest refinement, a power of two."""
        return int(2 ** np.floor(np.log2(_MOST_NODES / len(self.belief.weights))))

    def _drawn_places(self, rng: np.random.Generator, size: int) -> Vector:
        """Return draws of y from its posterior, as places on the grid in units of nodes."""
        factor = 32
        _, density = self.belief.grid.refined(self.belief.log_density, factor)
        share = recovery_grid.weights(density)
        edges = np.concatenate([[0.0], np.cumsum(0.5 * (share[1:] + share[:-1]))])
        return np.asarray(
            np.interp(rng.uniform(0, edges[-1], size), edges, np.arange(len(share)) / factor)
        )


def _chunks(rows: Indices) -> Iterator[Indices]:
    for start in range(0, len(rows), _CHUNK):
        yield rows[start : start + _CHUNK]


def _steps(locations: Matrix) -> Matrix:
    """Return how far each component is from its farther neighbour."""
    gaps = np.abs(np.diff(locations, axis=1))
    left = np.concatenate([gaps[:, :1], gaps], axis=1)
    right = np.concatenate([gaps, gaps[:, -1:]], axis=1)
    farther: Matrix = np.maximum(left, right)
    return farther


def _root(covariance: Matrix) -> Matrix:
    """Return lower-triangular L with LL' = covariance."""
    root, failed = dpotrf(covariance, lower=1, clean=1)
    if failed:  # semi-definite by rounding: a root exists all the same
        values, vectors = np.linalg.eigh(covariance)
        square = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
        root = np.linalg.qr(square, mode="r").T  # type: ignore[attr-defined]
    lower: Matrix = root
    return lower
