"""What engines have learnt, asked through their predictions alone."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import EffectPrior, LogNormalRecovery, radio_prior
from bandstand.core.registry import ALGORITHMS
from bandstand.music.audio.loadings import GROUPS, towards
from bandstand.music.catalogue.design import Columns
from bandstand.radio.explain.taste import (
    CURVE_MINUTES,
    novelty_curve,
    preferences,
    uncertainty_over_time,
)
from bandstand.radio.explain.why import preference_of
from bandstand.radio.selection.training_data import LONGEST
from bandstand.types import Minutes
from tests.fixtures.radio.tastes import listened, model, projected
from tests.fixtures.simulated_listeners import simulated_history
from tests.music.audio.test_loadings import made_by_hand
from tests.radio.explain.test_why import one_node

if TYPE_CHECKING:
    from bandstand.radio.log.fold import Ledger
    from bandstand.types import Matrix

TIMES = np.array([1.0, 100 * math.log(2), 1e5])
WITHOUT_NOVELTY = {"random", "linucb-c", "linucb-cn"}


def test_one_recovery_time_has_one_curve_without_doubt() -> None:
    found = novelty_curve(*one_node(), 3, TIMES)
    assert found is not None
    assert found.standard_deviation is not None
    np.testing.assert_allclose(found.mean, [-math.expm1(-0.01), 0.5, 1.0], rtol=1e-12)
    np.testing.assert_allclose(found.standard_deviation, 0.0, atol=1e-7)
    assert found.minutes == tuple(TIMES)


def test_the_preferences_of_one_node() -> None:
    assert preferences(*one_node(), 3, Columns()) == ()
    assert preferences(*one_node(), 3, Columns(projected()[0])) == ()
    fast, dark = preferences(*one_node(), 3, Columns(made_by_hand()))
    # A song that is one sd faster has 2 more of the first feature, which gets half a star each;
    # six degrees of freedom widen a scale of √(4/3) by √(6/4).
    assert (fast.group, fast.likes, fast.dislikes) == ("tempo", "fast", "slow")
    assert fast.stars == pytest.approx(1.0)
    assert fast.standard_deviation == pytest.approx(math.sqrt(2.0))
    assert fast.certainty == pytest.approx(0.5 * (1 + math.erf(1 / 2)))
    assert (dark.group, dark.likes, dark.dislikes) == ("brightness", "dark", "bright")
    assert dark.stars == pytest.approx(0.6)
    assert dark.standard_deviation == pytest.approx(math.sqrt(4.5))


def test_what_a_song_of_an_unknown_artist_is_worth_is_no_doubt_about_sound() -> None:
    prior = replace(radio_prior(3), effects=EffectPrior(artist=1.0, album=0.5, song=2.0))
    history = History.of(
        features=[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], elapsed=np.inf, ratings=[4.0, 2.0]
    )
    engine = Exact(prior=prior)
    belief = engine.fit(history)
    found = preferences(engine, belief, 3, Columns(made_by_hand()), never=Minutes(np.inf))
    # In the direction of an index d: E[1/τ | D] d'Λ⁻¹d, the same at every node.
    unit = float(belief.rates[0] / (belief.shape - 1))
    covariance = np.linalg.inv(
        prior.preference.precision + history.features.T @ history.features / (1 + 3.5)
    )
    directions = towards(made_by_hand())
    for each in found:
        direction = np.append(directions[each.group], 0.0)
        variance = unit * direction @ covariance @ direction
        assert each.standard_deviation == pytest.approx(math.sqrt(variance), rel=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 30))
def test_the_band_is_the_spread_of_all_curves_of_the_belief(seed: int, count: int) -> None:
    history = simulated_history(np.random.default_rng(seed), count=count, columns=3)
    engine = Exact(prior=radio_prior(3))
    belief = engine.fit(history)
    times = CURVE_MINUTES
    found = novelty_curve(engine, belief, 3, times)
    curves = novelty(times[:, np.newaxis], belief.recovery_times)
    mean = curves @ belief.weights
    variance = np.square(curves - mean[:, np.newaxis]) @ belief.weights
    assert found is not None
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.standard_deviation, np.sqrt(variance), atol=1e-6)  # type: ignore[arg-type]


def test_a_curve_is_reached_once_or_never() -> None:
    found = novelty_curve(*one_node(), 3, CURVE_MINUTES)
    assert found is not None
    # Between two points of the curve a straight line stands for it.
    assert found.reaches(0.9) == pytest.approx(100 * math.log(10), rel=0.01)
    assert found.reaches(0.0) == 1.0
    assert found.reaches(1.1) is None


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_engine_can_be_asked(name: str) -> None:
    one = model(listened(3 if name == "bayes-ucb-cn" else 12), algorithm=name)
    engine, belief, columns = one.engine, one.belief, one.history.columns
    with np.errstate(all="raise"):
        curve = novelty_curve(engine, belief, columns, CURVE_MINUTES)
        found = preferences(engine, belief, columns, Columns(projected()[0]))
        preference = preference_of(engine, belief, columns)
    assert (curve is None) == (name in WITHOUT_NOVELTY)
    assert (preference is None) == (name == "random")
    assert bool(found) == (name != "random")
    has_doubt = name not in WITHOUT_NOVELTY | {"greedy-cn", "greedy-cn-map"}
    assert all((each.certainty is not None) == has_doubt for each in found)
    if curve is not None:
        assert (curve.standard_deviation is not None) == has_doubt
    if preference is not None:
        features = np.random.default_rng(1).normal(size=columns)
        songs = Songs.of(features=[features], elapsed=LONGEST)
        liking = engine.predict(belief, songs).parts()["content"][0]
        assert float(preference @ features) == pytest.approx(liking, abs=1e-9)


@pytest.mark.parametrize("plays", [100, 400])
def test_the_engine_with_a_piecewise_curve_agrees_with_the_exact_one(plays: int) -> None:
    exact, other = (by_group(listened(plays), f"bayes-ucb-cn-{kind}") for kind in "xv")
    for group, (liking, spread) in exact.items():
        liking_too, spread_too = other[group]
        assert abs(liking_too - liking) < 1.5 * spread
        assert 0.6 < spread_too / spread < 1.6


def by_group(ledger: Ledger, algorithm: str) -> dict[str, tuple[float, float]]:
    """Return how much more of each group is liked, and how sure that is."""
    one = model(ledger, algorithm=algorithm)
    found = preferences(one.engine, one.belief, one.history.columns, Columns(projected()[0]))
    more = {group.more for group in GROUPS}
    return {
        each.group: (
            each.stars if each.likes in more else -each.stars,
            math.inf if each.standard_deviation is None else each.standard_deviation,
        )
        for each in found
    }


def new(features: Matrix) -> Songs:
    return Songs.of(features=features, elapsed=LONGEST)


def test_uncertainty_is_that_of_the_first_answers_fitted_anew() -> None:
    history = simulated_history(np.random.default_rng(2), count=40, columns=3)
    engine = Exact(prior=radio_prior(3))
    features = np.random.default_rng(3).normal(size=(20, 3))
    songs = new(features)
    found = uncertainty_over_time(engine.prior, history, songs)
    assert [point.answers for point in found] == [1, 3, 10, 32, 40]
    assert found[0].stars > found[2].stars > found[-1].stars
    with_belief = uncertainty_over_time(
        engine.prior, history, new(features), belief=engine.fit(history)
    )
    assert [point.stars for point in with_belief] == pytest.approx(
        [point.stars for point in found], rel=1e-6
    )


def test_uncertainty_of_one_song_has_a_closed_form() -> None:
    """One answer about a new song: Λ = 1/10 + 1, so the variance is known by hand."""
    history = History.of(features=[[1.0]], elapsed=LONGEST, ratings=[3.0])
    # Whoever needs a day at most is sure to find it new.
    prior = replace(radio_prior(1), recovery=LogNormalRecovery(log_standard_deviation=0.1))
    (found,) = uncertainty_over_time(prior, history, new(np.array([[1.0]])))
    # A = 2 + ½, m = 3/1.1, B = 1 + ½((3 − m)² + m²/10); a Student t of 2A degrees of freedom.
    mean = 3 / 1.1
    rate = 1 + 0.5 * ((3 - mean) ** 2 + mean**2 / 10)
    assert found.stars == pytest.approx(math.sqrt(rate / 2.5 / 1.1 * 5 / 3), rel=1e-6)


def test_what_was_found_once_is_not_looked_for_again() -> None:
    history = simulated_history(np.random.default_rng(2), count=12, columns=2)
    prior, features, known = radio_prior(2), np.ones((3, 2)), dict[bytes, float]()
    first = uncertainty_over_time(prior, history, new(features), known=known)
    assert len(known) == len(first)
    known.update(dict.fromkeys(known, 7.0))
    again = uncertainty_over_time(prior, history, new(features), known=known)
    assert {point.stars for point in again} == {7.0}
    others = uncertainty_over_time(prior, history, new(2 * features), known=known)
    assert 7.0 not in {point.stars for point in others}


def test_without_answers_or_songs_there_is_no_uncertainty_to_tell() -> None:
    prior = radio_prior(2)
    assert uncertainty_over_time(prior, History.empty(2), new(np.ones((3, 2)))) == ()
    history = simulated_history(np.random.default_rng(2), count=12, columns=2)
    assert uncertainty_over_time(prior, history, new(np.ones((0, 2)))) == ()
