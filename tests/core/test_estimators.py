from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand import (
    ExactModel,
    History,
    InvalidInputError,
    LeastSquaresModel,
    McmcModel,
    MixedEffectsModel,
    NamedItems,
    NotFittedError,
    Recommender,
    RidgeModel,
    VariationalModel,
    load,
    people_prior,
    radio_prior,
    save,
)
from bandstand.core.estimators import RatingModel
from bandstand.core.model.named_items import Names
from bandstand.core.model.priors import GammaRecovery, ListenerPrior, NoisePrior, PreferencePrior
from tests.fixtures.simulated_listeners import simulated_history

DRAWN = simulated_history(np.random.default_rng(1), count=25, columns=3, weighted=True)
HISTORY = History.of(
    features=DRAWN.features,
    elapsed=DRAWN.elapsed,
    ratings=np.clip(3 + DRAWN.ratings, 1, 5),
    weights=DRAWN.weights,
)
MODELS: list[RatingModel] = [
    ExactModel(),
    ExactModel(prior=radio_prior(3)),
    MixedEffectsModel(items=NamedItems.fit(HISTORY.features, [["slow"]] * 25)),
    MixedEffectsModel(items=NamedItems.fit(HISTORY.features), prior=people_prior(68, curved=64)),
    McmcModel(effective_draws=400, seed=3),
    VariationalModel(),
    LeastSquaresModel(),
    LeastSquaresModel(prior=radio_prior(3)),
    RidgeModel(regularisation=2.0),
    RidgeModel(use_elapsed=True),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
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
    assert fresh.partial_fit(SONGS, elapsed=1_000.0, ratings=[1, 2, 5, 4, 3, 2.5]) is fresh
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
    with pytest.raises(InvalidInputError, match=r"3 features as .*, got 2"):
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
    for wrong in ("{", "[]", words.replace('"format": 2', '"format": 9')):
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


# ── Names ────────────────────────────────────────────────────────────────────────────────

CATALOGUE = np.random.default_rng(4).normal(size=(30, 3)) * [1, 50, 1e-3]
ARTISTS = [f"artist {row % 7}" if row % 5 else None for row in range(30)]
ALBUMS = [row % 11 for row in range(30)]
TAGS = [["jazz", "live"][: row % 3] for row in range(30)]
ITEMS = NamedItems.fit(CATALOGUE, TAGS)


def names_of(rows: list[int]) -> Names:
    """Return the names of these items; every kind is another way to write a sequence."""
    return {
        "songs": np.array(rows),  # type: ignore[typeddict-item]
        "artists": [ARTISTS[row] for row in rows],
        "albums": tuple(ALBUMS[row] for row in rows),
        "tags": [TAGS[row] for row in rows],
    }


def listened() -> tuple[Recommender, list[int]]:
    """Return a radio that has learned 40 answers, some of them about one song, and their rows."""
    rng = np.random.default_rng(5)
    radio = Recommender(
        features=CATALOGUE, artists=ARTISTS, albums=ALBUMS, tags=TAGS, algorithm="mixed-effects"
    )
    rows = rng.integers(20, size=40).tolist()
    for hour, row in enumerate(rows):
        radio.update(row, float(rng.integers(1, 6)), time=3_600.0 * hour, weight=1 + hour % 2)
    return radio, rows


def learned(rows: list[int], radio: Recommender, *, parts: int = 1) -> MixedEffectsModel:
    """Return a model that has learned the same answers, in some parts."""
    model = MixedEffectsModel(items=ITEMS)
    for some in np.array_split(np.arange(len(rows)), parts):
        model.partial_fit(
            CATALOGUE[[rows[place] for place in some]],
            elapsed=radio.history.elapsed[some],
            ratings=radio.history.ratings[some],
            weights=radio.history.weights[some],
            **names_of([rows[place] for place in some]),
        )
    return model


def test_names_are_learned_exactly_as_by_the_recommender(tmp_path: Path) -> None:
    radio, rows = listened()
    at = 3_600.0 * 60
    expected = radio.predict(at=at)
    asked: dict[str, Any] = {"elapsed": radio.elapsed(at=at), **names_of(list(range(30)))}
    whole = learned(rows, radio)
    save(whole, tmp_path / "names")
    for model in (whole, learned(rows, radio, parts=4), load(tmp_path / "names")):
        mean, deviation = model.predict(CATALOGUE, return_std=True, **asked)  # type: ignore[misc]
        assert mean == pytest.approx(expected.mean(), rel=1e-9)
        assert deviation == pytest.approx(expected.standard_deviation(), rel=1e-9)
        quantile = model.quantile(CATALOGUE, level=0.7, **asked)
        assert quantile == pytest.approx(expected.quantile(0.7), rel=1e-9)
    other = dict(asked, artists=None)
    assert whole.predict(CATALOGUE, **other) != pytest.approx(expected.mean(), rel=1e-3)


def test_new_names_and_tags_are_like_none() -> None:
    radio, rows = listened()
    model, some = learned(rows, radio), CATALOGUE[25:]
    plain = model.predict(some, elapsed=np.inf)
    new = model.predict(some, elapsed=np.inf, artists=list("abcde"), tags=[["polka"]] * 5)
    assert new == pytest.approx(plain, rel=1e-12)
    draws = model.sample(
        some[[0, 0]], elapsed=np.inf, artists=["new"] * 2, rng=np.random.default_rng(0), size=400
    )
    assert draws is not None
    assert np.corrcoef(draws.T).min() > 0.3  # two songs of one artist, though a new one


def test_items_need_no_features_and_fit_begins_again() -> None:
    model = MixedEffectsModel()
    for tags in ([["a"], ["b"]], [["c"], []]):
        model.fit(np.empty((2, 0)), elapsed=np.inf, ratings=[5, 1], tags=tags)
        mean = model.predict(np.empty((2, 0)), elapsed=np.inf, tags=tags)
        assert np.sign(np.subtract(mean, 3)).tolist() == [1, -1]  # type: ignore[arg-type]
    assert model.items_ is not None
    assert model.items_.tags == ("c",)


@pytest.mark.parametrize(
    ("model", "names", "message"),
    [
        (ExactModel(), {"artists": ["a", "b"]}, "only MixedEffectsModel learns from names, got a"),
        (MixedEffectsModel(), {"artists": ["a"]}, r"one entry per song \(2\), got 1"),
        (MixedEffectsModel(), {"albums": [["a"], ["b"]]}, "names must be hashable"),
        (MixedEffectsModel(), {"tags": ["a", "b"]}, "must be a list of texts, got 'a' in row 0"),
        (MixedEffectsModel(prior=radio_prior(3)), {}, "must have 3 features"),
    ],
)
def test_names_that_cannot_be_used_change_nothing(
    model: RatingModel, names: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        model.fit([[1.0], [2.0]], elapsed=60, ratings=[1, 5], **names)
    with pytest.raises(NotFittedError):
        model.summary()
    with pytest.raises(InvalidInputError, match="with the items that its columns are of"):
        MixedEffectsModel().fit_history(HISTORY)


@pytest.mark.parametrize(
    "names",
    [
        {"artists": list(range(60))},
        {"artists": [float("nan")] * 60, "albums": [np.nan] * 60},
        {"artists": [""] * 60, "albums": [" "] * 60, "tags": [[""]] * 60},
        {"artists": [1, "1", 1.5, True, None, ("a",)] * 10},
        {"artists": ["x"] * 60, "albums": ["x"] * 60, "songs": ["x"] * 60},
        {"tags": [["x" * 10_240, "\udcff\0"]] * 60},
    ],
)
def test_names_of_any_kind_are_learned_from_or_are_none(names: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    features, ratings = rng.normal(size=(60, 2)), rng.integers(1, 6, 60)
    model = MixedEffectsModel().fit(features, elapsed=np.inf, ratings=ratings, **names)
    mean = model.predict(features, elapsed=np.inf, **names)
    assert isinstance(mean, np.ndarray)
    assert np.isfinite(mean).all()
    assert 0 < mean.min() < mean.max() < 6


@pytest.mark.parametrize("name", [("a", 1), np.inf, frozenset("a")])
def test_only_names_that_a_file_can_hold_are_saved(name: Any, tmp_path: Path) -> None:
    model = MixedEffectsModel().fit([[1.0]], elapsed=60, ratings=[1], artists=[name])
    with pytest.raises(InvalidInputError, match="only names that are text or finite numbers"):
        save(model, tmp_path / "names")


def test_ratings_on_another_scale_are_stretched_and_others_refused() -> None:
    features, stars = HISTORY.features, HISTORY.ratings
    model = MixedEffectsModel().fit(features, elapsed=np.inf, ratings=stars)
    percent = MixedEffectsModel(scale=(0, 100))
    percent.fit(features, elapsed=np.inf, ratings=25 * (stars - 1))
    usual, found = (
        np.array(each.predict(SONGS, elapsed=np.inf, return_std=True)) for each in (model, percent)
    )
    np.testing.assert_allclose(found[0], 25 * (usual[0] - 1), rtol=1e-6)
    np.testing.assert_allclose(found[1], 25 * usual[1], rtol=1e-6)
    with pytest.raises(InvalidInputError, match="ratings from 1 to 5, got 6"):
        model.partial_fit([[1.0, 2.0, 3.0]], elapsed=np.inf, ratings=[6])
    model.partial_fit([[1.0, 2.0, 3.0]], elapsed=np.inf, ratings=[0], weights=[0])
    with pytest.raises(InvalidInputError, match="lowest and the highest rating, got 5 and 1"):
        NamedItems.fit(features).prior(scale=(5, 1))


@pytest.mark.parametrize("kind", [McmcModel, LeastSquaresModel])
def test_a_prior_that_an_engine_would_learn_in_part_is_refused(kind: type[RatingModel]) -> None:
    model = kind(prior=people_prior(3))  # type: ignore[call-arg]
    with pytest.raises(InvalidInputError, match="must have no effects and no kinds"):
        fitted(model)
