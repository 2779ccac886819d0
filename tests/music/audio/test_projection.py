"""What PCA promises, whatever the library."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.audio.projection import Projection, fit
from bandstand.types import Matrix
from tests.fixtures.music.descriptor_tables import WIDTH, embedded, library, real_library, seeds

sizes = st.integers(2, 60) | st.sampled_from([158, 159, 160, 300])
shares = st.floats(0.05, 1.0)


def z_scores(projection: Projection, table: Matrix) -> Matrix:
    deviation = projection.standard_deviation
    return (table - projection.mean)[:, deviation > 0] / deviation[deviation > 0]


def check_moments(projection: Projection, table: Matrix) -> None:
    varying = table[:, projection.standard_deviation > 0]
    scores = z_scores(projection, table)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.square(scores).mean(axis=0), 1, rtol=1e-9)
    assert (np.ptp(varying, axis=0) > 0).all()


def check_components(projection: Projection, table: Matrix) -> None:
    features = projection.apply(table)
    covariance = features.T @ features / len(table)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(covariance, np.diag(projection.variances), atol=1e-9)
    assert (np.diff(projection.variances) <= 0).all()
    unit = projection.components @ projection.components.T
    np.testing.assert_allclose(unit, np.eye(len(unit)), atol=1e-12)


def check_reconstruction(projection: Projection, table: Matrix) -> None:
    """What is lost of the z-scores is the variance that was not kept."""
    varying = projection.standard_deviation > 0
    restored = (projection.apply(table) @ projection.components)[:, varying]
    lost = np.square(z_scores(projection, table) - restored).sum(axis=1).mean()
    discarded = np.count_nonzero(projection.standard_deviation) - projection.variances.sum()
    np.testing.assert_allclose(lost, discarded, atol=1e-8)


CHECKS = (check_moments, check_components, check_reconstruction)


@settings(max_examples=40)
@given(seed=seeds, songs=sizes, share=shares)
def test_features_are_uncorrelated_and_lose_what_was_not_kept(
    seed: int, songs: int, share: float
) -> None:
    table = library(seed, songs)
    with np.errstate(all="raise"):
        projection = fit(table, share=share)
        for check in CHECKS:
            check(projection, table)


def factor(projection: Projection) -> float:
    """Return what a sample variance has more than that of the population."""
    return projection.songs / (projection.songs - 1)


PLANTED: dict[str, Callable[[Projection], dict[str, Any]]] = {
    "the deviation of a sample": lambda it: {
        "standard_deviation": it.standard_deviation * np.sqrt(factor(it))
    },
    "another mean": lambda it: {"mean": it.mean + 1e-3 * it.standard_deviation},
    "a variance for a deviation": lambda it: {
        "standard_deviation": np.square(it.standard_deviation)
    },
    "a rising order": lambda it: {
        "components": it.components[::-1],
        "variances": it.variances[::-1],
    },
    "leaning components": lambda it: {
        "components": it.components + 1e-3 * np.roll(it.components, 1, axis=0)
    },
    "the variances of a sample": lambda it: {"variances": it.variances * factor(it)},
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_error_is_seen(planted: str) -> None:
    table = library(1, 50)
    right = fit(table)
    for check in CHECKS:
        check(right, table)
    wrong = replace(right, **PLANTED[planted](right))
    with pytest.raises(AssertionError):  # noqa: PT012
        for check in CHECKS:
            check(wrong, table)


@settings(max_examples=25)
@given(seed=seeds, songs=sizes)
def test_other_units_give_the_same_features(seed: int, songs: int) -> None:
    table = library(seed, songs)
    rng = np.random.default_rng(seed)
    factor = 10.0 ** rng.uniform(-8, 8, WIDTH)
    moved = (table + rng.normal(0, 9, WIDTH) * table.std(axis=0)) * factor
    features = fit(table).apply(table)
    np.testing.assert_allclose(fit(moved).apply(moved), features, atol=1e-7)
    # Upside down, a component may come with its other sign; distances between songs stay.
    turned = moved * rng.choice([-1, 1], WIDTH)
    products = fit(turned).apply(turned)
    np.testing.assert_allclose(products @ products.T, features @ features.T, atol=1e-6)


@settings(max_examples=25)
@given(seed=seeds, songs=sizes)
def test_one_by_one_equals_all_at_once(seed: int, songs: int) -> None:
    table = library(seed, songs)
    projection = fit(table)
    singly = np.vstack([projection.apply(row[None]) for row in table])
    np.testing.assert_allclose(singly, projection.apply(table), atol=1e-9)
    assert singly.shape == (songs, projection.columns)
    assert projection.apply(table[:0]).shape == (0, projection.columns)


@given(correlation=st.floats(-0.99, 0.99), seed=seeds)
def test_two_columns_have_the_components_of_the_textbook(correlation: float, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(40, 2))
    noise -= noise.mean(axis=0)
    white = np.linalg.qr(noise)[0]  # exactly uncorrelated, of equal length
    second = correlation * white[:, 0] + np.sqrt(1 - correlation**2) * white[:, 1]
    projection = fit(embedded(np.column_stack([white[:, 0], second])), share=1.0)
    np.testing.assert_allclose(
        projection.variances, [1 + abs(correlation), 1 - abs(correlation)], atol=1e-12
    )
    if abs(correlation) > 1e-3:
        first = [np.sqrt(0.5), np.copysign(np.sqrt(0.5), correlation)]
        np.testing.assert_allclose(projection.components[0, :2], first, atol=1e-9)
    assert not projection.components[:, 2:].any()


@pytest.mark.parametrize(("share", "expected"), [(0.9, 9), (0.85, 9), (0.8, 8), (1.0, 10)])
def test_a_share_that_is_reached_exactly_is_enough(share: float, expected: int) -> None:
    white = np.linalg.qr(
        np.column_stack([np.ones(64), np.random.default_rng(1).normal(size=(64, 10))])
    )
    assert len(fit(embedded(white[0][:, 1:]), share=share).components) == expected


def test_real_tracks_need_as_many_components_as_other_collections(shared_data: Path) -> None:
    table = real_library(shared_data)
    projection = fit(table)
    # FEATURES.md: 24 to 31 on five collections, and 20 columns that never vary.
    assert 24 <= projection.columns <= 31
    assert np.count_nonzero(projection.standard_deviation) == WIDTH - 20
    for check in CHECKS:
        check(projection, table)


# ── At the edge ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("songs", [1, 2, 7])
def test_equal_songs_have_one_column_that_says_nothing(songs: int) -> None:
    table = np.tile(library(3, 1), (songs, 1))
    with np.errstate(all="raise"):
        projection = fit(table)
        features = projection.apply(np.vstack([table, library(4, 3) * 1e9]))
    assert len(projection.components) == 1
    assert not features.any()


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
def test_any_numbers_give_finite_features(seed: int, songs: int, scales: list[float]) -> None:
    rng = np.random.default_rng(seed)
    table = embedded(rng.uniform(-1, 1, (songs, len(scales))))
    with np.errstate(under="ignore"):
        table[:, : len(scales)] *= scales
    table[rng.integers(songs)] *= 1e6 if max(scales) < 1e290 else 1.0
    with np.errstate(all="raise"):
        features = fit(table).apply(np.vstack([table, -table]))
        assert np.isfinite(features).all()
        assert np.abs(features).max() < 1e4


@given(seed=seeds, songs=st.integers(2, 300))
@settings(max_examples=25)
def test_a_new_song_far_away_is_limited_and_no_fitted_one_is(seed: int, songs: int) -> None:
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
