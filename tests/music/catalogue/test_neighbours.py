"""The nearest songs are those of double precision, whatever single precision makes of them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bandstand.errors import InvalidInputError
from bandstand.music.catalogue import neighbours
from bandstand.music.catalogue.neighbours import Neighbours, nearest

if TYPE_CHECKING:
    from bandstand.music.catalogue.matrix import Features
    from bandstand.types import AnyArray, Vector

seeds = st.integers(0, 2**32)
shapes = st.tuples(st.integers(1, 40), st.integers(1, 6))
any_floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
few_values = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 1e-45, 1e38])


def brute_force(features: Features, point: Vector, count: int, barred: list[int]) -> Neighbours:
    """Return what all distances in double precision say."""
    apart = features.astype(np.float64) - point
    with np.errstate(under="ignore"):
        distances = np.sqrt(np.square(apart).sum(axis=1))
    rows = np.array([row for row in range(len(features)) if row not in barred], dtype=np.intp)
    rows = rows[np.lexsort((rows, distances[rows]))[:count]]
    return Neighbours(rows=rows, distances=distances[rows])


def check(features: Features, query: int | AnyArray, count: int, exclude: list[int]) -> None:
    with np.errstate(all="raise"):
        found = nearest(features, query, count, exclude=exclude)
    own = [query] if isinstance(query, int) else []
    point = features[query].astype(np.float64) if isinstance(query, int) else query
    expected = brute_force(features, point, count, [*exclude, *own])
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.distances.tolist() == expected.distances.tolist()


@pytest.fixture(params=[1, 64, 1 << 18], autouse=True, scope="module")
def _blocks_of_any_size(request: pytest.FixtureRequest) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "_BLOCK_BYTES", request.param)
        yield


@given(data=st.data(), elements=st.sampled_from([any_floats, few_values]))
def test_the_neighbours_of_any_song_are_those_of_double_precision(
    data: st.DataObject, elements: st.SearchStrategy[float]
) -> None:
    features = data.draw(arrays.arrays(np.float32, shapes, elements=elements))
    rows = st.integers(0, len(features) - 1)
    check(features, data.draw(rows), data.draw(st.integers(0, 50)), data.draw(st.lists(rows)))


@given(data=st.data(), elements=st.sampled_from([any_floats, few_values]))
def test_the_neighbours_of_any_point_are_those_of_double_precision(
    data: st.DataObject, elements: st.SearchStrategy[float]
) -> None:
    features = data.draw(arrays.arrays(np.float32, shapes, elements=elements))
    largest = float(np.finfo(np.float32).max)
    points = arrays.arrays(
        np.float64, features.shape[1], elements=st.floats(-largest, largest, allow_nan=False)
    )
    rows = st.lists(st.integers(0, len(features) - 1))
    check(features, data.draw(points), data.draw(st.integers(0, 50)), data.draw(rows))


@settings(max_examples=60)
@given(
    seed=seeds,
    songs=st.integers(1, 400),
    columns=st.integers(1, 40),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e7, 1e30]),
    spread=st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 1e3]),
    count=st.integers(1, 30),
)
def test_songs_that_lie_together_far_from_the_origin_are_told_apart(
    seed: int, songs: int, columns: int, offset: float, spread: float, count: int
) -> None:
    rng = np.random.default_rng(seed)
    with np.errstate(under="ignore"):
        features = (offset + spread * rng.normal(size=(songs, columns))).astype(np.float32)
    features[rng.integers(songs, size=songs // 3)] = features[0]
    check(features, int(rng.integers(songs)), count, [])
    # A point between two songs that single precision does not tell from either.
    with np.errstate(under="ignore"):
        check(features, features[0] * (1 + 1e-9) + spread * 1e-9, count, [])


@settings(max_examples=60)
@given(data=st.data())
def test_ties_are_exact(data: st.DataObject) -> None:
    whole = st.integers(-3, 3)
    features = data.draw(arrays.arrays(np.float32, shapes, elements=whole.map(float)))
    row = data.draw(st.integers(0, len(features) - 1))
    exact = [
        (sum(Fraction(float(x - y)) ** 2 for x, y in zip(song, features[row], strict=True)), other)
        for other, song in enumerate(features)
        if other != row
    ]
    found = nearest(features, row, 5)
    assert found.rows.tolist() == [other for _, other in sorted(exact)[:5]]
    assert found.distances.tolist() == [math.sqrt(square) for square, _ in sorted(exact)[:5]]


def test_songs_nearer_and_nearer_are_all_seen() -> None:
    features = np.linspace(2, 1, 3_000, dtype=np.float32)[:, None] * np.ones(4, dtype=np.float32)
    check(features, np.zeros(4), 7, [])
    check(features, 2_999, 7, [2_998])


def test_a_single_song_has_no_neighbour_and_is_the_nearest_to_any_point() -> None:
    features = np.ones((1, 3), dtype=np.float32)
    assert nearest(features, 0, 5).rows.tolist() == []
    assert nearest(features, [1.0, 1.0, 3.0], 5).distances.tolist() == [2.0]
    assert nearest(features, [1.0, 1.0, 3.0], 5, exclude=[0]).rows.tolist() == []


def test_no_songs_are_near_to_nothing() -> None:
    found = nearest(np.empty((0, 3), dtype=np.float32), [1.0, 1.0, 3.0], 5)
    assert (found.rows.tolist(), found.distances.tolist()) == ([], [])


def test_the_answer_cannot_be_changed() -> None:
    found = nearest(np.eye(3, dtype=np.float32), 0, 2)
    for array in (found.rows, found.distances):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("row", [-1, 3, 10**30, np.int64(7)])
def test_a_row_that_is_not_there_is_refused(row: int) -> None:
    with pytest.raises(InvalidInputError, match=f"a row must be one of the 3 .* got {row}"):
        nearest(np.eye(3, dtype=np.float32), row, 1)


@pytest.mark.parametrize(
    "point", [[1.0], [1.0, math.nan, 1.0], [math.inf, 0.0, 0.0], [[0.0, 0.0, 0.0]], 2.5, [1e39] * 3]
)
def test_a_point_that_is_none_is_refused(point: object) -> None:
    with pytest.raises(InvalidInputError, match="a point must be 3 finite numbers"):
        nearest(np.eye(3, dtype=np.float32), point, 1)  # type: ignore[arg-type]


def test_what_cannot_be_excluded_or_counted_is_refused() -> None:
    features = np.eye(3, dtype=np.float32)
    for rows in ([3], [0, -1]):
        with pytest.raises(InvalidInputError, match="excluded rows must be among the 3"):
            nearest(features, 0, 1, exclude=rows)
    with pytest.raises(InvalidInputError, match="count must not be negative, got -1"):
        nearest(features, 0, -1)


@pytest.mark.parametrize(
    "features", [np.eye(3), np.ones(3, dtype=np.float32), np.ones((3, 0), dtype=np.float32)]
)
def test_features_of_another_kind_are_refused(features: AnyArray) -> None:
    with pytest.raises(InvalidInputError, match="features must be a float32 table"):
        nearest(features, 0, 1)


@given(seed=seeds)
def test_a_certificate_without_room_for_rounding_would_be_seen(seed: int) -> None:
    """The limit is needed: without it a song at the same distance would be lost."""
    rng = np.random.default_rng(seed)
    columns = 30
    features = rng.normal(size=(200, columns)).astype(np.float32)
    point = rng.normal(size=columns)
    exact = np.sqrt(np.square(features - point).sum(axis=1))
    moved = neighbours._moved_by_rounding(point)
    lost = 0
    for _, sums in [next(iter(neighbours._sums(features, point, 200)))]:
        limits = np.array([neighbours._largest_sum(r + moved, columns) for r in exact])
        assert (sums <= limits).all()
        lost += int((sums > np.square(exact)).sum())
    assert lost > 0
