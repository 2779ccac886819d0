import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.engines.ridge import Ridge, RidgeBelief
from bandstand.core.model.history import History, Songs
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Matrix, Minutes, Vector

seeds = st.integers(0, 2**32)
regularisations = st.floats(1e-3, 1e3)
time_units = st.sampled_from([None, MONTH, Minutes(60.0)])


def drawn_history(seed: int, count: int, columns: int) -> History:
    rng = np.random.default_rng(seed)
    return History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.uniform(0, MONTH, count),
        ratings=rng.normal(3, 1, count),
        weights=rng.gamma(2, 0.5, count),
    )


def drawn_songs(seed: int, count: int, columns: int) -> Songs:
    rng = np.random.default_rng([seed, 1])
    return Songs.of(
        features=rng.standard_normal((count, columns)), elapsed=rng.uniform(0, MONTH, count)
    )


def one_by_one(engine: Ridge, history: History) -> RidgeBelief:
    belief = engine.fit(history.first(0))
    for count in range(1, len(history) + 1):
        belief = engine.update(belief, history.first(count))
    return belief


def inputs(songs: Songs, time_unit: float | None) -> Matrix:
    if time_unit is None:
        return songs.features_of(slice(None))
    table: Matrix = np.hstack([songs.features, songs.elapsed[:, np.newaxis] / time_unit])
    return table


def closed_form(engine: Ridge, history: History, songs: Songs) -> tuple[Vector, Vector]:
    """Return mean and width of `songs` by (27), as it is written."""
    x, new = inputs(history.songs, engine.time_unit), inputs(songs, engine.time_unit)
    precision = engine.regularisation * np.eye(x.shape[1])
    evidence = np.zeros(x.shape[1])
    for row, weight, rating in zip(x, history.weights, history.ratings, strict=True):
        precision += weight * np.outer(row, row)
        evidence += weight * rating * row
    width = [math.sqrt(row @ np.linalg.solve(precision, row)) for row in new]
    return new @ np.linalg.solve(precision, evidence), np.array(width)


# ── Closed form ──────────────────────────────────────────────────────────────────────────


@given(
    seed=seeds,
    count=st.integers(0, 12),
    columns=st.integers(1, 8),
    regularisation=regularisations,
    time_unit=time_units,
)
def test_mean_and_width_are_those_of_the_closed_form(
    seed: int, count: int, columns: int, regularisation: float, time_unit: Minutes | None
) -> None:
    engine = Ridge(regularisation=regularisation, time_unit=time_unit)
    history, songs = drawn_history(seed, count, columns), drawn_songs(seed, 4, columns)
    mean, width = closed_form(engine, history, songs)
    for belief in (engine.fit(history), one_by_one(engine, history)):
        prediction = engine.predict(belief, songs)
        np.testing.assert_allclose(prediction.mean(), mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(prediction.width(), width, rtol=1e-8)


# ── Online ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("regularisation", "time_unit"), [(1e-3, None), (50.0, MONTH)])
def test_two_thousand_answers_one_by_one_equal_all_at_once(
    regularisation: float, time_unit: Minutes | None
) -> None:
    engine = Ridge(regularisation=regularisation, time_unit=time_unit)
    history, songs = drawn_history(5, 2_000, 20), drawn_songs(5, 50, 20)
    online, batch = one_by_one(engine, history), engine.fit(history)
    assert online.updates > 500  # the last factorisation is long ago
    np.testing.assert_allclose(online.covariance(), batch.covariance(), rtol=0, atol=1e-13)
    first, second = engine.predict(online, songs), engine.predict(batch, songs)
    np.testing.assert_allclose(first.mean(), second.mean(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(first.width(), second.width(), rtol=1e-10)


@given(seed=seeds, weight=st.sampled_from([1e-20, 1.0, 1e9, 1e20, 1e30]), size=st.floats(1e-3, 1e6))
def test_a_song_said_to_be_certain_leaves_no_negative_width(
    seed: int, weight: float, size: float
) -> None:
    engine, rng = Ridge(), np.random.default_rng(seed)
    history = History.empty(3)
    belief = engine.fit(history)
    features = size * rng.uniform(-1, 1, (4, 3))
    features[2] = features[0]
    with np.errstate(all="raise"):
        for row in features:
            history = history.append(features=row, elapsed=0, rating=3.0, weight=weight)
            belief = engine.update(belief, history)
        width = engine.predict(belief, Songs.of(features=features, elapsed=0)).width()
    assert np.isfinite(width).all()
    assert (width > 0).all()
    assert np.linalg.eigvalsh(belief.covariance()).min() >= -1e-15 * belief.covariance().max()


def test_an_answer_that_says_nothing_leaves_the_belief_as_it_was() -> None:
    engine, history = Ridge(), drawn_history(1, 5, 2)
    belief = engine.fit(history)
    same = engine.update(belief, history.append(features=[1, 2], elapsed=0, rating=5, weight=0))
    assert same.coefficients.tolist() == belief.coefficients.tolist()


# ── Prediction ───────────────────────────────────────────────────────────────────────────


def test_the_elapsed_time_is_one_more_input_in_its_unit() -> None:
    # Ratings that are the elapsed time in months, twice over.
    elapsed = np.array([0.0, 10_000.0, 20_000.0, MONTH])
    history = History.of(features=np.zeros((4, 1)), elapsed=elapsed, ratings=2 * elapsed / MONTH)
    engine = Ridge(regularisation=1e-9, time_unit=MONTH)
    songs = Songs.of(features=[[0.0], [1.0]], elapsed=[MONTH / 2, MONTH])
    prediction = engine.predict(engine.fit(history), songs)
    np.testing.assert_allclose(prediction.mean(), [1.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(prediction.parts()["time"], [1.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(prediction.parts()["content"], [0.0, 0.0], atol=1e-6)
    without = Ridge(regularisation=1e-9)
    parts = without.predict(without.fit(history), songs).parts()
    assert set(parts) == {"content", "width"}


# ── Planning ─────────────────────────────────────────────────────────────────────────────


@given(seed=seeds, time_unit=time_units)
def test_a_planned_song_is_surer_but_expected_as_before(
    seed: int, time_unit: Minutes | None
) -> None:
    engine = Ridge(time_unit=time_unit)
    history, songs = drawn_history(seed, 5, 3), drawn_songs(seed, 4, 3)
    belief = engine.fit(history)
    planned = engine.plan(belief, songs.take([0]))
    before, after = engine.predict(belief, songs), engine.predict(planned, songs)
    assert after.mean().tolist() == before.mean().tolist()
    assert (after.width() <= before.width() * (1 + 1e-12)).all()
    assert after.width()[0] < before.width()[0]
    # As wide as if the song had been rated, whatever the rating.
    heard = history.append(features=songs.features[0], elapsed=float(songs.elapsed[0]), rating=9.0)
    rated = engine.predict(engine.fit(heard), songs)
    np.testing.assert_allclose(after.width(), rated.width(), rtol=1e-9)


def test_a_plan_is_forgotten_when_an_answer_comes() -> None:
    engine, history, songs = Ridge(), drawn_history(2, 5, 3), drawn_songs(2, 4, 3)
    planned = engine.plan(engine.fit(history), songs.take([0]))
    longer = history.append(features=songs.features[1], elapsed=0, rating=3.0)
    after = engine.update(planned, longer)
    np.testing.assert_allclose(after.covariance(), engine.fit(longer).covariance(), rtol=1e-12)


# ── What is refused ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_settings_that_no_regression_has_are_refused(value: float) -> None:
    with pytest.raises(InvalidInputError, match="regularisation must be between"):
        Ridge(regularisation=value)
    with pytest.raises(InvalidInputError, match="time_unit must be between"):
        Ridge(time_unit=Minutes(value))
