"""Upper bounds of quantiles are above all of them, and close to most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from bandstand.core.engines.variational import quantile_bounds
from bandstand.core.engines.variational.engine import Variational
from bandstand.core.engines.variational.quantile_bounds import envelope, share_of_tail
from bandstand.core.model import product_normal
from bandstand.core.model.factors import content_novelty, content_novelty_diversity
from bandstand.core.model.history import Songs
from bandstand.types import frozen
from tests.fixtures.factor_worlds import draw_songs, random_history

if TYPE_CHECKING:
    from bandstand.core.engines.variational.factor_prediction import FactorPrediction
    from bandstand.core.model.factors import FactorModel
    from bandstand.types import Matrix, Vector

COLUMNS: Final = 3
LONGEST: Final = 43_200.0
# How sure the third factor is of itself: from not at all to very.
SURENESS: Final = (0.0, 0.3, 1.0, 1.9, 2.1, 5.0, 40.0, 1e9)

LEVELS: Final = (1e-4, 0.01, 0.3, 0.499, 0.5, 0.6, 0.9, 0.99, 0.998, 1 - 1e-6)
# Of a quantile of two factors, in standard deviations; of three they are right to 1e-4.
ROUNDING: Final = 1e-10

levels = st.sampled_from(LEVELS) | st.floats(1e-6, 1 - 1e-6)
sizes = st.floats(1e-3, 1e3)
signed = sizes.map(lambda size: -size) | sizes | st.just(0.0)
normals = st.tuples(signed, sizes | st.just(0.0))
farthest = st.sampled_from([0.05, 1.0, 4.0, 30.0, 1_000.0, float("inf")])


def songs_within(reach: float, seed: int, count: int = 40) -> tuple[Vector, Vector]:
    """Return songs of every |μ|/σ up to `reach`, the ends among them."""
    rng = np.random.default_rng(seed)
    deviations = np.exp(2 * rng.normal(size=count))
    if np.isfinite(reach):
        places = reach * rng.uniform(-1, 1, size=count) ** 3
        places[:2] = -reach, reach
        return places * deviations, deviations
    means = np.exp(4 * rng.normal(size=count)) * rng.choice([-1, 1], size=count)
    deviations[:2] = 0.0
    return means, deviations


def with_others(
    means: Vector, deviations: Vector, others: list[tuple[float, float]]
) -> tuple[Matrix, Matrix]:
    table = np.vstack([means, *(np.full(len(means), mean) for mean, _ in others)])
    spread = np.vstack([deviations, *(np.full(len(means), each) for _, each in others)])
    return table, spread


def shortfall(level: float, others: list[tuple[float, float]], reach: float, seed: int) -> float:
    """Return how far the farthest quantile is above its bounds, in standard deviations."""
    shared = np.array(others).reshape(-1, 2).T
    found = envelope(level, shared[0], shared[1], farthest=reach)
    assert found is not None
    means, deviations = songs_within(reach, seed)
    table, spread = with_others(means, deviations, others)
    values = product_normal.quantile(level, table, spread)
    unit = product_normal.standard_deviation(table, spread) + np.abs(values) + 1e-300
    lines = (found.slopes[:, np.newaxis] * means + found.widths[:, np.newaxis] * deviations).max(0)
    above = found.above(means, deviations)
    return float(((values - np.minimum(lines, above)) / unit).max())


@given(levels, normals, farthest, st.integers(0, 1_000))
def test_no_quantile_of_two_factors_is_above(
    level: float, shared: tuple[float, float], reach: float, seed: int
) -> None:
    assert shortfall(level, [shared], reach, seed) < ROUNDING


@settings(max_examples=12)
@given(st.sampled_from([0.05, 0.5, 0.9, 0.998]), normals, normals, farthest, st.integers(0, 1_000))
def test_no_quantile_of_three_factors_is_above(
    level: float,
    second: tuple[float, float],
    third: tuple[float, float],
    reach: float,
    seed: int,
) -> None:
    assert shortfall(level, [second, third], reach, seed) < ROUNDING


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shared", [(3.0, 0.1), (1.0, 1.0), (0.0, 2.0), (-2.0, 0.5)])
def test_the_bounds_are_close(level: float, shared: tuple[float, float]) -> None:
    found = envelope(level, *np.array([shared]).T, farthest=30.0)
    assert found is not None
    means, deviations = songs_within(30.0, 3)
    # Where the second factor is surely positive, the songs of a negative mean do not matter.
    good = means * (shared[0] or 1.0) > 0
    table, spread = with_others(means[good], deviations[good], [shared])
    values = product_normal.quantile(level, table, spread)
    unit = product_normal.standard_deviation(table, spread)
    above = found.above(means[good], deviations[good])
    assert np.median((above - values) / unit) < 0.35
    assert ((above - values) / unit).max() < 0.8


def test_a_level_too_far_out_has_no_envelope() -> None:
    assert envelope(1 - 1e-12, np.ones(1), np.ones(1)) is None
    assert envelope(1e-200, np.ones(1), np.ones(1)) is None


def test_the_share_of_a_tail_is_that_of_the_farthest_place() -> None:
    places = np.linspace(0.0, 10.0, 100_001)
    for ratio in (1.01, 1.5, 10.0):
        gained = np.asarray(ndtr(ratio * places)) - np.asarray(ndtr(places))
        assert share_of_tail(ratio) == pytest.approx(2 * gained.max(), rel=1e-6)


def is_caught() -> bool:
    """Return whether any of some cases shows a quantile above its bounds."""
    return any(
        shortfall(level, [shared], reach, seed) > 1e-6
        for seed in range(3)
        for level in (0.3, 0.6, 0.9, 0.999)
        for shared in ((1.0, 0.05), (1.0, 1.0), (-2.0, 0.3))
        for reach in (3.0, 100.0)
    )


def test_bounds_that_are_right_are_not_caught() -> None:
    assert not is_caught()


def test_bounds_without_their_allowance_for_means_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Φ of z alone, as if no mean of a stretch differed from that of its middle.
    target = {"now": 0.5}
    real = envelope

    def without(level: float, *args: Vector, **options: float) -> object:
        target["now"] = level
        return real(level, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(quantile_bounds, "ndtr", lambda _: target["now"])
    monkeypatch.setattr(quantile_bounds, "share_of_tail", lambda _: 0.05)
    monkeypatch.setitem(globals(), "envelope", without)
    assert is_caught()


def test_bounds_without_their_allowance_for_widths_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quantile_bounds, "share_of_tail", lambda _: 0.0)
    assert is_caught()


# ── The factors of a prediction ──────────────────────────────────────────────────────────


def prediction_of(model: FactorModel, songs: Songs, ratings: int = 25) -> FactorPrediction:
    engine = Variational(model=model)
    return engine.predict(
        engine.fit(random_history(np.random.default_rng(1), ratings, COLUMNS)), songs
    )


def never_heard(count: int, seed: int) -> Songs:
    songs = draw_songs(np.random.default_rng(seed), count, COLUMNS)
    return Songs.of(
        features=songs.features,
        elapsed=LONGEST,
        diversity=np.random.default_rng(seed).uniform(0, 4, size=count),
    )


def factor_shortfall(prediction: FactorPrediction, level: float) -> float:
    """Return how far the farthest quantile is above its bound, in standard deviations."""
    bounds = prediction.bounds(level)
    means, deviations = prediction.normals_of(np.arange(len(prediction)))
    heard = prediction.songs.elapsed < LONGEST
    above = bounds.above(means, deviations, heard)
    spread = prediction.standard_deviation()
    return float(((prediction.quantile(level) - above) / spread).max())


def with_third_factor(sureness: float, sign: float) -> FactorPrediction:
    """Return a prediction whose third factor is `sureness` standard deviations away from 0."""
    prediction = prediction_of(content_novelty_diversity(COLUMNS), never_heard(8, 2), 60)
    third = prediction.precision_roots[2]
    flat = np.full(len(prediction.means[2]), sign * sureness)
    return replace(
        prediction,
        means=(*prediction.means[:2], frozen(flat)),
        precision_roots=(*prediction.precision_roots[:2], frozen(np.eye(len(third)))),
    )


@pytest.mark.parametrize("level", [0.05, 0.5, 0.9, 0.999])
def test_two_factors_are_bounded_heard_or_not(level: float) -> None:
    songs = draw_songs(np.random.default_rng(3), 60, COLUMNS)
    some_new = Songs.of(
        features=songs.features,
        elapsed=np.where(np.arange(60) % 2, songs.elapsed, LONGEST),
    )
    assert factor_shortfall(prediction_of(content_novelty(COLUMNS), some_new), level) < 1e-9


@pytest.mark.parametrize("level", [0.2, 0.95])
@pytest.mark.parametrize("sureness", SURENESS)
def test_three_factors_are_bounded_however_sure_the_third_is(level: float, sureness: float) -> None:
    assert (
        factor_shortfall(with_third_factor(sureness, -1.0 if sureness > 4 else 1.0), level) < 1e-9
    )


def test_the_cells_of_the_third_factor_hold_what_they_say() -> None:
    sureness = np.array([0.0, 0.4, 0.6, 1.99, 2.0, 2.1, 3.7, 1e30])
    cells = quantile_bounds._cells(sureness).tolist()
    last = int(quantile_bounds._EVEN_CELLS_UP_TO / quantile_bounds._CELL_STEP)
    last += quantile_bounds._FAR_CELLS
    assert cells == [1, 1, 2, 4, 4, 5, 6, last]


def test_a_song_heard_lately_has_no_bound_of_three_factors() -> None:
    prediction = prediction_of(content_novelty_diversity(COLUMNS), never_heard(2, 4))
    bounds = prediction.bounds(0.9)
    means, deviations = prediction.normals_of(np.arange(2))
    assert np.isinf(bounds.above(means, deviations, np.array([False, True]))).tolist() == [
        False,
        True,
    ]


def test_cells_without_their_allowance_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # One cell from 0 to 2, and songs near its end.
    monkeypatch.setattr(quantile_bounds, "_CELL_STEP", 2.0)
    monkeypatch.setattr(quantile_bounds, "_CELL_COARSENESS", 1)
    prediction = with_third_factor(1.35, 1.0)
    assert factor_shortfall(prediction, 0.95) < 1e-9
    # As if every song of a cell were as its middle is.
    monkeypatch.setattr(quantile_bounds, "ndtr", lambda _: 0.95)
    assert factor_shortfall(prediction, 0.95) > 1e-2
