"""Product or sum: the engine of the sum is exact, and verdicts follow from the numbers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    NoisePrior,
    PreferencePrior,
    paper_prior,
)
from bandstand_lab.paper.ablation import PRODUCT, STUDY, SUM, AddingListener, play
from bandstand_lab.paper.additive_model import Additive
from bandstand_lab.report.study import Chapter, Plan, Verdict
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=3)
TIMES = np.geomspace(5.0, 5_000.0, 97)


def prior(columns: int, *, variance: float, shape: float, rate: float) -> ListenerPrior:
    return ListenerPrior(
        preference=PreferencePrior.isotropic(columns, variance),
        recovery=GammaRecovery(),
        noise=NoisePrior(shape=shape, rate=rate),
    )


def drawn(count: int, seed: int, columns: int = 2) -> tuple[History, Songs]:
    rng = np.random.default_rng(seed)
    history = History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.uniform(1, 3_000, count),
        ratings=rng.standard_normal(count) + 2,
        weights=rng.uniform(0.5, 2, count),
    )
    songs = Songs.of(features=rng.standard_normal((7, columns)), elapsed=rng.uniform(0, 3_000, 7))
    return history, songs


def directly(
    history: History, song: Songs, given_prior: ListenerPrior, *, variance: float, forget: bool
) -> float:
    """Return E[U | D] of one song by another route: joint normal of ratings and U, given s.

    The marginal of the ratings is a multivariate Student t; no posterior of θ is ever formed.
    `forget` plants an error: the prior of s is left out.
    """
    shape, rate = given_prior.noise.shape, given_prior.noise.rate
    log_weights, means = [], []
    for time in TIMES:
        rows = np.column_stack([history.features, novelty(history.elapsed, float(time))])
        asked = np.append(song.features[0], novelty(song.elapsed, float(time))[0])
        cover = np.diag(1 / history.weights) + variance * rows @ rows.T
        solved = np.linalg.solve(cover, history.ratings)
        squares = float(history.ratings @ solved)
        degrees = shape + len(history) / 2
        density = -0.5 * np.linalg.slogdet(cover)[1] - degrees * np.log(rate + squares / 2)
        if not forget:
            density += given_prior.recovery.log_density(np.log(np.array([time])))[0]
        log_weights.append(density)
        means.append(variance * asked @ rows.T @ solved)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    return float(weights @ np.array(means) / weights.sum())


@settings(max_examples=20, deadline=None)
@given(
    st.integers(2, 12),
    st.floats(0.1, 20),
    st.floats(0.6, 4),
    st.floats(0.05, 5),
    st.integers(0, 99),
)
def test_the_engine_agrees_with_the_marginal_likelihood(
    count: int, variance: float, shape: float, rate: float, seed: int
) -> None:
    history, songs = drawn(count, seed)
    before = prior(3, variance=variance, shape=shape, rate=rate)
    engine = Additive(prior=before)
    mean = engine.predict(engine.fit(history), songs).mean()
    assert mean is not None
    expected = directly(history, songs.take([0]), before, variance=variance, forget=False)
    assert mean[0] == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_a_forgotten_prior_would_be_noticed() -> None:
    history, songs = drawn(6, 4)
    before = prior(3, variance=2.0, shape=2.0, rate=1.0)
    engine = Additive(prior=before)
    mean = engine.predict(engine.fit(history), songs).mean()
    assert mean is not None
    wrong = directly(history, songs.take([0]), before, variance=2.0, forget=True)
    assert mean[0] != pytest.approx(wrong, rel=1e-7)


def test_before_the_first_rating_the_papers_prior_has_no_quantile() -> None:
    engine = Additive(prior=paper_prior(3))
    prediction = engine.predict(engine.fit(History.empty(2)), drawn(2, 1)[1])
    assert prediction.mean() is None
    assert prediction.quantile(0.9) is None
    assert not len(prediction.best_by_quantile(0.9, 1, np.arange(7)))


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 15), st.integers(0, 99), st.integers(1, 4), st.floats(0.5, 0.99))
def test_the_search_finds_the_largest_quantiles(
    count: int, seed: int, wanted: int, level: float
) -> None:
    history, _ = drawn(count, seed)
    rng = np.random.default_rng(seed)
    songs = Songs.of(features=rng.standard_normal((90, 2)), elapsed=rng.uniform(0, 3_000, 90))
    engine = Additive(prior=prior(3, variance=2.0, shape=2.0, rate=1.0))
    prediction = engine.predict(engine.fit(history), songs)
    allowed = np.arange(0, 90, 2)
    quantiles = prediction.quantile(level)
    assert quantiles is not None
    best = allowed[np.argsort(-quantiles[allowed])[:wanted]]
    np.testing.assert_array_equal(prediction.best_by_quantile(level, wanted, allowed), best)


def test_a_listener_who_adds_loses_the_same_for_every_song() -> None:
    listener = AddingListener(
        preference=np.array([2.0]),
        recovery_time=100.0,
        noise_standard_deviation=0.5,
        novelty_worth=3.0,
    )
    new = Songs.of(features=[[1.0], [-1.0]], elapsed=1e9)
    heard = Songs.of(features=[[1.0], [-1.0]], elapsed=0.0)
    lost = listener.expected_rating(new) - listener.expected_rating(heard)
    np.testing.assert_allclose(lost, 3.0)
    np.testing.assert_allclose(listener.expected_rating(new), [5.0, 1.0])


@pytest.mark.parametrize("truth", [PRODUCT, SUM])
def test_both_radios_play_for_listeners_of_both_kinds(truth: str) -> None:
    found = play(truth=truth, songs=20, features=2, run=0, seed=1, steps=15)
    assert found == play(truth=truth, songs=20, features=2, run=0, seed=1, steps=15)
    assert found[PRODUCT]["regret"][0] == found[SUM]["regret"][0]
    for radio in (PRODUCT, SUM):
        assert len(found[radio]["regret"]) == 15


def invented(levels: dict[tuple[str, str], float]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for job in STUDY.jobs(PLAN):
        truth, run = job.arguments["truth"], job.arguments["run"]
        curve = np.sqrt(np.arange(1.0, job.arguments["steps"] + 1))
        results[job.key] = {}
        for number, radio in enumerate((PRODUCT, SUM)):
            person = 1 + 0.1 * run + 0.01 * np.random.default_rng([run, number]).random()
            regret = (levels[truth, radio] * person * curve).tolist()
            results[job.key][radio] = {"regret": regret, "repeat_share": 0.5}
    return results


def levels(own: float, other: float) -> dict[tuple[str, str], float]:
    """Return the product's regret, the sum's being 1, with listeners who multiply and who add."""
    return {(PRODUCT, PRODUCT): own, (PRODUCT, SUM): 1.0, (SUM, PRODUCT): other, (SUM, SUM): 1.0}


@pytest.mark.parametrize(
    ("own", "other", "verdict"),
    [
        (0.8, 0.8, Verdict.HOLDS),
        (0.8, 1.2, Verdict.PARTLY),
        (1.2, 1.2, Verdict.FAILS),
    ],
)
def test_the_verdict_on_the_product_follows_from_both_kinds(
    own: float, other: float, verdict: Verdict
) -> None:
    chapter: Chapter = STUDY.chapter(PLAN, invented(levels(own, other)))
    assert chapter.findings[0].verdict is verdict


def test_the_chapter_is_whole() -> None:
    assert_whole(STUDY.chapter(PLAN, invented(levels(0.8, 1.1))))
