import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import History, Songs
from bandstand.errors import InvalidInputError
from tests.fixtures.simulated_listeners import simulated_history


@given(seed=st.integers(0, 1_000), count=st.integers(0, 40))
def test_a_history_returns_what_it_was_given(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    whole = simulated_history(rng, count=count, columns=2, weighted=True)
    history = History.empty(2)
    for row in range(count):
        history = history.append(
            features=whole.features[row],
            elapsed=float(whole.elapsed[row]),
            rating=float(whole.ratings[row]),
            weight=float(whole.weights[row]),
        )
    for column in ("features", "elapsed", "ratings", "weights"):
        assert (getattr(history, column) == getattr(whole, column)).all()


def test_histories_that_grow_from_the_same_one_do_not_see_each_other() -> None:
    start = History.empty(1).append(features=[1.0], elapsed=1.0, rating=1.0)
    one = start.append(features=[2.0], elapsed=2.0, rating=2.0)
    other = start.append(features=[3.0], elapsed=3.0, rating=3.0)
    assert start.ratings.tolist() == [1.0]
    assert one.ratings.tolist() == [1.0, 2.0]
    assert other.ratings.tolist() == [1.0, 3.0]
    assert one.continues(start)
    assert not other.continues(one)


def test_a_history_continues_what_it_grew_from_also_in_another_room() -> None:
    earlier = [simulated_history(np.random.default_rng(0), count=3, columns=2)]
    for number in range(70):  # the rows move several times
        earlier.append(earlier[-1].append(features=[1.0, 2.0], elapsed=1.0, rating=number))
    assert all(earlier[-1].continues(each) for each in earlier)
    branch = earlier[20].append(features=[1.0, 2.0], elapsed=1.0, rating=-1.0)
    assert branch.continues(earlier[20])
    assert not branch.continues(earlier[21])
    assert not earlier[-1].continues(branch)
    assert not earlier[20].continues(earlier[-1])


def test_rows_of_weight_zero_say_nothing() -> None:
    history = History.of(
        features=[[1.0], [2.0]], elapsed=[1.0, 2.0], ratings=[4.0, 5.0], weights=[0.0, 0.5]
    )
    assert history.ratings.tolist() == [5.0]
    assert len(history.append(features=[1.0], elapsed=1.0, rating=1.0, weight=0.0)) == 1


def test_an_answer_can_be_taken_out() -> None:
    history = simulated_history(np.random.default_rng(0), count=5, columns=2)
    shorter = history.without(2)
    assert shorter.ratings.tolist() == history.ratings[[0, 1, 3, 4]].tolist()
    with pytest.raises(InvalidInputError, match="between 0 and 4, got 5"):
        history.without(5)


def test_nobody_can_change_what_was_said() -> None:
    history = simulated_history(np.random.default_rng(0), count=3, columns=2)
    with pytest.raises(ValueError, match="read-only"):
        history.ratings[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        Songs.of(features=[[1.0]], elapsed=1.0).features[0, 0] = 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": [[np.nan]]}, "features must be finite .* got nan in row 0; standardise"),
        ({"features": [[1.0], [np.inf]], "elapsed": 1.0, "ratings": [1, 2]}, "inf in row 1"),
        ({"features": [[1e150]]}, "at most 1e\\+06 in size, got 1e\\+150"),
        ({"features": [1.0]}, "one row per song, got 1 dimension"),
        ({"features": [[]]}, "at least one feature, got none"),
        ({"features": [["loud"]]}, "features must be numbers .* got \\[\\['loud'\\]\\]"),
        ({"features": [[1.0], [2.0, 3.0]]}, "rows of equal length"),
        ({"elapsed": -1.0}, "elapsed minutes must not be negative, got -1.0 in row 0"),
        ({"elapsed": [1.0, 2.0]}, "one number per song \\(1\\), got shape \\(2,\\)"),
        ({"elapsed": np.nan}, "elapsed minutes must be finite"),
        ({"ratings": [np.inf]}, "ratings must be finite"),
        ({"ratings": [1.0, 2.0]}, "ratings must be one number per song \\(1\\)"),
        ({"weights": [-0.5]}, "weights must not be negative, got -0.5 in row 0"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"features": [[1.0]], "elapsed": 1.0, "ratings": [1.0]}
    with pytest.raises(InvalidInputError, match=message):
        History.of(**(good | arguments))  # type: ignore[arg-type]


def test_an_answer_with_other_features_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="2 features as before, got 3"):
        History.empty(2).append(features=[1.0, 2.0, 3.0], elapsed=1.0, rating=1.0)


def test_histories_are_joined_and_cut() -> None:
    rng = np.random.default_rng(3)
    one, other = (simulated_history(rng, count=count, columns=3) for count in (5, 4))
    both = one.extended(other)
    assert both.ratings.tolist() == [*one.ratings, *other.ratings]
    assert both.first(5).features.tolist() == one.features.tolist()
    assert both.continues(both.first(2))
    assert one.extended(History.empty(3)) is one
    assert len(one) == 5
    with pytest.raises(InvalidInputError, match="must have 3 features as before, got 2"):
        one.extended(History.empty(2))
    for count in (-1, 10):
        with pytest.raises(InvalidInputError, match=f"between 0 and 9, got {count}"):
            both.first(count)
