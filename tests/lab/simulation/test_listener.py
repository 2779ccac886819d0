"""Simulated listeners: what they feel, what they answer, and how they are drawn."""

from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstand.core.model.history import Songs
from bandstand.errors import InvalidInputError
from bandstand.types import Vector, frozen
from bandstand_lab.simulation.listener import (
    LONGEST_RECOVERY,
    SHORTEST_RECOVERY,
    Listener,
    SimulatedListener,
    StarListener,
)

FAILURE_RATE: Final = 1e-4
MONTH: Final = 43_200.0

numbers = st.floats(-5, 5)
recovery_times = st.floats(1.0, 5_000.0)
noises = st.floats(0.0, 3.0)


def listener_of(
    *preference: float, recovery_time: float = 300.0, noise: float = 0.5
) -> SimulatedListener:
    return SimulatedListener(
        preference=frozen(preference), recovery_time=recovery_time, noise_standard_deviation=noise
    )


def star_listener_of(*preference: float, noise: float = 0.5) -> StarListener:
    return StarListener(feeling=listener_of(*preference, noise=noise))


# ── What is felt ─────────────────────────────────────────────────────────────────────────


@given(a=numbers, b=numbers, recovery_time=recovery_times, elapsed=st.floats(0, MONTH))
def test_the_expected_rating_is_liking_times_novelty(
    a: float, b: float, recovery_time: float, elapsed: float
) -> None:
    listener = listener_of(a, b, recovery_time=recovery_time)
    songs = Songs.of(features=[[1.0, 2.0]], elapsed=elapsed)
    with np.errstate(all="raise"):
        (expected,) = listener.expected_rating(songs)
    assert listener.liking(songs.features)[0] == pytest.approx(a + 2 * b)
    assert expected == pytest.approx((a + 2 * b) * (1 - np.exp(-elapsed / recovery_time)))


def test_a_song_just_heard_is_worth_nothing() -> None:
    songs = Songs.of(features=[[1.0], [3.0]], elapsed=0.0)
    assert listener_of(4.0).expected_rating(songs).tolist() == [0.0, 0.0]
    assert star_listener_of(4.0, noise=0.0).rate(songs, np.random.default_rng(0)).tolist() == [1, 1]


def test_nothing_is_said_about_no_songs() -> None:
    songs = Songs.of(features=np.zeros((0, 1)), elapsed=np.zeros(0))
    for listener in (listener_of(1.0), star_listener_of(1.0)):
        assert listener.expected_rating(songs).shape == (0,)
        assert listener.rate(songs, np.random.default_rng(0)).shape == (0,)


# ── What is answered ─────────────────────────────────────────────────────────────────────


@given(felt=st.floats(-1e3, 1e3), noise=noises, seed=st.integers(0, 2**32))
def test_stars_are_whole_and_between_one_and_five(felt: float, noise: float, seed: int) -> None:
    listener = star_listener_of(felt, noise=noise)
    songs = Songs.of(features=[[1.0]], elapsed=MONTH)
    with np.errstate(all="raise"):
        (stars,) = listener.rate(songs, np.random.default_rng(seed))
        (expected,) = listener.expected_rating(songs)
    assert stars in {1, 2, 3, 4, 5}
    assert 1 <= expected <= 5


@pytest.mark.parametrize(
    ("felt", "stars"), [(-3.0, 1), (1.4, 1), (1.6, 2), (3.2, 3), (4.4, 4), (4.6, 5), (9.0, 5)]
)
def test_without_noise_what_is_felt_is_rounded(felt: float, stars: int) -> None:
    listener = star_listener_of(felt, noise=0.0)
    songs = Songs.of(features=[[1.0]], elapsed=MONTH)
    assert listener.rate(songs, np.random.default_rng(0)) == [stars]
    assert listener.expected_rating(songs) == [stars]


@given(felt=st.floats(-2, 8), noise=st.floats(0.05, 3.0))
def test_the_expected_stars_are_the_mean_over_the_noise(felt: float, noise: float) -> None:
    songs = Songs.of(features=[[1.0]], elapsed=MONTH)
    (expected,) = star_listener_of(felt, noise=noise).expected_rating(songs)
    shares = np.diff(stats.norm.cdf([-np.inf, 1.5, 2.5, 3.5, 4.5, np.inf], felt, noise))
    assert expected == pytest.approx(shares @ [1, 2, 3, 4, 5], abs=1e-12)


@given(a=numbers, noise=noises, seed=st.integers(0, 2**32))
def test_the_same_noise_is_added_whatever_the_song(a: float, noise: float, seed: int) -> None:
    listener = listener_of(a, noise=noise)
    errors = []
    for features, elapsed in (([[1.0]], 10.0), ([[-2.0]], MONTH)):
        songs = Songs.of(features=features, elapsed=elapsed)
        rating = listener.rate(songs, np.random.default_rng(seed))
        errors.append(float((rating - listener.expected_rating(songs))[0]))
    assert errors[0] == pytest.approx(errors[1], abs=1e-12)


def mean_p_value(listener: Listener, claimed: Vector, songs: Songs) -> float:
    """Return the smallest p-value of the claim that answers have these means."""
    rng = np.random.default_rng(1)
    answers = np.stack([listener.rate(songs, rng) for _ in range(4_000)])
    return float(np.min(stats.ttest_1samp(answers, claimed).pvalue))


@pytest.mark.statistical
@pytest.mark.parametrize("listener", [listener_of(1.0, 3.0), star_listener_of(1.0, 3.0)])
def test_answers_average_to_the_expected_rating(listener: Listener) -> None:
    songs = Songs.of(features=[[0.1, 1.0], [0.5, 1.0], [1.3, 1.0]], elapsed=[MONTH, 200.0, 30.0])
    expected = listener.expected_rating(songs)
    assert mean_p_value(listener, expected, songs) > FAILURE_RATE / 3
    # Planted error: noise that is not centred.
    assert mean_p_value(listener, expected + 0.1, songs) < FAILURE_RATE / 3


# ── How they are drawn ───────────────────────────────────────────────────────────────────


def law_p_value(listeners: list[SimulatedListener], scale: float = 1.0) -> float:
    """Return the smaller p-value of θ ~ N(0, I) and s ~ U(100, 1000)."""
    preferences = np.concatenate([listener.preference for listener in listeners])
    times = [listener.recovery_time for listener in listeners]
    length = LONGEST_RECOVERY - SHORTEST_RECOVERY
    return min(
        float(stats.kstest(scale * preferences, "norm").pvalue),
        float(stats.kstest(times, stats.uniform(SHORTEST_RECOVERY, length).cdf).pvalue),
    )


@pytest.mark.statistical
def test_listeners_are_drawn_as_in_the_paper() -> None:
    rng = np.random.default_rng(2)
    listeners = [SimulatedListener.drawn(5, rng) for _ in range(400)]
    assert law_p_value(listeners) > FAILURE_RATE / 2
    # Planted error: a standard deviation where a variance of a half was meant.
    assert law_p_value(listeners, scale=np.sqrt(0.5)) < FAILURE_RATE / 2


@given(columns=st.integers(2, 30), seed=st.integers(0, 2**32))
def test_star_listeners_find_a_standardised_catalogue_worth_three_stars(
    columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    listener = StarListener.drawn(columns, rng)
    taste = listener.feeling.preference
    assert SHORTEST_RECOVERY <= listener.feeling.recovery_time <= LONGEST_RECOVERY
    assert taste[-1] == pytest.approx(3.0)
    assert np.linalg.norm(taste[:-1]) == pytest.approx(0.85)


def test_the_same_seed_draws_the_same_listener() -> None:
    one, other = (StarListener.drawn(4, np.random.default_rng(3)).feeling for _ in range(2))
    assert one.preference.tolist() == other.preference.tolist()
    assert one.recovery_time == other.recovery_time


# ── What is refused ──────────────────────────────────────────────────────────────────────


def test_songs_with_other_features_are_refused() -> None:
    songs = Songs.of(features=[[1.0, 2.0]], elapsed=MONTH)
    with pytest.raises(InvalidInputError, match=r"must have 1 features .*, got 2"):
        listener_of(1.0).rate(songs, np.random.default_rng(0))


@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf])
def test_noise_must_be_a_size(value: float) -> None:
    with pytest.raises(InvalidInputError, match="noise_standard_deviation must be"):
        listener_of(1.0, noise=value)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_a_recovery_time_must_be_positive(value: float) -> None:
    with pytest.raises(InvalidInputError, match="recovery_time must be positive"):
        listener_of(1.0, recovery_time=value)


def test_a_preference_must_be_finite() -> None:
    with pytest.raises(InvalidInputError, match="one finite number per feature"):
        listener_of(1.0, np.nan)
