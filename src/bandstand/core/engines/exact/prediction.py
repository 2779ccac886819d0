"""The exact engine's prediction: one mixture of Student t distributions per song (13)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrf

from bandstand.core.engines.exact.posterior import recovery_grid, song_effects, song_mixtures
from bandstand.core.engines.exact.posterior.song_effects import EffectDraws
from bandstand.core.engines.exact.posterior.song_mixtures import Given
from bandstand.core.engines.exact.search.answered_songs import best_answered
from bandstand.core.engines.exact.search.equal_songs import first_of_each
from bandstand.core.engines.exact.search.top_k import search
from bandstand.core.model import interpolation, student_mixture
from bandstand.core.model.candidates import allowed_of, best_of
from bandstand.core.model.novelty import novelty
from bandstand.types import blocks, row_blocks

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.engines.exact.search.candidate_list import SearchCache
    from bandstand.core.model.candidates import CandidateSet, Choice
    from bandstand.core.model.history import Songs
    from bandstand.types import Indices, Matrix, Vector

# Far from its centre a density may be smaller than any number: then it is zero.
_tiny_is_zero: Final = np.errstate(under="ignore")
# So few songs are looked at one by one sooner than what they have in common is worked out.
_FEW: Final = 64
# Songs taken at a time, so that memory does not grow with the catalogue.
_CHUNK: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPrediction:
    """p(U | D) of each song under the exact model."""

    belief: ExactBelief
    songs: Songs
    memory: SearchCache | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.songs)

    @_tiny_is_zero
    def mean(self) -> Vector | None:
        """Return E[U | D], which exists from the first rating on."""
        if self.belief.freedom <= 1:
            return None
        # Songs of one elapsed time share m̄ = Σ w_g u_g m_g: one product for all never heard.
        share = self.belief.weights * novelty(self.songs.longest, self.belief.recovery_times)
        means = self.songs.content(share @ self.belief.means)
        for rows in row_blocks(self._other_rows, _CHUNK):
            means[rows] = self._mean_of(rows)
        return means

    @_tiny_is_zero
    def standard_deviation(self) -> Vector | None:
        """Return the standard deviation of p(U | D), which exists from the second rating on."""
        if self.belief.freedom <= 2:
            return None
        if len(self) <= _FEW:
            return self._deviation_of(np.arange(len(self)))
        deviations = np.empty(len(self))
        longest = self.songs.longest
        share = self._variance_shares(longest)
        pooled = self.belief.spread.pooled(share)
        own = float(share.sum()) * self.belief.prior.effects.total
        for rows in row_blocks(np.arange(len(self)), _CHUNK):
            deviations[rows] = self._shared_deviation_of(rows, longest, pooled, own)
        for rows in row_blocks(self._other_rows, _CHUNK):
            deviations[rows] = self._deviation_of(rows)
        return deviations

    def quantile(self, level: float) -> Vector | None:
        """Return the quantile of p(U | D) of each song."""
        return self.quantile_of(np.arange(len(self)), level)

    @_tiny_is_zero
    def quantile_of(self, rows: Indices, level: float) -> Vector | None:
        """Return the quantile of the songs in `rows` alone.

        A distribution too wide to have a mean has no quantile worth naming either: before the
        first rating under the paper's prior it would be a number of hundreds of digits.
        """
        if self.belief.freedom <= 1:
            return None
        values = np.empty(len(rows))
        for some in blocks(len(rows), _CHUNK):
            given = Given.of(self.belief, self.songs, rows[some])
            found = song_mixtures.quantiles(self.belief, given, level)
            if found is None:
                return None
            values[some] = found
        return values

    @_tiny_is_zero
    def sample(self, rng: np.random.Generator, size: int) -> Matrix | None:
        """Return joint draws of all songs: (size, S), or None before τ can be drawn."""
        belief = self.belief
        if belief.freedom <= 1:
            return None
        draws = np.empty((size, len(self)))
        groups = self.songs.groups_of(slice(None))
        effects = EffectDraws(belief, groups) if belief.has_effects else None
        root_of = cache(lambda node: _root(belief.covariances_of([node])[0]))
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
            liking = self.songs.content(preference)
            if effects is not None:
                liking += effects.drawn(rng, mean, preference, float(recovery_time), float(noise))
            draws[row] = liking * self._novelty(np.atleast_1d(recovery_time), np.ones(1))
        return draws

    @_tiny_is_zero
    def parts(self) -> dict[str, Vector]:
        """Return the expected liking of the content alone, where it exists, and novelty now.

        With effects, what the artist, the album and the song have beyond that is added to it.
        """
        belief = self.belief
        parts: dict[str, Vector] = {}
        if belief.freedom > 1:
            parts["content"] = self.songs.content(belief.weights @ belief.means)
            if belief.has_effects:
                parts |= self._effects()
        parts["novelty"] = self._novelty(belief.recovery_times, belief.weights)
        return parts

    @_tiny_is_zero
    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        some = allowed_of(allowed, len(self))
        if self.memory is not None:
            some = first_of_each(self.belief, self.songs, self.memory.kinds, some, count)
            found = self._searched(self.memory, level, count, some)
            if found is not None:
                return found
        rows = some.rows()
        scores = self.quantile_of(rows, level)
        if scores is None or count <= 0 or not len(rows):
            return rows[:0]
        return best_of(self.songs, rows, scores, count)

    def _searched(
        self, memory: SearchCache, level: float, count: int, allowed: CandidateSet
    ) -> Indices | None:
        """Return the rows of the `count` best songs; None where a search is not worth it.

        Songs of artists without answers are searched as those without effects are.
        """
        answered = self._answered_rows
        if len(answered) == len(self):  # one artist has all songs
            rows = allowed.rows()
            return best_answered(self.belief, self.songs, memory, rows, level, count, rows[:0])
        others = allowed.without(answered)
        found = search(self.belief, self.songs, memory, level, count, others)
        if found is None or not len(answered):
            return found
        some = answered[allowed.contains(answered)]
        return best_answered(self.belief, self.songs, memory, some, level, count, found)

    def _effects(self) -> dict[str, Vector]:
        """Return E[e] of each song's artist, album and of the song itself (42): (S,) each."""
        found = {name: np.zeros(len(self)) for name in ("artist", "album", "song")}
        for rows in row_blocks(self._answered_rows, _CHUNK):
            parts = song_effects.parts_of(self.belief, self.songs.groups_of(rows))
            for name, values in found.items():
                values[rows] = getattr(parts, name) @ self.belief.weights
        return found

    @property
    def _answered_rows(self) -> Indices:
        """The songs of artists with answers, which are more than their features: rising."""
        return song_effects.answered_rows(self.belief, self.songs)

    @property
    def _other_rows(self) -> Indices:
        """The songs that are not like one that was never heard, of an artist without answers."""
        return np.union1d(self.songs.heard, self._answered_rows)

    def _novelty(self, recovery_times: Vector, weights: Vector) -> Vector:
        """Return the novelty of each song, averaged over recovery times: (S,)."""
        curves = np.full(len(self), float(novelty(self.songs.longest, recovery_times) @ weights))
        for rows in row_blocks(self.songs.heard, _CHUNK):
            elapsed = self.songs.elapsed_of(rows)[:, np.newaxis]
            curves[rows] = novelty(elapsed, recovery_times) @ weights
        return curves

    def _mean_of(self, rows: Indices) -> Vector:
        features, groups = self.songs.features_of(rows), self.songs.groups_of(rows)
        content = self.belief.contents_of(features, groups)
        curves = novelty(self.songs.elapsed_of(rows)[:, np.newaxis], self.belief.recovery_times)
        return np.asarray((curves * content) @ self.belief.weights)

    def _deviation_of(self, rows: Indices) -> Vector:
        given = Given.of(self.belief, self.songs, rows)
        base = song_mixtures.components(self.belief, given)
        total = student_mixture.variance(
            base.locations, base.scales, base.weights, self.belief.freedom
        )
        return np.sqrt(total)  # type: ignore[arg-type]

    def _variance_shares(self, elapsed: float) -> Vector:
        """Return w_g u_g² B_g/(A−1), how much each node has in a variance: (G,).

        So the sum Σ_g share_g Λ_g⁻¹, which songs of one elapsed time have in common, is taken
        once, and not for every song.
        """
        belief = self.belief
        curves = novelty(elapsed, belief.recovery_times)
        return np.asarray(belief.weights * curves**2 * belief.rates / (belief.shape - 1))

    def _shared_deviation_of(
        self, rows: Indices, elapsed: float, pooled: Matrix, own: float
    ) -> Vector:
        """Return the standard deviations of songs that were all heard so long ago.

        `own` is the variance of the effects of a song of which nothing is known.
        """
        belief, features = self.belief, self.songs.features_of(rows)
        locations = novelty(elapsed, belief.recovery_times) * (features @ belief.means.T)
        away = locations - (locations @ belief.weights)[:, np.newaxis]
        within = np.einsum("sp,sp->s", features @ pooled, features)
        return np.asarray(np.sqrt(np.maximum(within, 0.0) + own + away**2 @ belief.weights))

    def _drawn_places(self, rng: np.random.Generator, size: int) -> Vector:
        """Return draws of y from its posterior, as places on the grid in units of nodes."""
        factor = 32
        _, density = self.belief.grid.refined(self.belief.log_density, factor)
        share = recovery_grid.weights(density)
        edges = np.concatenate([[0.0], np.cumsum(0.5 * (share[1:] + share[:-1]))])
        return np.asarray(
            np.interp(rng.uniform(0, edges[-1], size), edges, np.arange(len(share)) / factor)
        )


def _root(covariance: Matrix) -> Matrix:
    """Return lower-triangular L with LL' = covariance."""
    root, failed = dpotrf(covariance, lower=1, clean=1)
    if failed:  # semi-definite by rounding: a root exists all the same
        values, vectors = np.linalg.eigh(covariance)
        square = np.sqrt(np.maximum(values, 0.0))[:, np.newaxis] * vectors.T
        root = np.linalg.qr(square, mode="r").T  # type: ignore[attr-defined]
    lower: Matrix = root
    return lower
