"""The approximate model: a rating is a product of two linear factors, (16) and (17).

    r  ~ N(θ'x · β't, 1/(wτ))         β_f | τ ~ N(μ_f, D_f/τ)       τ ~ Gamma(a0, rate b0)

code                maths   shape     meaning
`design`            v_f     (S, d_f)  what the factor sees of each song: x or t
`prior_mean`        μ_f     (d_f,)    expected coefficients
`prior_precision`   D_f⁻¹   (d_f,d_f) how sure we are of them, in units of the noise precision τ
`start`                     (d_f,)    where a search for the posterior starts
`reference`                 (d_f,)    the song at which the factor is called 1 when it is shown

The novelty curve is held by its values at the nodes (hat functions), with the paper's prior on
its slopes mapped along: the same model, well conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.novelty import PAPER_BASIS, PiecewiseLinearBasis, novelty
from bandstand.core.model.priors import NoisePrior, PreferencePrior
from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from bandstand.core.model.history import Songs
    from bandstand.types import Matrix, Vector

# The paper's priors (section 5.2.1): D0 = E0 = 1e-2·I, a0 = 2, b0 = 2e-8.
PAPER_VARIANCE: Final = 1e-2
PAPER_NOISE: Final = NoisePrior(shape=2.0, rate=2e-8)
# The recovery time, in minutes, of the curve from which the novelty factor starts.
_USUAL_RECOVERY: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factor:
    """One linear factor of the rating, with its prior (17)."""

    name: str
    prior_mean: Vector
    prior_precision: Matrix
    start: Vector
    design: Callable[[Songs], Matrix] = field(repr=False)
    reference: Vector | None = None

    def __post_init__(self) -> None:
        """Refuse a prior whose parts do not fit together."""
        count = len(self.prior_mean)
        if self.prior_precision.shape != (count, count) or self.start.shape != (count,):
            msg = (
                f"factor {self.name!r} must have a precision of {count} × {count} and a start "
                f"of {count}, got shapes {self.prior_precision.shape} and {self.start.shape}"
            )
            raise InvalidInputError(msg)

    @property
    def dimension(self) -> int:
        """The number of coefficients of the factor: d_f."""
        return len(self.prior_mean)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorModel:
    """The factors of a rating, content and novelty, and the prior of its noise, (16) and (17)."""

    factors: tuple[Factor, Factor] = field(repr=False)
    noise: NoisePrior = PAPER_NOISE

    @property
    def dimension(self) -> int:
        """The number of coefficients of both factors: Σ d_f."""
        return sum(factor.dimension for factor in self.factors)

    @property
    def columns(self) -> int:
        """The number of features of a song: the dimension of the first factor."""
        return self.factors[0].dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurveOf:
    """The hat functions of the elapsed time of a song; beyond the cap nothing changes."""

    basis: PiecewiseLinearBasis

    def __call__(self, songs: Songs) -> Matrix:
        return self.basis.hats(np.minimum(songs.elapsed, self.basis.cap))


def content(prior: PreferencePrior) -> Factor:
    """Return the factor θ'x: how much the sound of a song is liked."""
    return Factor(
        name="content",
        prior_mean=prior.mean,
        prior_precision=prior.precision,
        start=prior.mean,
        design=_features,
    )


def novelty_curve(
    basis: PiecewiseLinearBasis = PAPER_BASIS,
    *,
    mean: ArrayLike = 0.0,
    precision: ArrayLike = 1 / PAPER_VARIANCE,
) -> Factor:
    """Return the factor β't: how new a song is after some time, a piecewise-linear curve.

    `mean` and `precision` are those of the paper's coefficients (hinges): one number for
    all, or a vector and a matrix. In parts of a rating the curve is 1 at its last node.
    """
    prior_mean, prior_precision = _hinge_prior(basis, mean, precision)
    return Factor(
        name="novelty",
        prior_mean=frozen(basis.values(prior_mean)),
        prior_precision=frozen(basis.precision_of_values(prior_precision)),
        start=frozen(novelty(basis.nodes, _USUAL_RECOVERY)),
        design=_CurveOf(basis=basis),
        reference=frozen(basis.hats(np.array([basis.cap]))[0]),
    )


def content_novelty(columns: int, basis: PiecewiseLinearBasis = PAPER_BASIS) -> FactorModel:
    """Return the paper's approximate model for songs with that many features.

    >>> [factor.dimension for factor in content_novelty(91).factors]
    [91, 17]
    """
    preference = PreferencePrior.isotropic(columns, PAPER_VARIANCE)
    return FactorModel(factors=(content(preference), novelty_curve(basis)))


def _features(songs: Songs) -> Matrix:
    return np.asarray(songs.features, dtype=np.float64)


def _hinge_prior(
    basis: PiecewiseLinearBasis, mean: ArrayLike, precision: ArrayLike
) -> tuple[Vector, Matrix]:
    """Return the prior of the hinge coefficients as a vector and a matrix."""
    count = basis.dimension
    given = np.asarray(precision, dtype=np.float64)
    matrix = given * np.eye(count) if given.ndim == 0 else given
    if matrix.shape != (count, count):
        msg = f"precision must be one number or {count} × {count}, got shape {matrix.shape}"
        raise InvalidInputError(msg)
    return np.broadcast_to(np.asarray(mean, dtype=np.float64), count), matrix
