import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.exact.posterior import conjugate
from bandstand.core.engines.exact.posterior.general_solver import GridSolver
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from tests.fixtures.simulated_listeners import simulated_history


def drawn_prior(rng: np.random.Generator, columns: int) -> ListenerPrior:
    root = rng.normal(size=(columns, columns)) + 2 * np.eye(columns)
    return ListenerPrior(
        preference=PreferencePrior.correlated(rng.normal(size=columns), root @ root.T),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=float(rng.uniform(0.1, 5)), rate=float(rng.uniform(0.1, 5))),
    )


@given(seed=st.integers(0, 10_000), count=st.integers(0, 20), columns=st.integers(1, 5))
def test_given_the_recovery_time_it_is_the_textbook_regression(
    seed: int, count: int, columns: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = drawn_prior(rng, columns)
    history = simulated_history(rng, count=count, columns=columns, weighted=True)
    found = conjugate.condition_on(prior, history, 250.0)
    z = history.features * (1 - np.exp(-history.elapsed / 250.0))[:, np.newaxis]
    weight = np.diag(history.weights)
    start = np.linalg.inv(np.linalg.inv(prior.preference.precision))
    precision = start + z.T @ weight @ z
    mean = np.linalg.solve(
        precision, start @ prior.preference.mean + z.T @ weight @ history.ratings
    )
    # Bishop's difference of squares, another route to the same rate.
    squares = (
        history.ratings @ weight @ history.ratings
        + prior.preference.mean @ start @ prior.preference.mean
        - mean @ precision @ mean
    )
    assert found.factor @ found.factor.T == pytest.approx(precision, rel=1e-8, abs=1e-10)
    assert found.mean == pytest.approx(mean, rel=1e-6, abs=1e-8)
    assert found.rate == pytest.approx(prior.noise.rate + 0.5 * squares, rel=1e-6)
    assert found.covariance() == pytest.approx(np.linalg.inv(precision), rel=1e-6, abs=1e-9)
    assert found.log_determinant == pytest.approx(
        np.linalg.slogdet(precision)[1], rel=1e-8, abs=1e-9
    )


@pytest.mark.parametrize("share_unheard", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("width", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("count", [0, 1, 4, 60])
def test_a_grid_equals_one_node_after_the_other(
    count: int, width: float, share_unheard: float
) -> None:
    """Close together (where matrices are interpolated) and far apart (where they are not)."""
    rng = np.random.default_rng([count, int(10 * width), int(2 * share_unheard)])
    history = simulated_history(
        rng, count=count, columns=4, weighted=True, share_unheard=share_unheard
    )
    prior = drawn_prior(rng, 4)
    times = np.exp(np.linspace(5.5 - width, 5.5 + width, 33))
    grid = GridSolver(prior, history).at(times)
    evidence = grid.log_evidence(conjugate.shape(prior, history.weights))
    covariances = grid.covariances()
    for node, s in enumerate(times):
        one = conjugate.condition_on(prior, history, float(s))
        assert grid.means[node] == pytest.approx(one.mean, rel=1e-9, abs=1e-10)
        assert covariances[node] == pytest.approx(one.covariance(), rel=1e-9, abs=1e-12)
        assert (covariances[node] == covariances[node].T).all()
        assert grid.rates[node] == pytest.approx(one.rate, rel=1e-10)
        assert evidence[node] == pytest.approx(
            conjugate.log_evidence(one, conjugate.shape(prior, history.weights)),
            rel=1e-10,
            abs=1e-10,
        )


def test_where_cholesky_would_fail_the_rows_are_decomposed_instead() -> None:
    """Two equal columns of size a million: Λ is singular to double precision."""
    rng = np.random.default_rng(0)
    column = 1e6 * rng.uniform(-1, 1, size=(50, 1))
    history = simulated_history(rng, count=50, columns=2, share_unheard=1.0)
    twins = type(history).of(
        features=np.hstack([column, column]), elapsed=history.elapsed, ratings=history.ratings
    )
    found = conjugate.condition_on(paper_prior(2), twins, 300.0)
    assert conjugate.is_ill_conditioned(found.factor)
    # Along (1, −1) nothing was learned: the prior variance is left.
    difference = np.array([1.0, -1.0])
    spread = np.linalg.solve(found.factor, difference)
    assert spread @ spread == pytest.approx(20.0, rel=1e-6)
