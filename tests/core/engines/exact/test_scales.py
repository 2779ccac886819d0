"""Prior variances that follow the evidence: a function of the answers alone, and the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_t

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


def answers(count: int, seed: int = 1, *, of: str = "chance", repeats: bool = False) -> History:
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
        weights=rng.choice([0.25, 1.0], count),
        groups=SongGroups.of(song=song, artist=artist[song] if repeats else artist),
    )


def dense_log_evidence(prior: ListenerPrior, number: int, history: History) -> float:
    """Return log p(D | kind, s) from the covariance of all answers, written out."""
    kind, groups = prior.kinds[number], history.groups
    curve = novelty(history.elapsed, np.exp(np.mean(prior.recovery.interval())))

    def same(ids: AnyArray) -> AnyArray:
        return np.equal.outer(ids, ids).astype(float)

    covariance = (history.features * kind.variances) @ history.features.T
    covariance += kind.effects.artist * same(groups.artist)
    covariance += kind.effects.album * same(groups.album) + kind.effects.song * same(groups.song)
    covariance = covariance * np.outer(curve, curve) + np.diag(1 / history.weights)
    shape, rate = prior.noise.shape, prior.noise.rate
    middle = curve * (history.features @ prior.preference.mean)
    law = multivariate_t(middle, covariance * rate / shape, df=2 * shape)  # type: ignore[arg-type]
    return float(law.logpdf(history.ratings))


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("count", [1, 8, 40])
def test_the_weights_of_kinds_are_those_of_the_dense_evidence(count: int, repeats: bool) -> None:
    history = answers(count, repeats=repeats)
    logs = [dense_log_evidence(PRIOR, number, history) for number in range(len(PRIOR.kinds))]
    expected = softmax(np.log([kind.share for kind in PRIOR.kinds]) + logs)
    np.testing.assert_allclose(scales.kind_weights(PRIOR, history), expected, rtol=1e-8)


def test_before_any_answer_kinds_have_their_shares_and_variances_their_geometric_mean() -> None:
    empty = History.empty(COLUMNS)
    shares = [kind.share for kind in PRIOR.kinds]
    np.testing.assert_allclose(scales.kind_weights(PRIOR, empty), shares)
    found = scales.scaled(PRIOR, empty)
    artists = [kind.effects.artist for kind in PRIOR.kinds]
    assert found.effects.artist == pytest.approx(np.prod(np.power(artists, shares)))
    variances = np.prod([kind.variances**kind.share for kind in PRIOR.kinds], axis=0)
    np.testing.assert_allclose(np.diag(found.preference.precision), 1 / variances)
    assert found.kinds == PRIOR.kinds


def test_a_prior_without_kinds_stays_as_it_is() -> None:
    prior = radio_prior(COLUMNS)
    assert scales.scaled(prior, answers(50)) is prior
    assert not scales.are_due(prior, 8)


def test_the_variances_change_when_the_number_of_answers_has_grown_by_the_root_of_two() -> None:
    due = [8, 11, 16, 22, 32, 45, 64, 90, 128, 181]
    assert [n for n in range(200) if scales.are_due(PRIOR, n)] == due
    history = answers(70)
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
    nothing = np.argmin([kind.effects.artist for kind in PRIOR.kinds])
    assert of_artists[artists] > 2 * shares[artists]
    assert of_chance[nothing] > 5 * shares[nothing]


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
