import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet, allowed_of, best_rows

counts = st.integers(1, 60)
# Few different values, so that ties are common.
scores_with_ties = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 7.0]), min_size=1)


@given(data=st.data(), count=counts)
def test_whatever_is_put_together_is_the_same_set_asked_one_by_one_or_as_a_list(
    data: st.DataObject, count: int
) -> None:
    rows = st.lists(st.integers(0, count - 1), max_size=count)
    start = data.draw(st.sampled_from(["everything", "only", "marked"]))
    listed, mask = data.draw(rows), np.array(data.draw(st.lists(st.booleans(), min_size=count)))
    mask = mask[:count]
    allowed, expected = {
        "everything": lambda: (CandidateSet.everything(count), set(range(count))),
        "only": lambda: (CandidateSet.only(listed, count), set(listed)),
        "marked": lambda: (CandidateSet.marked(mask), set(np.flatnonzero(mask).tolist())),
    }[start]()
    for excluded in data.draw(st.lists(rows, max_size=3)):
        allowed, expected = allowed.without(excluded), expected - set(excluded)
    if data.draw(st.booleans()):
        allowed, expected = allowed.where(lambda some: some % 3 > 0), {r for r in expected if r % 3}
    everything = np.arange(count)
    assert allowed.rows().tolist() == sorted(expected)
    assert everything[allowed.contains(everything)].tolist() == sorted(expected)
    assert len(expected) <= allowed.upper_count <= count


def test_a_test_is_asked_about_no_other_rows_than_those_that_matter() -> None:
    asked: list[int] = []

    def test(rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> np.ndarray:
        asked.extend(rows.tolist())
        return rows > 1

    allowed = CandidateSet.everything(1_000_000).where(test)
    assert allowed.contains(np.array([7, 0])).tolist() == [True, False]
    assert asked == [7, 0]


def test_a_plain_list_of_rows_is_taken_in_any_order_and_doubled_ones_once() -> None:
    assert allowed_of(np.array([4, 1, 4]), 6).rows().tolist() == [1, 4]
    assert allowed_of(np.array([], dtype=np.intp), 6).upper_count == 0


def test_nothing_is_allowed_of_nothing() -> None:
    assert not CandidateSet.everything(0).rows().size
    assert not CandidateSet.only([], 3).contains(np.arange(3)).any()


@given(scores_with_ties, st.integers(0, 12), st.data())
def test_the_best_rows_are_those_of_a_full_sort_whatever_the_ties(
    values: list[float], count: int, data: st.DataObject
) -> None:
    allowed = data.draw(st.lists(st.integers(0, len(values) - 1), unique=True))
    best = best_rows(np.array(values), count, np.array(allowed, dtype=np.intp))
    assert best.tolist() == sorted(allowed, key=lambda row: (-values[row], row))[:count]
