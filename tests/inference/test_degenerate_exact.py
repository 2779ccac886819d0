"""Data that break careless code, for the exact engine and its sampler: all must stay finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from bandstand.domain import History, Songs
from bandstand.inference.exact import Exact, ExactBelief
from bandstand.inference.mcmc import Mcmc
from bandstand.model.priors import paper_prior, radio_prior
from tests.inference.test_degenerate_points import CASES, COLUMNS, SONGS

if TYPE_CHECKING:
    from bandstand.inference.engine import Engine

ENGINES: Final[dict[str, Engine[Any]]] = {
    "exact, paper's prior": Exact(prior=paper_prior(COLUMNS)),
    "exact, radio's prior": Exact(prior=radio_prior(COLUMNS)),
}
SAMPLER: Final = Mcmc(prior=paper_prior(COLUMNS), effective_draws=100, most_draws=400)
every_case = pytest.mark.parametrize("history", CASES.values(), ids=CASES.keys())
every_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())


def check(engine: Engine[Any], belief: Any, songs: Songs) -> None:
    """Everything is finite or absent, spreads are not negative, covariances are ones."""
    prediction = engine.predict(belief, songs)
    answers = {
        "mean": prediction.mean(),
        "deviation": prediction.standard_deviation(),
        "low": prediction.quantile(0.3),
        "high": prediction.quantile(0.95),
        "draws": prediction.sample(np.random.default_rng(0), 2),
        **prediction.parts(),
    }
    for name, answer in answers.items():
        assert answer is None or np.isfinite(answer).all(), name
    deviation = answers["deviation"]
    assert deviation is None or (deviation >= 0).all()
    summary = engine.summary(belief)
    for number in (summary.recovery_time_mean, summary.recovery_time_sd, summary.noise_sd):
        assert number is None or np.isfinite(number)
    if isinstance(belief, ExactBelief):
        values = np.linalg.eigvalsh(belief.covariances)
        assert (belief.covariances == belief.covariances.transpose(0, 2, 1)).all()
        assert (values.min(axis=1) >= -1e-12 * values.max(axis=1)).all()


@every_engine
@every_case
def test_every_answer_is_finite_from_scratch(engine: Engine[Any], history: History) -> None:
    with np.errstate(all="raise"):
        belief = engine.fit(history, rng=np.random.default_rng(0))
        check(engine, belief, SONGS)
        check(engine, engine.plan(belief, SONGS.take([1])), SONGS)
        check(engine, belief, SONGS.take(slice(0)))


@every_engine
@every_case
def test_every_answer_is_finite_online(engine: Engine[Any], history: History) -> None:
    rng, grown = np.random.default_rng(0), History.empty(COLUMNS)
    with np.errstate(all="raise"):
        belief = engine.fit(grown, rng=rng)
        for row in range(min(len(history), 5)):
            grown = grown.append(
                features=history.features[row],
                elapsed=float(history.elapsed[row]),
                rating=float(history.ratings[row]),
                weight=float(history.weights[row]),
            )
            belief = engine.update(belief, grown, rng=rng)
        check(engine, belief, SONGS)


@every_case
def test_every_draw_is_finite(history: History) -> None:
    with np.errstate(all="raise"):
        belief = SAMPLER.fit(history, rng=np.random.default_rng(0))
        check(SAMPLER, belief, SONGS)
        check(SAMPLER, belief, SONGS.take(slice(0)))


def test_a_hundred_thousand_answers_are_taken() -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((100_000, COLUMNS))
    elapsed = rng.uniform(0, 3_000, 100_000)
    ratings = features.sum(axis=1) * -np.expm1(-elapsed / 300) + rng.standard_normal(100_000)
    history = History.of(features=features, elapsed=elapsed, ratings=ratings)
    engine = Exact(prior=paper_prior(COLUMNS))
    with np.errstate(all="raise"):
        belief = engine.fit(history)
        longer = history.append(features=features[0], elapsed=9.0, rating=2.0)
        check(engine, engine.update(belief, longer), SONGS)
    assert engine.summary(belief).recovery_time_mean == pytest.approx(300, abs=10)
