"""Experiments: closed forms, common random numbers, and the same result for any parallelism."""

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstand.core.registry import ALGORITHMS
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH, Vector, frozen
from bandstand_lab.simulation.experiment import (
    Experiment,
    ExperimentResult,
    run_experiment,
    run_one,
)
from bandstand_lab.simulation.listener import SimulatedListener
from bandstand_lab.simulation.session import EVERYDAY, Clock
from bandstand_lab.simulation.worlds import GaussianWorld, Meeting

FAILURE_RATE: Final = 1e-4
QUICK = ("random", "linucb-c", "linucb-cn", "greedy-cn-map", "thompson-cn-x", "bayes-ucb-cn-x")
SMALL = GaussianWorld(songs=12, features=3, noise_standard_deviation=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWorld:
    """The same songs and the same listener in every run."""

    likings: tuple[float, ...]
    recovery_time: float = 300.0
    noise_standard_deviation: float = 0.0

    def meeting(self, run: int, seed: int) -> Meeting:
        del run, seed
        listener = SimulatedListener(
            preference=frozen([1.0]),
            recovery_time=self.recovery_time,
            noise_standard_deviation=self.noise_standard_deviation,
        )
        return Meeting(features=frozen(self.likings)[:, None], listener=listener)

    def describe(self) -> dict[str, Any]:
        return {"kind": "known", "songs": len(self.likings)}


def shown(outcome: ExperimentResult) -> str:
    """Return everything that happened, to the last bit; not how long it took."""
    traces = [trace.as_json() for each in outcome.traces.values() for trace in each]
    return json.dumps(traces)


# ── Closed forms ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_world_with_one_song_has_no_regret(algorithm: str) -> None:
    trace = run_one(KnownWorld(likings=(2.0,)), algorithm, run=0, seed=1, steps=4)
    assert trace.regret.tolist() == [0.0] * 4
    assert trace.rows.tolist() == [0] * 4
    # The song is as good as new once, then 50 seconds old.
    novelty = [1 - np.exp(-MONTH / 300), *[1 - np.exp(-50 / 60 / 300)] * 3]
    np.testing.assert_allclose(trace.expected, 2.0 * np.array(novelty))


def test_without_noise_ratings_are_what_is_expected() -> None:
    trace = run_one(KnownWorld(likings=(1.0, 2.0, -1.0)), "random", run=0, seed=1, steps=30)
    assert trace.ratings.tolist() == trace.expected.tolist()


def regret_of(rows: list[int], likings: Vector, recovery_time: float, clock: Clock) -> list[float]:
    """Return the regret of known choices, song by song from the definition (32)."""
    heard: dict[int, float] = {}
    regret, regrets = 0.0, []
    for number, row in enumerate(rows):
        now = clock.moment(number + 1) / 60
        since = [min(now - heard[song], MONTH) if song in heard else MONTH for song in range(3)]
        worth = [
            liking * (1 - np.exp(-minutes / recovery_time))
            for liking, minutes in zip(likings, since, strict=True)
        ]
        regret += max(worth) - worth[row]
        regrets.append(float(regret))
        heard[row] = now
    return regrets


@settings(max_examples=30)
@given(
    likings=st.tuples(*[st.floats(-5, 5)] * 3),
    recovery_time=st.floats(1.0, 5_000.0),
    clock=st.sampled_from([Clock(), EVERYDAY]),
    seed=st.integers(0, 2**32),
)
def test_the_regret_of_a_known_choice(
    likings: tuple[float, ...], recovery_time: float, clock: Clock, seed: int
) -> None:
    world = KnownWorld(likings=likings, recovery_time=recovery_time)
    trace = run_one(world, "random", run=0, seed=seed, steps=25, clock=clock)
    expected = regret_of(trace.rows.tolist(), frozen(likings), recovery_time, clock)
    np.testing.assert_allclose(trace.regret, expected, atol=1e-9)


def test_songs_that_are_all_alike_cost_nothing_while_they_are_new() -> None:
    world = KnownWorld(likings=(2.0,) * 400)
    trace = run_one(world, "bayes-ucb-cn-x", run=0, seed=1, steps=10)
    assert len(set(trace.rows.tolist())) == 10
    assert trace.regret.tolist() == [0.0] * 10


@pytest.mark.statistical
def test_random_songs_miss_the_mean_distance_to_the_best() -> None:
    likings = np.random.default_rng(3).exponential(size=5_000)
    # So quick to recover that even a song of the song before is new.
    world = KnownWorld(likings=tuple(likings.tolist()), recovery_time=0.01)
    trace = run_one(world, "random", run=0, seed=2, steps=400)
    missed = trace.best - trace.expected
    best = likings.max()
    assert stats.ttest_1samp(missed, best - likings.mean()).pvalue > FAILURE_RATE
    # Planted error: the middle song instead of the mean.
    assert stats.ttest_1samp(missed, best - np.median(likings)).pvalue < FAILURE_RATE


# ── Properties ───────────────────────────────────────────────────────────────────────────


@settings(max_examples=20)
@given(
    songs=st.integers(1, 20),
    features=st.integers(1, 5),
    noise=st.floats(0.0, 3.0),
    scale=st.sampled_from(["entries", "norm"]),
    algorithm=st.sampled_from(QUICK),
    seed=st.integers(0, 2**40),
    run=st.integers(0, 1_000),
)
def test_regret_never_falls(
    songs: int, features: int, noise: float, scale: Any, algorithm: str, seed: int, run: int
) -> None:
    world = GaussianWorld(
        songs=songs, features=features, noise_standard_deviation=noise, scale=scale
    )
    trace = run_one(world, algorithm, run=run, seed=seed, steps=12)
    assert len(trace) == 12
    assert (np.diff(trace.regret, prepend=0.0) >= 0).all()
    assert ((trace.rows >= 0) & (trace.rows < songs)).all()
    assert ((trace.elapsed >= 0) & (trace.elapsed <= MONTH)).all()
    assert (trace.choose_seconds >= 0).all()
    assert (trace.learn_seconds >= 0).all()


@given(steps=st.integers(1, 30), more=st.integers(0, 20))
@settings(max_examples=10)
def test_a_longer_run_begins_as_a_shorter_one(steps: int, more: int) -> None:
    short = run_one(SMALL, "thompson-cn-x", run=0, seed=5, steps=steps)
    long = run_one(SMALL, "thompson-cn-x", run=0, seed=5, steps=steps + more)
    assert long.rows[:steps].tolist() == short.rows.tolist()
    assert long.ratings[:steps].tolist() == short.ratings.tolist()


def test_a_run_does_not_depend_on_the_runs_beside_it() -> None:
    together = run_experiment(Experiment(world=SMALL, algorithms=QUICK, runs=3, steps=8, seed=4))
    alone = run_one(SMALL, "thompson-cn-x", run=2, seed=4, steps=8)
    kept = together.traces["thompson-cn-x"][2]
    assert kept.as_json() == alone.as_json()


# ── Common random numbers ────────────────────────────────────────────────────────────────


def noises(algorithm: str, run: int) -> Vector:
    trace = run_one(SMALL, algorithm, run=run, seed=6, steps=15)
    return np.asarray(trace.ratings - trace.expected)


@pytest.mark.parametrize("algorithm", QUICK[1:])
def test_all_algorithms_meet_the_same_songs_listener_and_noise(algorithm: str) -> None:
    np.testing.assert_allclose(noises(algorithm, 1), noises("random", 1), atol=1e-12)
    assert not np.allclose(noises(algorithm, 1), noises("random", 2))


def in_common(first: Vector, second: Vector) -> float:
    """Return the p-value of the claim that two algorithms' runs have nothing in common.

    The variance of a paired difference is below the sum of both variances exactly where the
    runs rise and fall together.
    """
    correlation = stats.pearsonr(first, second)
    assert correlation.statistic == pytest.approx(
        (first.var() + second.var() - (first - second).var()) / (2 * first.std() * second.std())
    )
    return float(correlation.pvalue)


@pytest.mark.statistical
def test_common_random_numbers_make_paired_differences_narrow() -> None:
    pair, runs = ("linucb-c", "random"), 40
    ours = run_experiment(Experiment(world=SMALL, algorithms=pair, runs=runs, steps=15, seed=7))
    first, second = (ours.regret(name)[:, -1] for name in pair)
    assert in_common(first, second) < FAILURE_RATE
    assert (first - second).var() < first.var() + second.var()
    # Planted error: each algorithm with listeners of its own.
    apart = run_experiment(Experiment(world=SMALL, algorithms=pair, runs=runs, steps=15, seed=8))
    assert in_common(first, apart.regret("random")[:, -1]) > FAILURE_RATE


# ── Any number of processes ──────────────────────────────────────────────────────────────


def test_workers_change_nothing_to_the_last_bit() -> None:
    experiment = Experiment(
        world=GaussianWorld(songs=60, features=5), algorithms=QUICK, runs=3, steps=12, seed=9
    )
    alone = shown(run_experiment(experiment, workers=1))
    assert shown(run_experiment(experiment, workers=2)) == alone
    # Planted error: one seed further on, nothing is equal.
    other = Experiment(world=experiment.world, algorithms=QUICK, runs=3, steps=12, seed=10)
    assert shown(run_experiment(other)) != alone


def test_the_progress_counts_every_task() -> None:
    heard: list[tuple[int, int]] = []
    experiment = Experiment(world=SMALL, algorithms=("random", "linucb-c"), runs=2, steps=2)
    run_experiment(experiment, on_done=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_tasks_are_all_runs_of_all_algorithms() -> None:
    experiment = Experiment(world=SMALL, algorithms=("random", "linucb-c"), runs=2, steps=2, seed=3)
    named = [(task["run"], task["algorithm"]) for task in experiment.tasks]
    assert named == [(0, "random"), (0, "linucb-c"), (1, "random"), (1, "linucb-c")]
    assert {(task["seed"], task["steps"]) for task in experiment.tasks} == {(3, 2)}


# ── What is refused ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": 0}, "runs must be a whole number of at least 1, got 0"),
        ({"steps": 0}, "steps must be a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"runs": 1.5}, r"runs must be a whole number .* got 1\.5"),
        ({"algorithms": ()}, "at least one algorithm, got none"),
        ({"algorithms": ("random", "lucky")}, "algorithm must be one of .*, got 'lucky'"),
        ({"algorithms": ("random", "random")}, "algorithms must differ, got 'random' twice"),
    ],
)
def test_experiments_that_say_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"world": SMALL, "algorithms": ("random",), "runs": 2, "steps": 3}
    with pytest.raises(InvalidInputError, match=message):
        Experiment(**{**usual, **changes})
