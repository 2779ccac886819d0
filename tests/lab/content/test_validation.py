"""Cross-validation: fair to all, and the same whatever the order."""

import json
import math
from dataclasses import asdict
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.content.comparison import Compared, RaterComparison
from bandstand_lab.content.ratings import (
    FEELING_SPREAD,
    PAPER_SPREAD,
    Rater,
    simulated_ratings,
)
from bandstand_lab.content.validation import (
    PREDICTORS,
    RaterErrors,
    cross_validate,
    folds,
)

CHEAP = {name: PREDICTORS[name] for name in ("random", "mean")}
FAILURE_RATE = 1e-4


def rater(ratings: list[float], name: str = "ann") -> Rater:
    return Rater(name=name, rows=np.arange(len(ratings)), ratings=frozen(ratings))


@given(count=st.integers(2, 60), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_every_rating_is_tested_once_and_never_by_itself(
    count: int, seed: int, data: st.DataObject
) -> None:
    parts = data.draw(st.integers(2, count))
    split = folds(count, parts, np.random.default_rng(seed))
    assert sorted(row for fold in split for row in fold.test.tolist()) == [*range(count)]
    for fold in split:
        assert not set(fold.training.tolist()) & set(fold.test.tolist())
        assert len(fold.training) + len(fold.test) == count
    sizes = [len(fold.test) for fold in split]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("count", "parts"), [(9, 10), (10, 1), (0, 2)])
def test_there_cannot_be_more_folds_than_ratings(count: int, parts: int) -> None:
    with pytest.raises(InvalidInputError, match=f"got {parts}"):
        folds(count, parts, np.random.default_rng(0))


def test_all_predictors_meet_the_same_folds() -> None:
    seen: dict[str, list[tuple[float, ...]]] = {"one": [], "two": []}

    def watching(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
        def predict(features, ratings, wanted, rng):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
            seen[name].append((*features[:, 0], math.inf, *wanted[:, 0]))
            return np.zeros(len(wanted))

        return predict

    own = np.arange(23.0)[:, np.newaxis]
    both = {"one": watching("one"), "two": watching("two")}
    cross_validate(own, rater([3.0] * 23), parts=5, predictors=both)
    assert seen["one"] == seen["two"]
    assert len(seen["one"]) == 5


def test_the_error_of_the_mean_is_known_where_each_is_left_out() -> None:
    """r − mean of the others = n/(n − 1) · (r − mean)."""
    values = [1.0, 2.0, 4.0, 5.0, 5.0]
    errors = cross_validate(np.ones((5, 2)), rater(values), parts=5, predictors=CHEAP)
    assert errors.rmse["mean"] == pytest.approx(5 / 4 * np.std(values))


def test_the_random_baseline_meets_its_closed_form() -> None:
    rng = np.random.default_rng(8)
    values = rng.integers(1, 6, size=4_000).astype(float).tolist()
    errors = cross_validate(np.ones((4_000, 1)), rater(values), predictors=CHEAP)
    # The squared error has a standard deviation of less than 5, so 4 sigmas are 0.32 of it.
    assert errors.rmse["random"] ** 2 == pytest.approx(2 * np.var(values), abs=0.32)


def test_one_rater_does_not_depend_on_others_nor_on_the_order_of_calls() -> None:
    own = np.random.default_rng(1).standard_normal((40, 3))
    values = np.random.default_rng(2).integers(1, 6, 40).astype(float).tolist()
    first = cross_validate(own, rater(values), seed=3)
    cross_validate(own, rater(values, "ben"), seed=3)
    assert cross_validate(own, rater(values), seed=3) == first
    assert cross_validate(own, rater(values, "ben"), seed=3) != first
    assert cross_validate(own, rater(values), seed=4) != first


def test_errors_survive_json() -> None:
    errors = cross_validate(np.ones((12, 2)), rater([1.0, 5.0] * 6), parts=3)
    assert RaterErrors(**json.loads(json.dumps(asdict(errors)))) == errors


@pytest.mark.parametrize("values", [[4.0] * 12, [1.0, 5.0] * 6, [1.0] * 11 + [5.0]])
@pytest.mark.parametrize("parts", [2, 12])
def test_degenerate_ratings_give_finite_errors(values: list[float], parts: int) -> None:
    own = np.column_stack([np.zeros(12), np.arange(12.0), np.full(12, 1e6), np.ones(12)])
    with np.errstate(all="raise", under="ignore"):
        errors = cross_validate(own, rater(values), parts=parts)
    assert all(math.isfinite(value) for value in errors.rmse.values())


def test_stars_have_the_spread_that_was_asked_for() -> None:
    """In closed form, from P(stars > 1, 2, 3, 4), and by drawing."""
    above = ndtr(-np.array([-1.5, -0.5, 0.5, 1.5]) / FEELING_SPREAD)
    shares = -np.diff([1.0, *above, 0.0])
    assert shares @ np.arange(-2.0, 3.0) ** 2 == pytest.approx(PAPER_SPREAD**2, rel=1e-9)
    felt = 3 + FEELING_SPREAD * np.random.default_rng(4).standard_normal(400_000)
    stars = np.clip(np.rint(felt), 1, 5)
    assert stars.std() == pytest.approx(PAPER_SPREAD, rel=5e-3)


def test_a_simulated_rater_depends_on_the_number_alone() -> None:
    settings = {"share": 0.4, "seed": 5, "songs": 30, "columns": 4}
    three = simulated_ratings(raters=3, **settings)  # type: ignore[arg-type]
    last = simulated_ratings(raters=1, first=2, **settings)  # type: ignore[arg-type]
    assert last.raters[0].name == three.raters[2].name
    assert last.raters[0].ratings.tolist() == three.raters[2].ratings.tolist()
    assert set(np.concatenate([each.ratings for each in three.raters])) <= {1, 2, 3, 4, 5}


@cache
def compared(share: float, *, own_features: bool = True) -> RaterComparison:
    """Return 14 raters of 100 songs; without `own_features` the songs' rows are shuffled."""
    rated = simulated_ratings(share=share, seed=11, raters=14, songs=100, columns=8)
    order = np.arange(100) if own_features else np.random.default_rng(0).permutation(100)
    return RaterComparison(
        raters=tuple(
            cross_validate(rated.features[order], each, parts=4, predictors=PREDICTORS)
            for each in rated.raters
        )
    )


def is_below(each: Compared) -> bool:
    """Return whether the content model is below the rival, one-sided."""
    return each.difference.mean < 0 and each.difference.p_value / 2 < FAILURE_RATE


@pytest.mark.statistical
def test_features_that_matter_are_found() -> None:
    by_rival = {each.rival: each for each in compared(0.5).against_rivals()}
    assert is_below(by_rival["random"])
    assert is_below(by_rival["mean"])


@pytest.mark.statistical
def test_features_of_other_songs_are_not_mistaken_for_them() -> None:
    """The planted error: rows that belong to other songs must not beat the mean."""
    found = compared(0.5, own_features=False)
    by_rival = {each.rival: each for each in found.against_rivals()}
    assert is_below(by_rival["random"])
    assert by_rival["mean"].difference.mean > 0
    share = found.explained("ridge")
    assert share is not None
    assert share.mean < 0.02


def test_differences_are_those_of_the_errors() -> None:
    found = compared(0.5)
    (difference,) = [each for each in found.against_rivals() if each.rival == "ridge"]
    own, other = found.errors("content"), found.errors("ridge")
    assert difference.difference.mean == pytest.approx((own - other).mean())
    assert difference.corrected_p_value >= difference.difference.p_value


def test_a_single_rater_has_no_standard_error_and_no_test() -> None:
    alone = RaterComparison(
        raters=(cross_validate(np.ones((12, 2)), rater([1.0, 5.0] * 6), parts=3),)
    )
    assert alone.against_rivals() == ()
    assert alone.estimate("mean").standard_error is None


def test_nothing_is_explained_where_nothing_varies() -> None:
    flat = RaterComparison(raters=(cross_validate(np.ones((12, 2)), rater([4.0] * 12), parts=3),))
    assert flat.explained("content") is None
    with pytest.raises(InvalidInputError, match="at least one rater"):
        RaterComparison(raters=())
