"""An exact engine for the sum: U = θ'x + b·u(t; s), u = 1 − exp(−t/s).

Given s it is conjugate linear regression on z = [x, u(t; s)], as the product is on x·u(t; s), so
the comparison of the two models is not a comparison of two approximations. The weight a of the
content is part of θ. The priors are the product's, and b has the same as an entry of θ.

code           maths  shape      meaning, for each node g of a grid in y = log s
`means`        m_g    (G, p+1)   expected coefficients, b last
`covariances`  Λ_g⁻¹  (G, …, …)  in units of the noise variance
`rates`        B_g    (G,)       rate of the noise precision; its shape A is the same for all
`weights`             (G,)       they sum to one

The grid is fixed. Its spacing is 7 % of s, and the posterior of s from a few hundred ratings is
no narrower than that; the trapezoid rule is then right to a tenth of a percent or better.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.model import student_mixture
from bandstand.core.model.candidates import Choice, allowed_of, best_rows
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import ListenerPrior
from bandstand.types import Indices, Matrix, Stack, Vector, frozen

# Nodes of the grid: recovery times in minutes, evenly spaced in logarithms.
_RECOVERY_TIMES: Final = frozen(np.geomspace(5.0, 5_000.0, 97))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditiveBelief:
    """The posterior of (θ, b, s, τ) as a mixture over the grid."""

    history: History
    shape: float
    means: Matrix
    covariances: Stack
    rates: Vector
    weights: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Additive(Engine[AdditiveBelief]):
    """The exact engine of the sum; `prior` is of θ with b as its last entry, of s and of τ.

    >>> from bandstand import History, Songs
    >>> from bandstand.core.model.priors import paper_prior
    >>> history = History.of(features=[[1.0], [1.0], [2.0]], elapsed=43_200, ratings=[3, 3.1, 4])
    >>> engine = Additive(prior=paper_prior(2))
    >>> belief = engine.fit(history)
    >>> engine.predict(belief, Songs.of(features=[[3.0]], elapsed=43_200)).mean().round(1)
    array([5.2])
    """

    online: ClassVar[bool] = True
    prior: ListenerPrior

    def fit(self, history: History, *, rng: np.random.Generator | None = None) -> AdditiveBelief:
        """Return the belief after `history`; nothing is drawn, so `rng` is not used."""
        del rng
        roots = np.sqrt(history.weights)
        rows, answers = history.features * roots[:, np.newaxis], history.ratings * roots
        curves = novelty(history.elapsed[:, np.newaxis], _RECOVERY_TIMES) * roots[:, np.newaxis]
        precision = self._precision(rows, curves)
        pulls = np.column_stack(
            [np.tile(rows.T @ answers, (len(_RECOVERY_TIMES), 1)), curves.T @ answers]
        )
        means = np.linalg.solve(precision, pulls[:, :, np.newaxis])[:, :, 0]
        residuals = answers[:, np.newaxis] - rows @ means[:, :-1].T - curves * means[:, -1]
        inside = np.einsum("gi,ij,gj->g", means, self.prior.preference.precision, means)
        rates = self.prior.noise.rate + 0.5 * (np.einsum("ng,ng->g", residuals, residuals) + inside)
        shape = self.prior.noise.shape + len(history) / 2
        _, log_determinants = np.linalg.slogdet(precision)
        covariances: Stack = frozen(np.linalg.inv(precision))
        log_density = self.prior.recovery.log_density(np.log(_RECOVERY_TIMES))
        log_density += -0.5 * log_determinants - shape * np.log(rates)
        return AdditiveBelief(
            history=history,
            shape=shape,
            means=frozen(means),
            covariances=covariances,
            rates=frozen(rates),
            weights=frozen(_normalised(log_density)),
        )

    def update(
        self, belief: AdditiveBelief, history: History, *, rng: np.random.Generator | None = None
    ) -> AdditiveBelief:
        """Return the same as a fit: there are few coefficients."""
        del belief
        return self.fit(history, rng=rng)

    def predict(self, belief: AdditiveBelief, songs: Songs, *, memory: None = None) -> Any:
        """Return the prediction of `songs`: mixtures of Student t distributions."""
        del memory
        return AdditivePrediction(belief=belief, songs=songs)

    def plan(self, belief: AdditiveBelief, song: Songs) -> AdditiveBelief:
        """Return the belief itself: no playlist is planned with it."""
        del song
        return belief

    def summary(self, belief: AdditiveBelief) -> Summary:
        """Return nothing: the study does not ask."""
        del belief
        return Summary()

    def _precision(self, rows: Matrix, curves: Matrix) -> Stack:
        """Return Λ of each node; only its last row and column depend on s."""
        content = rows.shape[1]
        stack = np.empty((len(_RECOVERY_TIMES), content + 1, content + 1))
        stack[:, :content, :content] = rows.T @ rows
        stack[:, :content, content] = stack[:, content, :content] = curves.T @ rows
        stack[:, content, content] = np.einsum("ng,ng->g", curves, curves)
        return stack + self.prior.preference.precision


@dataclass(frozen=True, kw_only=True)
class AdditivePrediction:
    """What Bayes-UCB asks of p(U | D) of each song under the sum."""

    belief: AdditiveBelief
    songs: Songs

    def __len__(self) -> int:
        return len(self.songs)

    def mean(self) -> Vector | None:
        """Return E[U | D]."""
        return student_mixture.mean(self._locations, self.belief.weights, self._freedom)

    def quantile(self, level: float) -> Vector | None:
        """Return the quantile of p(U | D) of each song."""
        if self._freedom <= 1:
            return None
        return student_mixture.quantile(
            level, self._locations, self._scales, self.belief.weights, self._freedom
        )

    def best_by_quantile(self, level: float, count: int, allowed: Choice) -> Indices:
        """Return the rows of the `count` largest quantiles among `allowed`, best first."""
        rows, scores = allowed_of(allowed, len(self)).rows(), self.quantile(level)
        return rows[:0] if scores is None else best_rows(scores, count, rows)

    @property
    def _freedom(self) -> float:
        return 2 * self.belief.shape

    @cached_property
    def _curves(self) -> Matrix:
        """u(t; s) of each song at each node: (S, G)."""
        return np.asarray(novelty(self.songs.elapsed[:, np.newaxis], _RECOVERY_TIMES))

    @cached_property
    def _locations(self) -> Matrix:
        means = self.belief.means
        located: Matrix = self.songs.features @ means[:, :-1].T + self._curves * means[:, -1]
        return located

    @cached_property
    def _scales(self) -> Matrix:
        """√(B/A · z'Λ⁻¹z) of each song at each node: (S, G)."""
        features, covariances = self.songs.features, self.belief.covariances
        content = np.stack(
            [np.einsum("sp,sp->s", features @ each[:-1, :-1], features) for each in covariances],
            axis=1,
        )
        cross = features @ covariances[:, :-1, -1].T
        variance = content + self._curves * (2 * cross + self._curves * covariances[:, -1, -1])
        return np.sqrt(np.maximum(variance, 0.0) * self.belief.rates / self.belief.shape)


def _normalised(log_density: Vector) -> Vector:
    with np.errstate(under="ignore"):
        relative = np.exp(np.maximum(log_density - log_density.max(), -700.0))
    return np.asarray(relative / relative.sum())
