"""How good the variational approximation is: against Gibbs sampling, and against the truth.

Run with `-s` to see the tables; docs/model.md quotes them.
"""

from typing import Final

import numpy as np
import pytest
from scipy.special import ndtri

from bandstand.core.engines.mcmc import diagnostics
from bandstand.core.engines.variational.engine import Variational, VariationalBelief
from bandstand.core.model.factors import FactorModel, content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.types import Vector
from tests.fixtures.factor_worlds import (
    SHORT_BASIS,
    answered,
    draw_coefficients,
    draw_songs,
    drawable_model,
    expected_ratings,
    random_history,
)
from tests.fixtures.statistical import gibbs

# ── Against Gibbs sampling of the same model ─────────────────────────────────────────────

SONGS: Final = 40
# What the variational mean and spread may differ from the sampled ones: in standard
# deviations, and as a ratio (promise M8). Both are root mean squares over songs: single
# songs go beyond, since factors that are taken for independent count a common scale twice
# (up to √2 too wide) or not at all.
LARGEST_SHIFT: Final = 0.1
SPREAD: Final = (0.6, 1.1)
LEAST_OVERLAP: Final = 0.7


def compared(
    history: History, belief: VariationalBelief, songs: Songs, *, draws: int, seed: int
) -> dict[str, float]:
    """Return how far a belief is from draws of the posterior."""
    engine = Variational(model=belief.model)
    rng = np.random.default_rng(seed)
    found = gibbs.sample_posterior(
        belief.model, history, draws=draws, warm_up=draws // 5, chains=4, rng=rng
    )
    ratings = found.expected_ratings(songs)
    mean, deviation = ratings.mean(axis=(0, 1)), ratings.std(axis=(0, 1))
    prediction = engine.predict(belief, songs)
    shift = (prediction.mean() - mean) / deviation
    ratio = prediction.standard_deviation() / deviation
    return {
        "shift": _root_mean_square(shift),
        "largest shift": float(np.abs(shift).max()),
        "spread": _root_mean_square(ratio),
        "least spread": float(ratio.min()),
        "most spread": float(ratio.max()),
        "overlap": len(set(_best(mean)) & set(_best(prediction.mean()))) / 20,
        "r_hat": max(diagnostics.split_r_hat(ratings[:, :, song]) for song in range(len(songs))),
    }


def _best(values: Vector) -> list[int]:
    return [int(row) for row in np.argsort(-values)[:20]]


def _root_mean_square(values: Vector) -> float:
    return float(np.sqrt(np.mean(values**2)))


def reference(count: int, columns: int, seed: int) -> tuple[History, Songs]:
    rng = np.random.default_rng([seed, count])
    return random_history(rng, count, columns), draw_songs(rng, SONGS, columns)


def assert_close(table: dict[str, float]) -> None:
    line = "  ".join(f"{name} {value:.3f}" for name, value in table.items())
    print(line)
    assert table["r_hat"] < 1.05
    assert table["shift"] < LARGEST_SHIFT
    assert SPREAD[0] < table["spread"] < SPREAD[1]
    assert table["overlap"] >= LEAST_OVERLAP


@pytest.mark.statistical
def test_it_agrees_with_gibbs_sampling() -> None:
    history, songs = reference(50, 5, seed=1)
    belief = Variational(model=content_novelty(5)).fit(history)
    assert_close(compared(history, belief, songs, draws=1_500, seed=2))


@pytest.mark.statistical
def test_a_belief_of_other_ratings_does_not() -> None:
    history, songs = reference(50, 5, seed=1)
    other = Variational(model=content_novelty(5)).fit(reference(50, 5, seed=3)[0])
    with pytest.raises(AssertionError):
        assert_close(compared(history, other, songs, draws=300, seed=2))


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("count", [50, 500])
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_it_agrees_with_long_runs_of_gibbs_sampling(count: int, seed: int) -> None:
    history, songs = reference(count, 12, seed)
    belief = Variational(model=content_novelty(12)).fit(history)
    assert_close(compared(history, belief, songs, draws=20_000, seed=seed))


@pytest.mark.long
@pytest.mark.statistical
def test_with_five_ratings_it_is_too_sure_and_does_not_agree() -> None:
    """Five ratings are too few for factors that do not know of each other: M8 is not met there.

    The prior is one under which the sampler mixes; under the paper's it is further off. No
    other start finds a higher bound, so it is the approximation and not the search.
    """
    tables = []
    for seed in range(1, 13):
        rng, model = np.random.default_rng([seed, 5]), drawable_model(5)
        coefficients, precision = draw_coefficients(model, rng)
        rated = draw_songs(rng, 5, 5)
        history = answered(rated, expected_ratings(model, coefficients, rated), precision, rng)
        belief = Variational(model=model).fit(history)
        songs = draw_songs(rng, SONGS, 5)
        tables.append(compared(history, belief, songs, draws=4_000, seed=seed))
    shift, spread = ([table[name] for table in tables] for name in ("shift", "spread"))
    line = f"5 ratings: shift {np.median(shift):.3f} (median), spread {np.median(spread):.3f}"
    print(line)
    assert LARGEST_SHIFT < np.median(shift) < 0.25
    assert SPREAD[0] < np.median(spread) < 0.9


# ── Against truths drawn from the prior ──────────────────────────────────────────────────

# The least coverage of the 90 % interval at each number of ratings (promise M7).
PROMISED: Final = {0: 0.78, 1: 0.78, 5: 0.78, 30: 0.85, 200: 0.87}
# How often a quick test may fail though coverage is just as promised.
FAILURE_RATE: Final = 1e-3
QUICK: Final = 100
ALLOWED: Final = float(-ndtri(FAILURE_RATE)) * np.sqrt(0.8 * 0.2 / QUICK)
COLUMNS: Final = 4


def coverage(
    model: FactorModel, count: int, *, truths: int, rng: np.random.Generator, narrow: float = 1.0
) -> float:
    """Return how often the 90 % interval of a new song's expected rating holds the truth."""
    engine, hits = Variational(model=model), 0
    for _ in range(truths):
        coefficients, precision = draw_coefficients(model, rng)
        songs = draw_songs(rng, count + 1, COLUMNS)
        expected = expected_ratings(model, coefficients, songs)
        rated = songs.take(slice(count))
        belief = engine.fit(answered(rated, expected[:count], precision, rng))
        prediction = engine.predict(belief, songs.take(slice(count, None)))
        low, middle, high = (float(prediction.quantile(at)[0]) for at in (0.05, 0.5, 0.95))
        below, above = narrow * (middle - low), narrow * (high - middle)
        hits += middle - below <= expected[count] <= middle + above
    return hits / truths


@pytest.mark.statistical
@pytest.mark.parametrize("count", [0, 5, 30])
def test_its_intervals_hold_the_truth_about_as_often_as_promised(count: int) -> None:
    rng = np.random.default_rng([6, count])
    found = coverage(drawable_model(COLUMNS), count, truths=QUICK, rng=rng)
    assert found > PROMISED[count] - ALLOWED


@pytest.mark.statistical
def test_intervals_of_half_the_length_do_not() -> None:
    rng = np.random.default_rng([6, 30])
    found = coverage(drawable_model(COLUMNS), 30, truths=QUICK, rng=rng, narrow=0.5)
    assert found < PROMISED[30] - ALLOWED


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("count", PROMISED)
def test_its_intervals_hold_the_truth_as_often_as_promised(count: int) -> None:
    model = drawable_model(COLUMNS, basis=SHORT_BASIS)
    found = coverage(model, count, truths=1_000, rng=np.random.default_rng([7, count]))
    error = np.sqrt(found * (1 - found) / 1_000)
    line = f"{count:4d} ratings: coverage {found:.3f} ± {error:.3f}, promised {PROMISED[count]}"
    print(line)
    assert found >= PROMISED[count]
