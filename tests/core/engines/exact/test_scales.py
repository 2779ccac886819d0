"""Prior variances that follow the evidence: a function of the answers alone, and the right one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from bandstand.core.engines.exact import scales
from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History
from bandstand.core.model.novelty import novelty
from bandstand.core.model.priors import people_prior, radio_prior
from bandstand.core.model.song_groups import SongGroups

if TYPE_CHECKING:
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import AnyArray, Vector

COLUMNS, CURVED, TAGS = 9, 2, 3
PRIOR = people_prior(COLUMNS, curved=CURVED, tags=TAGS)


def answers(
    count: int,
    seed: int = 1,
    *,
    of: str = "chance",
    repeats: bool = False,
    weights: float | None = None,
) -> History:
    """Return answers of a listener who follows artists, or nothing."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((count, COLUMNS)) / 3
    features[:, -1] = 1
    artist = rng.integers(0, max(count // 4, 1), count)
    liking = rng.standard_normal(count)[artist] if of == "artist" else rng.standard_normal(count)
    song = rng.integers(0, count // 2 + 1, count) if repeats else np.arange(count)
    first = np.unique(song, return_index=True)[1]
    elapsed = np.full(count, 500.0)
    elapsed[first] = np.inf
    return History.of(
        features=features[song] if repeats else features,
        elapsed=elapsed,
        ratings=3 + liking + 0.3 * rng.standard_normal(count),
        weights=rng.choice([0.25, 1.0], count) if weights is None else weights,
        groups=SongGroups.of(song=song, artist=artist[song] if repeats else artist),
    )


def dense_log_evidence(prior: ListenerPrior, number: int, history: History, s: float) -> float:
    """Return log p(D | kind, s) from the covariance of all answers, written out.

    Each density to the power w is a normal one of precision wτ times τ^((w − 1)/2).
    """
    kind, groups = prior.kinds[number], history.groups
    curve = novelty(history.elapsed, s)

    def same(ids: AnyArray) -> AnyArray:
        return np.equal.outer(ids, ids).astype(float)

    covariance = (history.features * kind.variances) @ history.features.T
    covariance += kind.effects.artist * same(groups.artist)
    covariance += kind.effects.album * same(groups.album) + kind.effects.song * same(groups.song)
    covariance = covariance * np.outer(curve, curve) + np.diag(1 / history.weights)
    away = history.ratings - curve * (history.features @ prior.preference.mean)
    squares = away @ np.linalg.solve(covariance, away)
    shape = prior.noise.shape + history.weights.sum() / 2
    return float(
        -0.5 * np.linalg.slogdet(covariance)[1] - shape * np.log(prior.noise.rate + squares / 2)
    )


def dense_weights(history: History, times: Vector) -> Vector:
    """Return the weights of kinds with the evidence summed up over recovery times."""
    density = PRIOR.recovery.log_density(np.log(times))
    logs = [
        logsumexp(density + [dense_log_evidence(PRIOR, number, history, s) for s in times])
        for number in range(len(PRIOR.kinds))
    ]
    weights: Vector = softmax(np.log([kind.share for kind in PRIOR.kinds]) + logs)
    return weights


@pytest.mark.parametrize("count", [1, 8, 40])
def test_the_weights_of_kinds_are_those_of_the_dense_evidence(count: int) -> None:
    history = answers(count)
    expected = dense_weights(history, np.array([1_440.0]))
    np.testing.assert_allclose(scales.kind_weights(PRIOR, history), expected, rtol=1e-8)


@pytest.mark.parametrize("count", [8, 40])
def test_the_recovery_time_of_songs_heard_again_is_summed_out(count: int) -> None:
    history = answers(count, repeats=True)
    fine = dense_weights(history, np.exp(np.linspace(0, 14.5, 60)))
    np.testing.assert_allclose(scales.kind_weights(PRIOR, history), fine, atol=0.01)
    in_the_middle = dense_weights(history, np.array([1_440.0]))
    assert not np.allclose(in_the_middle, fine, atol=0.01)


def test_before_any_answer_kinds_have_their_shares_and_variances_their_mean() -> None:
    empty = History.empty(COLUMNS)
    shares = [kind.share for kind in PRIOR.kinds]
    np.testing.assert_allclose(scales.kind_weights(PRIOR, empty), shares)
    found = scales.scaled(PRIOR, empty)
    artists = [kind.effects.artist for kind in PRIOR.kinds]
    assert found.effects.artist == pytest.approx(np.dot(artists, shares))
    variances = np.sum([kind.variances * kind.share for kind in PRIOR.kinds], axis=0)
    np.testing.assert_allclose(np.diag(found.preference.precision), 1 / variances)
    assert found.kinds == PRIOR.kinds


def test_a_prior_without_kinds_stays_as_it_is() -> None:
    prior = radio_prior(COLUMNS)
    assert scales.scaled(prior, answers(50)) is prior
    assert not scales.are_due(prior, answers(8, weights=1))


def test_the_variances_change_when_the_answers_weigh_the_root_of_two_as_much() -> None:
    due = [8, 11, 16, 22, 32, 45, 64, 90, 128, 181]
    history = answers(200, weights=1)
    assert [n for n in range(201) if scales.are_due(PRIOR, history.first(n))] == due
    weak = answers(200, weights=0.25)
    assert [n for n in range(201) if scales.are_due(PRIOR, weak.first(n))] == [
        32,
        44,
        64,
        88,
        128,
        180,
    ]
    found = [scales.scaled(PRIOR, history.first(n)).effects for n in (0, 7, 8, 10, 11, 63, 64, 70)]
    assert found[0] == found[1] != found[2] == found[3] != found[4] != found[5] != found[6]
    assert found[6] == found[7]


def believed(engine: Exact, history: History) -> Vector:
    prediction = engine.predict(engine.fit(history), history.songs)
    mean, doubt = prediction.mean(), prediction.standard_deviation()
    assert mean is not None
    assert doubt is not None
    return np.concatenate([mean, doubt])


def one_by_one(engine: Exact, history: History) -> Vector:
    belief = engine.fit(history.first(0))
    for number in range(1, len(history) + 1):
        belief = engine.update(belief, history.first(number))
    prediction = engine.predict(belief, history.songs)
    return np.concatenate([prediction.mean(), prediction.standard_deviation()])


def test_one_answer_after_the_other_is_the_same_as_all_at_once() -> None:
    history, engine = answers(40, repeats=True), Exact(prior=PRIOR)
    np.testing.assert_allclose(one_by_one(engine, history), believed(engine, history), rtol=1e-8)


def test_the_comparison_sees_variances_that_are_never_renewed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    history, engine = answers(40), Exact(prior=PRIOR)
    expected = believed(engine, history)
    monkeypatch.setattr(scales, "are_due", lambda *_: False)
    assert not np.allclose(one_by_one(engine, history), expected, rtol=1e-4)


def test_an_undone_answer_leaves_no_trace() -> None:
    history, engine = answers(33), Exact(prior=PRIOR)
    np.testing.assert_array_equal(
        believed(engine, history.without(32)), believed(engine, history.first(32))
    )


def test_a_listener_of_artists_is_known_as_one_and_chance_as_nothing() -> None:
    shares = [kind.share for kind in PRIOR.kinds]
    of_artists = scales.kind_weights(PRIOR, answers(128, of="artist"))
    of_chance = scales.kind_weights(PRIOR, answers(128))
    artists = np.argmax([kind.effects.artist for kind in PRIOR.kinds])
    nothing = np.array([kind.effects.artist for kind in PRIOR.kinds]) < 0.1
    assert of_artists[artists] > 2 * shares[artists]
    assert of_chance[nothing].sum() > 2 * np.array(shares)[nothing].sum()
    assert of_artists[nothing].sum() < 0.1


def test_stars_that_are_always_the_same_are_foretold_and_not_believed_to_be_without_noise() -> None:
    engine, history = Exact(prior=PRIOR), answers(130)
    same = History.of(
        features=history.features,
        elapsed=history.elapsed,
        ratings=np.full(130, 4.0),
        groups=history.groups,
    )
    belief = engine.fit(same.first(128))
    expected = engine.predict(belief, answers(40, seed=2).songs).mean()
    assert expected == pytest.approx(4.0, abs=0.05)
    assert (engine.summary(belief).noise_sd or 0) > 0.35


def test_ratings_without_repeats_say_nothing_of_the_recovery_time() -> None:
    engine = Exact(prior=PRIOR)
    before = engine.summary(engine.fit(History.empty(COLUMNS)))
    for count in (10, 33, 200):
        after = engine.summary(engine.fit(answers(count)))
        assert after.recovery_time_mean == pytest.approx(before.recovery_time_mean, rel=1e-9)
        assert after.recovery_time_sd == pytest.approx(before.recovery_time_sd, rel=1e-9)


def stated_noise(prior: ListenerPrior, history: History) -> float:
    engine = Exact(prior=prior)
    return engine.summary(engine.fit(history)).noise_sd or 0.0


def test_many_skips_that_are_all_the_same_do_not_make_the_model_sure_of_no_noise() -> None:
    history = answers(200, weights=1 / 32)
    skips = History.of(
        features=history.features,
        elapsed=np.inf,
        ratings=1.5,
        weights=history.weights,
        groups=history.groups,
    )
    by_number = replace(PRIOR, noise=replace(PRIOR.noise, by_weight=False))
    assert stated_noise(PRIOR, skips) > 0.6
    assert stated_noise(by_number, skips) < 0.5


@pytest.mark.parametrize("before", [(1.5, 1 / 32), (4.0, 1.0)])
def test_a_listener_who_begins_with_the_same_answers_is_known_by_the_ratings_that_follow(
    before: tuple[float, float],
) -> None:
    """A taste for artists, after a hundred skips or a hundred times four stars."""
    many, unheard = answers(260, of="artist"), np.arange(200, 260)
    first, liking = np.arange(260) < 100, np.where(many.ratings > 3, 5.0, 2.0)
    history = History.of(
        features=many.features,
        elapsed=np.inf,
        ratings=np.where(first, before[0], liking),
        weights=np.where(first, before[1], 1.0),
        groups=many.groups,
    )
    engine = Exact(prior=PRIOR)
    belief = engine.fit(history.first(200))
    prediction = engine.predict(belief, history.songs.take(unheard))
    doubt = prediction.standard_deviation()
    assert doubt is not None
    away = np.abs(prediction.mean() - liking[unheard])
    stated = np.hypot(doubt, engine.summary(belief).noise_sd or 0.0)
    assert np.sqrt(np.mean(away**2)) < 0.95 * np.std(liking[unheard])
    assert np.mean(away < 2 * stated) > 0.92
