"""Variants: each changes the one thing that it says, and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import numpy as np
import pytest

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, Songs
from bandstand_lab.paper import variational_variants as variants
from bandstand_lab.paper.effectiveness import play
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import GaussianWorld

WORLD = GaussianWorld(songs=30, features=3, noise_standard_deviation=0.5)
# How often a right sampled quantile may be further off than the test allows: six standard errors.
FAILURE_RATE: Final = 1e-8
STANDARD_ERRORS: Final = 6.0


def rated(count: int, *, columns: int = 3) -> History:
    rng = np.random.default_rng(count)
    return History.of(
        features=rng.standard_normal((count, columns)),
        elapsed=rng.uniform(1, 2_000, count),
        ratings=rng.standard_normal(count) * 3,
    )


def unheard(count: int) -> Songs:
    features = np.random.default_rng(5).standard_normal((count, 3))
    return Songs.of(features=features, elapsed=43_200)


def test_the_model_without_a_change_is_the_papers() -> None:
    history, songs = rated(12), unheard(9)
    ours, papers = (Variational(model=each) for each in (variants.model(3), content_novelty(3)))
    np.testing.assert_allclose(
        ours.predict(ours.fit(history), songs).quantile(0.9),
        papers.predict(papers.fit(history), songs).quantile(0.9),
        rtol=1e-9,
    )


@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_the_best_of_several_searches_is_no_lower_than_one(count: int) -> None:
    history = rated(count)
    one = Variational(model=variants.model(3)).fit(history)
    best = variants.BestOfStarts.of(3, 300.0, 30.0, 3_000.0).fit(history)
    assert best.bounds[-1] >= one.bounds[-1]


@pytest.mark.parametrize("name", list(variants.VARIANTS))
def test_a_variant_plays_and_starts_like_every_other_radio(name: str) -> None:
    found = play(world=asdict(WORLD), algorithms=[name], run=0, seed=2, steps=6)
    unchanged = run_one(WORLD, variants.BASE, run=0, seed=2, steps=6)
    assert found[name]["regret"][0] == unchanged.regret[0]
    assert np.isfinite(found[name]["regret"]).all()


def test_an_algorithm_of_the_registry_is_run_as_everywhere_else() -> None:
    ours = play(world=asdict(WORLD), algorithms=["greedy-cn"], run=1, seed=2, steps=5)
    theirs = run_one(WORLD, "greedy-cn", run=1, seed=2, steps=5)
    np.testing.assert_array_equal(ours["greedy-cn"]["regret"], theirs.regret)


def share_below(level: float, *, asked: float | None = None) -> float:
    """Return how much of p(U) lies below the quantile of the draws; `asked` plants an error."""
    engine = Variational(model=variants.model(3))
    prediction = engine.predict(engine.fit(rated(12)), unheard(1))
    step = round(1 / (1 - (asked or level)))
    sampled = variants.SampledBayesUcb().preferences(
        prediction, step=step, rng=np.random.default_rng(7)
    )
    assert sampled is not None
    return float(np.mean(prediction.sample(np.random.default_rng(1), 40_000)[:, 0] < sampled[0]))


def is_at_level(share: float, level: float) -> bool:
    error = np.sqrt(level * (1 - level) * (1 / variants.DRAWS + 1 / 40_000))
    return bool(abs(share - level) < STANDARD_ERRORS * error)


def test_the_sampled_quantile_is_at_its_level() -> None:
    assert is_at_level(share_below(0.95), 0.95)


def test_a_quantile_at_another_level_would_be_noticed() -> None:
    assert not is_at_level(share_below(0.95, asked=0.9), 0.95)


def test_the_sampled_radio_chooses_nearly_the_best_song() -> None:
    history, songs = rated(12), unheard(40)
    engine = Variational(model=variants.model(3))
    prediction = engine.predict(engine.fit(history), songs)
    (chosen,) = variants.SampledBayesUcb().choose(
        prediction, step=20, rng=np.random.default_rng(3), count=1, allowed=np.arange(40)
    )
    quantiles = prediction.quantile(0.95)
    assert int((quantiles > quantiles[chosen]).sum()) <= 3


def test_the_first_song_of_the_sampled_radio_is_any_song() -> None:
    engine = Variational(model=variants.model(3))
    prediction = engine.predict(engine.fit(History.empty(3)), unheard(40))
    chosen = {
        int(
            variants.SampledBayesUcb().choose(
                prediction, step=1, rng=np.random.default_rng(n), count=1, allowed=np.arange(40)
            )[0]
        )
        for n in range(20)
    }
    assert len(chosen) > 5


def test_a_job_returns_plain_numbers_for_every_radio() -> None:
    world = {"songs": 20, "features": 2, "scale": "norm", "noise_standard_deviation": 1.0}
    names = ["random", "bayes-ucb-cn-x", f"{variants.BASE}/no-quantile"]
    found = play(world=world, algorithms=names, run=0, seed=1, steps=4)
    assert list(found) == names
    for result in found.values():
        assert len(result["regret"]) == 4
        assert all(isinstance(value, float) for value in result["regret"])
