"""The factors of a rating and their priors."""

from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model import factors
from bandstand.core.model.factors import Factor, content_novelty
from bandstand.core.model.history import Songs
from bandstand.core.model.novelty import PAPER_BASIS, PiecewiseLinearBasis, novelty
from bandstand.errors import InvalidInputError

SONGS: Final = Songs.of(
    features=np.random.default_rng(1).normal(size=(4, 3)),
    elapsed=[0.0, 77.0, 43_200.0, 1e30],
)


def test_the_papers_model_has_its_dimensions_and_priors() -> None:
    model = content_novelty(91)
    assert [factor.dimension for factor in model.factors] == [91, 17]
    assert model.dimension == 108
    assert model.columns == 91
    assert (model.noise.shape, model.noise.rate) == (2.0, 2e-8)
    np.testing.assert_array_equal(model.factors[0].prior_precision, 100 * np.eye(91))


@given(st.floats(0, 43_200), st.floats(1e-3, 1e3), st.floats(-3, 3))
def test_a_curve_has_the_prior_of_its_hinges_everywhere(
    t: float, variance: float, mean: float
) -> None:
    factor = factors.novelty_curve(mean=mean, precision=1 / variance)
    at = np.array([t])
    (hinges,), (hats,) = PAPER_BASIS.hinges(at), PAPER_BASIS.hats(at)
    found = hats @ np.linalg.solve(factor.prior_precision, hats)
    assert found == pytest.approx(variance * hinges @ hinges, rel=1e-9)
    assert hats @ factor.prior_mean == pytest.approx(mean * hinges.sum(), rel=1e-9, abs=1e-9)


def test_a_curve_takes_a_prior_of_any_covariance() -> None:
    basis = PiecewiseLinearBasis(knots=(2.0,), cap=5.0)
    rng = np.random.default_rng(4)
    half = rng.normal(size=(3, 3))
    covariance, mean = half @ half.T + np.eye(3), rng.normal(size=3)
    factor = factors.novelty_curve(basis, mean=mean, precision=np.linalg.inv(covariance))
    at = np.array([0.5, 3.0])
    hinges, hats = basis.hinges(at), basis.hats(at)
    np.testing.assert_allclose(
        hats @ np.linalg.inv(factor.prior_precision) @ hats.T, hinges @ covariance @ hinges.T
    )
    np.testing.assert_allclose(hats @ factor.prior_mean, hinges @ mean)


def test_no_time_counts_as_longer_than_the_cap() -> None:
    time = content_novelty(3).factors[1].design(SONGS)
    np.testing.assert_array_equal(time[3], time[2])
    np.testing.assert_array_equal(time[2], np.eye(17)[16])


def test_the_novelty_factor_sets_out_from_the_papers_curve() -> None:
    factor = content_novelty(3).factors[1]
    np.testing.assert_array_equal(factor.start, novelty(PAPER_BASIS.nodes, 300.0))


def test_a_prior_whose_parts_do_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must have a precision of 2 × 2"):
        Factor(
            name="odd",
            prior_mean=np.zeros(2),
            prior_precision=np.eye(3),
            start=np.zeros(2),
            design=lambda songs: songs.features_of(slice(None)),
        )
    with pytest.raises(InvalidInputError, match="precision must be one number or 17 × 17"):
        factors.novelty_curve(precision=np.eye(3))
