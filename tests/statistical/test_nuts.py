"""The exact engine against a general-purpose sampler that knows nothing of our mathematics.

NumPyro's NUTS runs on the un-collapsed model; what it says of U must be what the quadrature
says, up to its own Monte Carlo error.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior
from tests.fixtures.simulated_listeners import MONTH, simulated_history
from tests.fixtures.statistical import checks

COLUMNS = 12
CHAINS = 4


@cache
def problem(count: int) -> tuple[History, Songs]:
    rng = np.random.default_rng([count, 12])
    history = simulated_history(rng, count=count, columns=COLUMNS)
    return history, Songs.of(
        features=rng.normal(size=(6, COLUMNS)), elapsed=[MONTH, MONTH, 900.0, 240.0, 60.0, 10.0]
    )


@cache
def draws_of_nuts(count: int, length: int) -> Any:
    """Return draws of U from NUTS: (chains, draws, songs)."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    numpyro.set_host_device_count(1)
    jax.config.update("jax_enable_x64", True)  # noqa: FBT003
    history, songs = problem(count)
    x, t, r = (jnp.asarray(v) for v in (history.features, history.elapsed, history.ratings))

    def model() -> None:
        tau = numpyro.sample("tau", dist.Gamma(1e-3, 1e-3))
        s = numpyro.sample("s", dist.Gamma(3.0, 1e-2))
        # θ = √(a0/τ)·z keeps the sampler's geometry the same whatever τ is.
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
        theta = numpyro.deterministic("theta", jnp.sqrt(10.0 / tau) * z)
        expected = (x @ theta) * -jnp.expm1(-t / s)
        numpyro.sample("r", dist.Normal(expected, 1 / jnp.sqrt(tau)), obs=r)

    sampler = MCMC(
        NUTS(model, target_accept_prob=0.95),
        num_warmup=min(length, 1_000),
        num_samples=length,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(jax.random.PRNGKey(count))
    found = sampler.get_samples(group_by_chain=True)
    theta, s = np.asarray(found["theta"]), np.asarray(found["s"])
    curve = -np.expm1(-songs.elapsed / s[..., np.newaxis])
    return (theta @ songs.features.T) * curve


class Gap(NamedTuple):
    """A distance between the two, both in standard deviations, and what is allowed."""

    distance: float
    allowed: float

    @property
    def excess(self) -> float:
        return self.distance - self.allowed


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("count", [5, 50, 500])
def test_the_exact_engine_agrees_with_nuts(count: int) -> None:
    worst = differences(count, 10_000)
    for name, gap in worst.items():
        print(f"N = {count}, {name}: {gap.distance:.4f} sd, allowed {gap.allowed:.4f}")
    assert all(gap.excess < 0 for gap in worst.values())


@pytest.mark.statistical
def test_the_exact_engine_agrees_with_a_short_run_of_nuts_and_a_wrong_one_does_not() -> None:
    """The twin takes half the standard deviation, as a variance read for one would."""
    assert all(gap.excess < 0 for gap in differences(50, 700).values())
    assert any(gap.excess > 0 for gap in differences(50, 700, stretch=0.5).values())


def differences(count: int, length: int, *, stretch: float = 1.0) -> dict[str, Gap]:
    """Return for each figure the worst gap between the exact engine and NUTS over all songs."""
    history, songs = problem(count)
    draws = draws_of_nuts(count, length)
    engine = Exact(prior=paper_prior(COLUMNS))
    prediction = engine.predict(engine.fit(history), songs)
    mean, deviation = prediction.mean(), prediction.standard_deviation()
    assert mean is not None
    assert deviation is not None
    worst: dict[str, Gap] = {}
    for song in range(len(songs)):
        each, spread = draws[:, :, song], float(draws[:, :, song].std())
        gaps = {
            "mean": _gap(each.mean() - mean[song], checks.mean_standard_error(each), 0.02, spread),
            "sd": _gap(
                spread - stretch * deviation[song],
                checks.deviation_standard_error(each),
                0.02,
                spread,
            ),
        }
        for level in (0.95, 1 - 1 / (count + 1)):
            value = prediction.quantile(level)
            assert value is not None
            distance = np.quantile(each, level) - mean[song] - stretch * (value[song] - mean[song])
            error = checks.quantile_standard_error(each, level)
            gaps[f"quantile at {level:.3f}"] = _gap(distance, error, 0.05, spread)
        for name, gap in gaps.items():
            worst[name] = max(gap, worst.get(name, gap), key=lambda one: one.excess)
    return worst


def _gap(distance: float, error: float, limit: float, spread: float) -> Gap:
    """Return the gap with its allowance: the figure asked for plus three Monte Carlo errors."""
    return Gap(distance=abs(distance) / spread, allowed=limit + 3 * error / spread)
