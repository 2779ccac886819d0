import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.engine import array_bytes
from bandstand.core.engines.exact.posterior.covariance_stack import Diagonal
from bandstand.core.engines.exact.posterior.general_solver import GridSolver, most_common
from bandstand.core.engines.exact.posterior.shared_elapsed_solver import CommonSolver
from bandstand.core.model.history import History
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from tests.core.engines.exact.posterior.test_conjugate import drawn_prior
from tests.fixtures.simulated_listeners import MONTH, simulated_history

TIMES = np.array([0.5, 40.0, 300.0, 9_000.0, 1e7, 1e12])


def check_same(prior: ListenerPrior, history: History, digits: float = 1e-8) -> None:
    """Assert that both ways tell the same."""
    solver = CommonSolver(prior, history, most_common(history.elapsed))
    assert solver.is_safe
    one, other = solver.at(TIMES), GridSolver(prior, history).at(TIMES)
    assert one.rates == pytest.approx(other.rates, rel=digits)
    assert one.log_determinants == pytest.approx(other.log_determinants, rel=1e-9, abs=1e-9)
    assert one.log_evidence(3.0) == pytest.approx(other.log_evidence(3.0), rel=1e-8, abs=1e-7)
    (means, spread), (plain_means, plain_spread) = one.beliefs(), other.beliefs()
    size = float(np.abs(plain_means).max())
    assert means == pytest.approx(plain_means, rel=1e-7, abs=1e-8 * size)
    widest = float(np.abs(plain_spread.dense).max())
    assert spread.dense == pytest.approx(plain_spread.dense, rel=1e-7, abs=1e-10 * widest)
    assert (spread.dense == spread.dense.transpose(0, 2, 1)).all()


@given(
    seed=st.integers(0, 10_000),
    count=st.integers(0, 30),
    columns=st.integers(1, 8),
    share_unheard=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_in_modes_it_is_the_same_posterior(
    seed: int, count: int, columns: int, share_unheard: float
) -> None:
    rng = np.random.default_rng(seed)
    prior = drawn_prior(rng, columns)
    check_same(
        prior,
        simulated_history(
            rng, count=count, columns=columns, weighted=True, share_unheard=share_unheard
        ),
    )


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_ratings_without_noise_keep_their_digits(noise: float) -> None:
    """Then what is left of the ratings is small beside them: a difference would lose it."""
    rng = np.random.default_rng(2)
    history = simulated_history(
        rng, count=60, columns=4, noise=noise, share_unheard=1.0, recovery_time=1e3
    )
    prior = ListenerPrior(
        preference=PreferencePrior.isotropic(4, 10.0),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=1.0, rate=1e-12),
    )
    check_same(prior, history, digits=1e-7)


def test_songs_that_were_never_heard_need_one_matrix_for_all_recovery_times() -> None:
    history = simulated_history(np.random.default_rng(4), count=300, columns=20, share_unheard=1.0)
    assert set(history.elapsed.tolist()) == {MONTH}
    _, spread = CommonSolver(paper_prior(20), history, MONTH).at(TIMES).beliefs()
    assert isinstance(spread.base, Diagonal)
    assert len(spread.taken) == 0
    assert array_bytes(spread) == 8 * (20 * 20 + len(TIMES) * 20)


def test_it_suits_while_few_answers_have_another_elapsed_time() -> None:
    rng = np.random.default_rng(6)
    for others, verdict in ((0, True), (4, True), (5, False)):
        elapsed = np.append(np.full(30, MONTH), rng.uniform(1, 100, others))
        history = History.of(
            features=rng.normal(size=(len(elapsed), 8)), elapsed=elapsed, ratings=0.0
        )
        assert CommonSolver.suits(history, MONTH) is verdict
    assert CommonSolver.suits(History.empty(8), 0.0)


def test_answers_that_would_cost_digits_are_left_to_the_other_way() -> None:
    rng = np.random.default_rng(5)
    plain = simulated_history(rng, count=3, columns=8)

    def is_safe(prior: ListenerPrior, size: float, elapsed: float) -> bool:
        history = History.of(
            features=size * plain.features, elapsed=plain.elapsed, ratings=plain.ratings
        )
        return CommonSolver(prior, history, elapsed).is_safe

    assert is_safe(paper_prior(8), 1.0, MONTH)
    assert not is_safe(paper_prior(8), 1e4, MONTH)  # among the common answers
    assert not is_safe(paper_prior(8), 1e4, -1.0)  # among the others
    wide = PreferencePrior.independent(np.zeros(8), np.logspace(-12, 12, 8))
    prior = ListenerPrior(preference=wide, recovery=GammaRecovery(), noise=NoisePrior())
    assert not is_safe(prior, 1e-8, MONTH)
