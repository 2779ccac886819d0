"""The approximate model: a rating is a product of any number of linear factors, (16) and (17).

    r  ~ N(Π_f β_f'v_f, 1/(wτ))       β_f | τ ~ N(μ_f, D_f/τ)       τ ~ Gamma(a0, rate b0)

code                maths   shape     meaning
`design`            v_f     (S, d_f)  what the factor sees of each song
`prior_mean`        μ_f     (d_f,)    expected coefficients
`prior_precision`   D_f⁻¹   (d_f,d_f) how sure we are of them, in units of the noise precision τ
`start`                     (d_f,)    where a search for the posterior starts
`reference`                 (d_f,)    the song at which the factor is called 1 when it is shown

Two factors, content and novelty, are the paper's model; diversity makes three. A curve is
held by its values at the nodes (hat functions), with the paper's prior on its slopes mapped
along: the same model, well conditioned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from bandstand.core.model.novelty import DIVERSITY_BASIS, PAPER_BASIS, PiecewiseLinearBasis, novelty
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
    """The factors of a rating and the prior of its noise, (16) and (17)."""

    factors: tuple[Factor, ...]
    noise: NoisePrior = PAPER_NOISE

    def __post_init__(self) -> None:
        """Refuse a model without factors, or with two of one name."""
        names = [factor.name for factor in self.factors]
        if not names or len(set(names)) != len(names):
            msg = f"a model must have at least one factor, each with its own name, got {names}"
            raise InvalidInputError(msg)

    @property
    def dimension(self) -> int:
        """The number of coefficients of all factors: Σ d_f."""
        return sum(factor.dimension for factor in self.factors)

    @property
    def columns(self) -> int:
        """The number of features of a song: the dimension of the first factor."""
        return self.factors[0].dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurveOf:
    """The hat functions of one property of a song; beyond the cap nothing changes."""

    basis: PiecewiseLinearBasis
    property: Literal["elapsed", "diversity"]

    def __call__(self, songs: Songs) -> Matrix:
        values: Vector = getattr(songs, self.property)
        return self.basis.hats(np.minimum(values, self.basis.cap))


def content(prior: PreferencePrior) -> Factor:
    """Return the factor θ'x: how much the sound of a song is liked."""
    return Factor(
        name="content",
        prior_mean=prior.mean,
        prior_precision=prior.precision,
        start=prior.mean,
        design=_features,
    )


def curve(
    name: str,
    *,
    of: Literal["elapsed", "diversity"],
    basis: PiecewiseLinearBasis,
    mean: ArrayLike = 0.0,
    precision: ArrayLike = 1 / PAPER_VARIANCE,
    start: ArrayLike = 1.0,
    reference: float | None = None,
) -> Factor:
    """Return the factor β'v: a piecewise-linear curve over a property of a song.

    `mean` and `precision` are those of the paper's coefficients (hinges): one number for
    all, or a vector and a matrix. `start` is the curve's value at each node.
    """
    prior_mean, prior_precision = _hinge_prior(basis, mean, precision)
    at = np.array([basis.cap if reference is None else reference])
    return Factor(
        name=name,
        prior_mean=frozen(basis.values(prior_mean)),
        prior_precision=frozen(basis.precision_of_values(prior_precision)),
        start=frozen(np.broadcast_to(start, basis.dimension).copy()),
        design=_CurveOf(basis=basis, property=of),
        reference=frozen(basis.hats(at)[0]),
    )


def novelty_curve(basis: PiecewiseLinearBasis = PAPER_BASIS) -> Factor:
    """Return the paper's factor β't: how new a song is after some time."""
    start = novelty(basis.nodes, _USUAL_RECOVERY)
    return curve("novelty", of="elapsed", basis=basis, start=start)


def diversity_curve(basis: PiecewiseLinearBasis = DIVERSITY_BASIS) -> Factor:
    """Return the third factor: how a song's distance to the ones before it is liked."""
    return curve("diversity", of="diversity", basis=basis, reference=1.0)


def content_novelty(columns: int, basis: PiecewiseLinearBasis = PAPER_BASIS) -> FactorModel:
    """Return the paper's approximate model for songs with that many features.

    >>> [factor.dimension for factor in content_novelty(91).factors]
    [91, 17]
    """
    preference = PreferencePrior.isotropic(columns, PAPER_VARIANCE)
    return FactorModel(factors=(content(preference), novelty_curve(basis)))


def content_novelty_diversity(
    columns: int, basis: PiecewiseLinearBasis = PAPER_BASIS
) -> FactorModel:
    """Return the paper's model with a third factor, diversity.

    >>> [factor.name for factor in content_novelty_diversity(91).factors]
    ['content', 'novelty', 'diversity']
    """
    two = content_novelty(columns, basis)
    return FactorModel(factors=(*two.factors, diversity_curve()), noise=two.noise)


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
