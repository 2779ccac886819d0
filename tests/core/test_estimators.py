from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bandstand import (
    ExactModel,
    InvalidInputError,
    LeastSquaresModel,
    McmcModel,
    NotFittedError,
    RidgeModel,
    VariationalModel,
    load,
    radio_prior,
    save,
)
from bandstand.core.model.priors import GammaRecovery, ListenerPrior, NoisePrior, PreferencePrior
from tests.fixtures.simulated_listeners import simulated_history

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.core.estimators import RatingModel

MODELS: list[RatingModel] = [
    ExactModel(),
    ExactModel(prior=radio_prior(3)),
    McmcModel(effective_draws=400, seed=3),
    VariationalModel(),
    LeastSquaresModel(),
    LeastSquaresModel(prior=radio_prior(3)),
    RidgeModel(regularisation=2.0),
    RidgeModel(use_elapsed=True),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
HISTORY = simulated_history(np.random.default_rng(1), count=25, columns=3, weighted=True)
SONGS = np.random.default_rng(2).normal(size=(6, 3))


def fitted(model: RatingModel, rows: slice = slice(None)) -> RatingModel:
    return _fresh(model).fit(
        HISTORY.features[rows],
        elapsed=HISTORY.elapsed[rows],
        ratings=HISTORY.ratings[rows],
        weights=HISTORY.weights[rows],
    )


def _fresh(model: RatingModel) -> RatingModel:
    return type(model)(**model.get_params())


@every_model
def test_fitting_in_parts_equals_fitting_at_once(model: RatingModel) -> None:
    parts = fitted(model, slice(10))
    parts.partial_fit(
        HISTORY.features[10:],
        elapsed=HISTORY.elapsed[10:],
        ratings=HISTORY.ratings[10:],
        weights=HISTORY.weights[10:],
    )
    whole = fitted(model)
    assert parts.predict(SONGS, elapsed=120.0) == pytest.approx(
        whole.predict(SONGS, elapsed=120.0), rel=1e-8
    )


@every_model
def test_a_saved_model_comes_back_the_same(model: RatingModel, tmp_path: Path) -> None:
    whole = fitted(model)
    save(whole, tmp_path / "taste")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taste.json", "taste.npz"]
    back = load(tmp_path / "taste")
    assert type(back) is type(whole)
    assert back.predict(SONGS, elapsed=60.0) == pytest.approx(
        whole.predict(SONGS, elapsed=60.0), rel=1e-12
    )


@every_model
def test_it_feels_like_scikit_learn(model: RatingModel) -> None:
    fresh = _fresh(model)
    with pytest.raises(NotFittedError, match="must be fitted before it can answer"):
        fresh.predict(SONGS, elapsed=1.0)
    assert fresh.partial_fit(SONGS, elapsed=1_000.0, ratings=np.arange(6.0)) is fresh
    noise = fresh.summary().noise_sd
    assert noise is None or noise >= 0
    mean, deviation = fresh.predict(SONGS, elapsed=[0.0, 1, 10, 100, 1e3, 1e4], return_std=True)  # type: ignore[misc]
    assert mean is not None
    assert mean.shape == (6,)
    assert deviation is None or (deviation >= 0).all()
    level = fresh.quantile(SONGS, elapsed=500.0, level=0.9)
    draws = fresh.sample(SONGS, elapsed=500.0, rng=np.random.default_rng(0), size=4)
    assert (level is None) == (draws is None)
    assert draws is None or draws.shape == (4, 6)
    assert type(fresh).__name__ in repr(fresh)
    assert fresh.get_params(deep=False) == fresh.get_params()
    with pytest.raises(TypeError):
        type(model)(1.0)  # type: ignore[call-arg]  # settings are keywords only
    with pytest.raises(InvalidInputError, match="a setting must be one of"):
        fresh.set_params(loudness=11)
    with pytest.raises(InvalidInputError, match="3 features as in `fit`, got 2"):
        fresh.predict(SONGS[:, :2], elapsed=1.0)
    with pytest.raises(InvalidInputError, match="3 features as before, got 2"):
        fresh.partial_fit(SONGS[:, :2], elapsed=1.0, ratings=np.ones(6))


def test_a_level_must_be_one() -> None:
    with pytest.raises(InvalidInputError, match="level must be between 0 and 1"):
        fitted(ExactModel()).quantile(SONGS, elapsed=1.0, level=1.0)


def test_any_prior_can_be_saved_unless_it_is_unknown(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    root = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    prior = ListenerPrior(
        preference=PreferencePrior.correlated([1.0, 2.0, 3.0], root @ root.T),
        recovery=GammaRecovery(shape=2.0, rate=0.05),
        noise=NoisePrior(shape=3.0, rate=4.0),
    )
    whole = fitted(ExactModel(prior=prior))
    save(whole, tmp_path / "taste")
    assert load(tmp_path / "taste").predict(SONGS, elapsed=9.0) == pytest.approx(
        whole.predict(SONGS, elapsed=9.0), rel=1e-12
    )

    class Odd(GammaRecovery):
        pass

    odd = ListenerPrior(preference=prior.preference, recovery=Odd(), noise=prior.noise)
    with pytest.raises(InvalidInputError, match="only gamma and log-normal recovery priors"):
        save(fitted(ExactModel(prior=odd)), tmp_path / "odd")


def test_a_broken_file_is_refused_and_nothing_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "taste"
    save(fitted(ExactModel()), path)
    numbers, text = tmp_path / "taste.npz", tmp_path / "taste.json"
    whole, words = numbers.read_bytes(), text.read_text()
    numbers.write_bytes(whole[:200])
    with pytest.raises(InvalidInputError, match="must be a saved model"):
        load(path)
    np.savez(numbers, features=np.array([object()], dtype=object))
    with pytest.raises(InvalidInputError, match="must be a saved model"):
        load(path)
    numbers.write_bytes(whole)
    for wrong in ("{", "[]", words.replace('"format": 1', '"format": 9')):
        text.write_text(wrong)
        with pytest.raises(InvalidInputError, match="must"):
            load(path)
    text.write_text(words.replace("ExactModel", "OsSystem"))
    with pytest.raises(InvalidInputError, match="must be a saved model"):
        load(path)


def test_changed_settings_take_effect_at_the_next_fit() -> None:
    model = fitted(RidgeModel(regularisation=2.0))
    before = model.predict(SONGS, elapsed=60.0)
    model.set_params(use_elapsed=True, regularisation=9.0)
    assert model.predict(SONGS, elapsed=60.0) == pytest.approx(before, rel=1e-15)
    again = model.fit_history(model.fitted_history()).predict(SONGS, elapsed=60.0)
    assert again != pytest.approx(before, rel=1e-3)
