"""Libraries and songs at the edge of what can be projected, and beyond it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.audio.projection import fit
from tests.fixtures.music.descriptor_tables import WIDTH, embedded, library, seeds

MAPS = ("identity", "fourier")


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("songs", [1, 2, 7])
def test_equal_songs_have_one_column_that_says_nothing(songs: int, name: str) -> None:
    table = np.tile(library(3, 1), (songs, 1))
    with np.errstate(all="raise"):
        projection = fit(table, feature_map=name)
        features = projection.apply(np.vstack([table, library(4, 3) * 1e9]))
    assert len(projection.components) == 1
    assert not features.any()


@given(seed=seeds)
def test_two_songs_are_at_the_two_ends_of_one_direction(seed: int) -> None:
    table = library(seed, 2)
    projection = fit(table)
    features = projection.apply(table)
    assert features.shape == (2, 1)
    far = math.sqrt(np.count_nonzero(projection.standard_deviation))
    np.testing.assert_allclose(np.sort(features[:, 0]), [-far, far], rtol=1e-7)


def test_no_songs_have_no_features() -> None:
    for name in MAPS:
        projection = fit(library(1, 5), feature_map=name)
        assert projection.apply(np.empty((0, WIDTH))).shape == (0, projection.columns)


def test_a_constant_column_counts_for_nothing_in_a_new_song() -> None:
    table = library(1, 30)
    projection = fit(table)
    constant = projection.standard_deviation == 0
    assert constant.sum() == 20
    changed = table.copy()
    changed[:, constant] = 1e12
    assert (projection.apply(changed) == projection.apply(table)).all()


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_a_column_that_is_constant_but_for_rounding_counts_for_nothing(size: float) -> None:
    wobble = 1 + 1e-10 * np.random.default_rng(1).normal(size=30)
    real = 1 + 1e-7 * np.random.default_rng(2).normal(size=30)
    with np.errstate(all="raise"):
        projection = fit(embedded(np.column_stack([size * wobble, size * real])))
    assert (projection.standard_deviation > 0).tolist() == [False, True] + [False] * (WIDTH - 2)


huge = st.sampled_from([5e-324, 1e-310, 1e-300, 1e-150, 1.0, 1e30, 1e150, 1e299])


@settings(max_examples=50)
@given(seed=seeds, songs=st.integers(1, 20), scales=st.lists(huge, min_size=1, max_size=6))
def test_numbers_of_any_size_give_finite_features(
    seed: int, songs: int, scales: list[float]
) -> None:
    rng = np.random.default_rng(seed)
    table = embedded(rng.uniform(-1, 1, (songs, len(scales))))
    with np.errstate(under="ignore"):
        table[:, : len(scales)] *= scales
    table[rng.integers(songs)] *= 1e6 if max(scales) < 1e290 else 1.0
    with np.errstate(all="raise"):
        for name in MAPS:
            features = fit(table, feature_map=name).apply(np.vstack([table, -table]))
            assert np.isfinite(features).all()
            assert np.abs(features).max() < 1e4


def test_one_song_of_unthinkable_size_leaves_the_others_finite() -> None:
    table = library(1, 40)
    table[7, 5] = 1e150
    with np.errstate(all="raise"):
        projection = fit(table)
        features = projection.apply(table)
    assert np.isfinite(features).all()
    # In population z-scores no song is further out than √(S − 1).
    assert np.linalg.norm(features, axis=1).max() < math.sqrt(
        39 * np.count_nonzero(projection.standard_deviation)
    )
    assert len(projection.components) > 5


@given(seed=seeds, songs=st.integers(2, 300))
@settings(max_examples=25)
def test_a_new_song_far_from_all_others_is_brought_to_the_limit_and_no_fitted_one_is(
    seed: int, songs: int
) -> None:
    table = library(seed, songs)
    projection = fit(table, share=1.0)
    unlimited = replace(projection, limit=np.full(WIDTH, 1e300))
    assert (projection.apply(table) == unlimited.apply(table)).all()
    assert (projection.limit >= 10).all()
    with np.errstate(all="raise"):
        far = projection.apply(table[:1] + 1e9 * (1 + np.abs(table[:1])))
    assert np.linalg.norm(far) <= np.linalg.norm(projection.limit) * (1 + 1e-9)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e301])
def test_what_is_not_finite_is_refused_with_its_place(value: float) -> None:
    table = library(1, 9)
    projection = fit(table)
    table[4, 17] = value
    expected = r"must be finite .* in row 4, column 17"
    with pytest.raises(InvalidInputError, match=expected):
        fit(table)
    with pytest.raises(InvalidInputError, match=expected):
        projection.apply(table)


@pytest.mark.parametrize("table", [[1.0, 2.0], [[[1.0]]], [["a"]], [[1.0], [1.0, 2.0]], None])
def test_what_is_no_table_of_numbers_is_refused(table: Any) -> None:
    for use in (fit, fit(library(1, 3)).apply):
        with pytest.raises(InvalidInputError, match="descriptors must be"):
            use(table)


def test_another_number_of_descriptors_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must have 159 descriptors, got 158"):
        fit(library(1, 3)[:, 1:])
    with pytest.raises(
        InvalidInputError, match=r"of 158 descriptors, got one for version \d+ of 159: it must be"
    ):
        fit(library(1, 3)).apply(library(1, 3)[:, 1:])


def test_descriptors_of_another_version_are_refused() -> None:
    table = library(1, 3)
    old = fit(table, version=VERSION + 6)
    old.check_fits(version=VERSION + 6)
    assert old.apply(table, version=VERSION + 6).shape == (3, old.columns)
    expected = f"for version {VERSION} of 159 .* got one for version {VERSION + 6} of 159"
    with pytest.raises(InvalidInputError, match=expected):
        old.apply(table)
    with pytest.raises(InvalidInputError, match=expected):
        old.check_fits()


def test_no_songs_cannot_be_fitted_on() -> None:
    with pytest.raises(InvalidInputError, match="at least one song, got none"):
        fit(np.empty((0, WIDTH)))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InvalidInputError, match=f"above 0 and at most 1, got {share}"):
        fit(library(1, 3), share=share)


def test_an_unknown_feature_map_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="one of identity, fourier, got 'magic'"):
        fit(library(1, 3), feature_map="magic")


def test_a_projection_cannot_be_changed() -> None:
    projection = fit(library(1, 3))
    for array in (projection.mean, projection.standard_deviation, projection.components):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
