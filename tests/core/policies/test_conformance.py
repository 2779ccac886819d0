"""What every policy promises, one suite for all of them. A new policy joins by one line."""

from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

from bandstand.core.model.candidates import Choice, allowed_of, best_rows
from bandstand.core.model.prediction import Prediction
from bandstand.core.policies import (
    BayesUcb,
    Greedy,
    LinUcb,
    Policy,
    Thompson,
    Uniform,
)
from bandstand.types import Indices, Vector
from tests.fakes.predictions import BlindPrediction, flat_prediction, normal_prediction

FAILURE_RATE: Final = 1e-4

POLICIES: Final[dict[str, Policy]] = {
    "bayes-ucb": BayesUcb(),
    "bayes-ucb at a fixed level": BayesUcb(level=0.9),
    "thompson": Thompson(),
    "greedy": Greedy(),
    "lin-ucb": LinUcb(exploration=0.7),
    "uniform": Uniform(),
}
every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
# Those that order songs which they cannot tell apart, rather than draw.
every_ordering_policy = pytest.mark.parametrize(
    "policy", [POLICIES[name] for name in POLICIES if name != "uniform"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SometimesTheFirstRow:
    """A planted error: uniform, but for one choice in ten that is the first row."""

    def scores(self, prediction: Prediction, *, step: int, rng: np.random.Generator) -> Vector:
        del step
        drawn = rng.random(len(prediction))
        drawn[0] += rng.random() < 0.1
        return drawn

    def choose(
        self,
        prediction: Prediction,
        *,
        step: int,
        rng: np.random.Generator,
        count: int,
        allowed: Choice,
    ) -> Indices:
        rows = allowed_of(allowed, len(prediction)).rows()
        return best_rows(self.scores(prediction, step=step, rng=rng), count, rows)


def chosen(
    policy: Policy, prediction: Prediction, *, step: int, seed: int, count: int = 1
) -> Indices:
    rng, allowed = np.random.default_rng(seed), np.arange(len(prediction))
    return policy.choose(prediction, step=step, rng=rng, count=count, allowed=allowed)


def first_choices(policy: Policy, prediction: Prediction, *, step: int, seeds: range) -> Vector:
    """Return how often each song comes first."""
    first = [chosen(policy, prediction, step=step, seed=seed)[0] for seed in seeds]
    return np.bincount(first, minlength=len(prediction)).astype(np.float64)


def uniformity(counts: Vector) -> float:
    """Return the p-value of the chi-square test that all songs have the same chance."""
    expected = counts.sum() / len(counts)
    statistic = np.square(counts - expected).sum() / expected
    return float(chdtrc(len(counts) - 1, statistic))


# ── What comes back ──────────────────────────────────────────────────────────────────────


@every_policy
@given(
    size=st.integers(1, 12),
    count=st.integers(0, 15),
    step=st.integers(1, 10**9),
    seed=st.integers(0, 2**32),
    known=st.booleans(),
    data=st.data(),
)
def test_a_choice_is_as_many_different_allowed_rows_as_asked_for_or_all(
    policy: Policy, *, size: int, count: int, step: int, seed: int, known: bool, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, size - 1), unique=True))
    allowed = np.array(rows, dtype=np.intp)
    prediction = normal_prediction(seed, size) if known else BlindPrediction(size=size)
    with np.errstate(all="raise"):
        choice = policy.choose(
            prediction, step=step, rng=np.random.default_rng(seed), count=count, allowed=allowed
        )
    assert len(choice) == min(count, len(allowed))
    assert len(set(choice.tolist())) == len(choice)
    assert set(choice.tolist()) <= set(rows)


@every_policy
@given(
    size=st.integers(0, 12),
    step=st.integers(1, 10**9),
    seed=st.integers(0, 99),
    known=st.booleans(),
)
def test_every_song_has_a_finite_score(
    policy: Policy, *, size: int, step: int, seed: int, known: bool
) -> None:
    prediction = normal_prediction(seed, size) if known else BlindPrediction(size=size)
    with np.errstate(all="raise"):
        scores = policy.scores(prediction, step=step, rng=np.random.default_rng(seed))
    assert scores.shape == (size,)
    assert np.isfinite(scores).all()


@every_policy
@given(step=st.integers(1, 100), seed=st.integers(0, 2**32), known=st.booleans())
def test_a_choice_is_what_the_scores_say(
    policy: Policy, *, step: int, seed: int, known: bool
) -> None:
    prediction = normal_prediction(seed, 9) if known else BlindPrediction(size=9)
    scores = policy.scores(prediction, step=step, rng=np.random.default_rng(seed))
    by_scores = best_rows(scores, 9, np.arange(9))
    assert chosen(policy, prediction, step=step, seed=seed, count=9).tolist() == by_scores.tolist()


@every_ordering_policy
def test_of_equal_songs_the_smallest_row_comes_first(policy: Policy) -> None:
    assert chosen(policy, flat_prediction(6), step=5, seed=1, count=4).tolist() == [0, 1, 2, 3]


# ── No song is preferred for its place ───────────────────────────────────────────────────


@every_ordering_policy
@given(seed=st.integers(0, 2**32), step=st.integers(2, 100), order=st.permutations(range(7)))
def test_songs_in_another_order_are_the_same_choice(
    policy: Policy, seed: int, step: int, order: list[int]
) -> None:
    rows = np.array(order, dtype=np.intp)
    prediction = normal_prediction(seed, 7)
    before = chosen(policy, prediction, step=step, seed=seed, count=7)
    after = chosen(policy, prediction.permuted(rows), step=step, seed=seed, count=7)
    assert rows[after].tolist() == before.tolist()


# ── The first song ───────────────────────────────────────────────────────────────────────


def is_uniform(policy: Policy, prediction: Prediction, *, step: int) -> bool:
    counts = first_choices(policy, prediction, step=step, seeds=range(3_000))
    return uniformity(counts) >= FAILURE_RATE


@pytest.mark.statistical
@every_policy
def test_the_first_song_is_a_uniform_draw(policy: Policy) -> None:
    assert is_uniform(policy, normal_prediction(5, 8), step=1)


@pytest.mark.statistical
@every_policy
def test_where_nothing_is_known_every_song_has_the_same_chance(policy: Policy) -> None:
    assert is_uniform(policy, BlindPrediction(size=8), step=7)


@pytest.mark.statistical
def test_a_preference_for_the_first_row_is_not_taken_for_uniform() -> None:
    assert not is_uniform(SometimesTheFirstRow(), BlindPrediction(size=8), step=1)


@pytest.mark.statistical
@every_policy
def test_a_whole_first_list_is_a_uniform_draw_of_all_orders(policy: Policy) -> None:
    orders = dict.fromkeys(permutations(range(3)), 0)
    for seed in range(1_200):
        first, second, third = chosen(
            policy, normal_prediction(5, 3), step=1, seed=seed, count=3
        ).tolist()
        orders[first, second, third] += 1
    assert uniformity(np.array(list(orders.values()), dtype=np.float64)) >= FAILURE_RATE
