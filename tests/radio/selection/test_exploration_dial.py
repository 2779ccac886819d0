import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from bandstand.core.policies import BayesUcb, Greedy
from bandstand.core.registry import SOUND_ALGORITHMS
from bandstand.errors import InvalidInputError
from bandstand.radio.log.fold import fold
from bandstand.radio.selection.exploration_dial import level, policy_with
from tests.fixtures.radio.catalogues import model, rated, shelf, song_id
from tests.fixtures.radio.logs import MINUTE, Log

# How often a dial that does nothing would pass.
FAILURE_RATE = 0.001
SONGS, COLUMNS, ANSWERS = 120, 12, 80
SPACED = 6 * 60 * MINUTE
dials = st.floats(-1, 1)
steps = st.integers(2, 10**9)


@given(step=steps)
def test_the_middle_of_the_dial_is_the_papers_level(step: int) -> None:
    assert level(step, 0.0) == BayesUcb().level_at(step)
    assert level(1, 0.5) is None


@given(step=steps, one=dials, other=dials)
def test_the_level_rises_with_the_dial(step: int, one: float, other: float) -> None:
    low, high = (level(step, dial) for dial in sorted([one, other]))
    assert low is not None
    assert high is not None
    assert 0.5 - 1e-12 <= low <= high <= 1 - 1e-6


def test_the_ends_of_the_dial() -> None:
    assert level(2, -1.0) == pytest.approx(0.5)
    assert level(10**6, -1.0) == pytest.approx(0.5)
    assert level(2, 1.0) == pytest.approx(0.9772, abs=1e-4)  # two deviations above the median
    assert level(10**6, 1.0) == 1 - 1e-6


@pytest.mark.parametrize("dial", [-1.01, 1.01, float("nan"), float("inf")])
def test_a_dial_has_ends(dial: float) -> None:
    with pytest.raises(InvalidInputError, match="between -1 and 1"):
        level(5, dial)


def test_policies_without_a_quantile_have_no_dial() -> None:
    assert policy_with(Greedy(), step=9, dial=0.5) == Greedy()
    assert policy_with(BayesUcb(), step=1, dial=0.5) == BayesUcb()
    assert policy_with(BayesUcb(), step=9, dial=0.0) == BayesUcb()
    assert policy_with(BayesUcb(), step=9, dial=-1.0) == BayesUcb(level=level(9, -1.0))


def test_the_dial_moves_around_a_fixed_level() -> None:
    fixed = BayesUcb(level=0.7)
    assert level(1, 0.0, fixed) == level(900, 0.0, fixed) == 0.7
    assert level(9, -1.0, fixed) == pytest.approx(0.5)
    assert level(9, 1.0, fixed) == pytest.approx(ndtr(ndtri(0.7) + 2))
    assert policy_with(fixed, step=9, dial=0.0) is fixed
    assert policy_with(fixed, step=9, dial=1.0) == BayesUcb(level=level(9, 1.0, fixed))


@pytest.mark.parametrize("algorithm", sorted(set(SOUND_ALGORITHMS) - {"bayes-ucb-cn"}))
def test_only_algorithms_with_a_quantile_name_a_level(algorithm: str) -> None:
    one = model(shelf(), rated(range(8)), algorithm=algorithm)
    chosen = one.next(now=10**13, dial=0.5)
    has_quantile = algorithm.startswith("bayes-ucb")
    assert chosen.level == (level(9, 0.5) if has_quantile else None)
    if not has_quantile:
        assert one.next(now=10**13, dial=-1.0).row == chosen.row


# ── What it does to the music ────────────────────────────────────────────────────────────


class Listener:
    """Somebody with a taste, to whom a song is new again after a day or two."""

    def __init__(self, seed: int) -> None:
        self.on = shelf(SONGS, COLUMNS, seed=seed)
        self.rng = np.random.default_rng(seed)
        assert self.on.sound is not None
        taste = self.on.sound.song_features.features[:, :-1] @ self.rng.normal(size=COLUMNS)
        self.liking = 3.5 + taste / np.sqrt(COLUMNS)

    def stars(self, row: int, minutes_since_heard: float) -> int:
        heard = self.liking[row] * -np.expm1(-minutes_since_heard / (1.5 * 1_440))
        return int(np.clip(round(heard + 0.5 * self.rng.normal()), 1, 5))

    def past(self) -> Log:
        """Return two weeks of songs, half of them heard again after hours or days."""
        log = Log()
        heard_at: dict[int, int] = {}
        for _ in range(ANSWERS):
            log.clock += int(self.rng.choice([5, 60, 600])) * MINUTE
            again = heard_at and self.rng.random() < 0.5
            row = int(self.rng.choice(list(heard_at)) if again else self.rng.integers(SONGS))
            since = (log.clock - heard_at.get(row, -(10**12))) / MINUTE
            log.add("rating", song_id(row), after=0, stars=self.stars(row, since))
            heard_at[row] = log.clock
        return log


def share_of_new_songs(dial: float, seed: int, *, is_newcomer: bool = False) -> float:
    """Return how many of a listener's next songs, at most the last 40, had never been heard."""
    listener = Listener(seed)
    log, new = Log() if is_newcomer else listener.past(), []
    one = model(listener.on, log, seed=seed)
    for _ in range(70 if is_newcomer else 24):
        chosen = one.next(now=log.clock + SPACED, dial=dial)
        since = chosen.minutes_since_heard
        new.append(since is None)
        stars = listener.stars(chosen.row, 10**9 if since is None else since)
        log.add("rating", chosen.song, after=SPACED, stars=stars)
        one = one.follow(fold(log.events))
    return float(np.mean(new[-40:]))


def check_order(shares: list[tuple[float, float, float]]) -> None:
    """Check that of each listener's shares, at dials in rising order, the last is the largest.

    If the dial did nothing, the two ends of one listener would be as likely in either order: all
    of them right has a chance of 2^−listeners, which is below FAILURE_RATE.
    """
    assert 2.0 ** -len(shares) < FAILURE_RATE
    assert all(low < high for low, _, high in shares)
    for one, other in itertools.pairwise(np.mean(shares, axis=0).tolist()):
        assert one < other


@pytest.fixture(scope="module")
def shares() -> list[tuple[float, float, float]]:
    found = [[share_of_new_songs(dial, seed) for dial in (-1.0, 0.0, 1.0)] for seed in range(10)]
    return [(low, middle, high) for low, middle, high in found]


@pytest.mark.statistical
def test_the_further_the_dial_the_more_new_songs(shares: list[tuple[float, float, float]]) -> None:
    check_order(shares)


@pytest.mark.statistical
def test_a_dial_that_turns_the_other_way_would_be_noticed(
    shares: list[tuple[float, float, float]],
) -> None:
    with pytest.raises(AssertionError):
        check_order([(high, middle, low) for low, middle, high in shares])
