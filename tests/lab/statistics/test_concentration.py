"""The distance between two spreads of plays: closed forms, a metric, the best of all pairings."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand_lab.statistics.concentration import (
    profile_distance,
    ranked_shares,
    share_if_equal,
    share_of_most_played,
)

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any)
FEW = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any)


@given(COUNTS)
def test_shares_sum_to_one_and_fall(counts: list[int]) -> None:
    shares = ranked_shares(counts)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(shares) <= 0).all()


@given(COUNTS, st.integers(1, 1_000), st.randoms(use_true_random=False))
def test_equal_profiles_have_no_distance_whatever_songs_are_called(
    counts: list[int], times: int, random: object
) -> None:
    mixed = [times * count for count in counts]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert profile_distance(counts, [*mixed, 0, 0]) == pytest.approx(0.0, abs=1e-12)


@given(COUNTS, COUNTS, COUNTS)
def test_the_distance_is_a_metric(one: list[int], two: list[int], three: list[int]) -> None:
    assert profile_distance(one, two) == pytest.approx(profile_distance(two, one))
    detour = profile_distance(one, three) + profile_distance(three, two)
    assert profile_distance(one, two) <= detour + 1e-12
    assert 0 <= profile_distance(one, two) < 1


@given(FEW, FEW)
def test_no_pairing_of_songs_gives_a_smaller_distance(one: list[int], two: list[int]) -> None:
    first, second = np.array(one) / sum(one), np.array(two) / sum(two)
    best = min(
        float(np.abs(first - second[list(order)]).sum() / 2) for order in permutations(range(4))
    )
    assert profile_distance(one, two) == pytest.approx(best, abs=1e-12)


def test_a_distance_without_sorting_would_depend_on_the_names_of_songs() -> None:
    unsorted = np.abs(np.array([0.75, 0.25]) - np.array([0.25, 0.75])).sum() / 2
    assert unsorted == 0.5
    assert profile_distance([3, 1], [1, 3]) == 0.0


@given(st.integers(1, 400), st.integers(1, 400))
def test_equal_plays_of_few_and_of_many_songs_differ_by_what_the_few_lack(
    few: int, many: int
) -> None:
    few, many = sorted((few, many))
    assert profile_distance(np.ones(few), np.ones(many)) == pytest.approx(1 - few / many, abs=1e-12)


@pytest.mark.parametrize("counts", [[], [0, 0], [-1, 2], [np.nan], [[1, 2]]])
def test_no_plays_and_no_counts_are_refused(counts: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="plays of each song"):
        ranked_shares(counts)


@pytest.mark.parametrize("counts", [[1e300, 1e300], [1e-300], [1.0, 1e-300]])
def test_counts_of_any_size_are_held(counts: list[float]) -> None:
    with np.errstate(all="raise"):
        assert ranked_shares(counts).sum() == pytest.approx(1.0)


@pytest.mark.statistical
@pytest.mark.parametrize("plays", [500, 2_000, 10_000])
def test_the_favourites_of_equal_plays_are_as_simulated(plays: int) -> None:
    rng = np.random.default_rng(plays)
    counts = rng.multinomial(plays, np.full(1_000, 1e-3), size=200)
    shares = [share_of_most_played(each) for each in counts]
    expected = [share_if_equal(plays, int((each > 0).sum())) for each in counts]
    error = np.std(np.subtract(shares, expected)) / np.sqrt(200)
    # Which songs are in the last place of the fifth is a matter of rounding: half a song's plays.
    assert abs(np.mean(shares) - np.mean(expected)) < 4 * error + 0.002
    # The planted error: exactly equal plays, without the luck of some.
    assert np.mean(shares) > 0.2 + 4 * error + 0.002


@given(st.integers(1, 500), st.integers(0, 100_000))
def test_a_fifth_of_the_songs_has_at_least_a_fifth_of_the_plays(songs: int, more: int) -> None:
    with np.errstate(all="raise"):
        share = share_if_equal(songs + more, songs)
    assert 0.2 - 1e-9 <= share < 1
    assert share == pytest.approx(0.2) if not more else share > 0.2


def test_fewer_plays_than_songs_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="as many plays as songs"):
        share_if_equal(3, 4)
