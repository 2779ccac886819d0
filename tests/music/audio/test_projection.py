"""What PCA promises, whatever the library."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.music.audio.projection import Projection, fit
from tests.fixtures.music.descriptor_tables import WIDTH, embedded, library, real_library, seeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bandstand.types import Matrix

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
def test_features_are_uncorrelated_and_what_is_lost_is_what_was_not_kept(
    seed: int, songs: int, share: float
) -> None:
    table = library(seed, songs)
    with np.errstate(all="raise"):
        projection = fit(table, share=share)
        for check in CHECKS:
            check(projection, table)


def sample_deviation(projection: Projection) -> Projection:
    correction = np.sqrt(projection.songs / (projection.songs - 1))
    return replace(projection, standard_deviation=projection.standard_deviation * correction)


def other_mean(projection: Projection) -> Projection:
    return replace(projection, mean=projection.mean + 1e-3 * projection.standard_deviation)


def variance_for_deviation(projection: Projection) -> Projection:
    return replace(projection, standard_deviation=np.square(projection.standard_deviation))


def rising_order(projection: Projection) -> Projection:
    return replace(
        projection, components=projection.components[::-1], variances=projection.variances[::-1]
    )


def leaning_components(projection: Projection) -> Projection:
    components = projection.components.copy()
    components[0] += 1e-3 * components[1]
    return replace(projection, components=components)


def sample_variances(projection: Projection) -> Projection:
    factor = projection.songs / (projection.songs - 1)
    return replace(projection, variances=projection.variances * factor)


@pytest.mark.parametrize(
    "planted",
    [
        sample_deviation,
        other_mean,
        variance_for_deviation,
        rising_order,
        leaning_components,
        sample_variances,
    ],
)
def test_a_planted_error_is_seen(planted: Callable[[Projection], Projection]) -> None:
    table = library(1, 50)
    right = fit(table)
    for check in CHECKS:
        check(right, table)
    wrong = planted(right)
    with pytest.raises(AssertionError):  # noqa: PT012
        for check in CHECKS:
            check(wrong, table)


@settings(max_examples=40)
@given(seed=seeds, songs=sizes, share=shares)
def test_no_smaller_number_of_components_would_have_been_enough(
    seed: int, songs: int, share: float
) -> None:
    projection = fit(library(seed, songs), share=share)
    parts = projection.variances / np.count_nonzero(projection.standard_deviation)
    assert parts.sum() >= share - 1e-8
    assert parts[:-1].sum() < share


@settings(max_examples=25)
@given(seed=seeds, songs=sizes, constant=st.integers(0, WIDTH))
def test_all_variance_is_one_for_each_column_that_varies(
    seed: int, songs: int, constant: int
) -> None:
    projection = fit(library(seed, songs, constant=constant), share=1.0)
    assert np.count_nonzero(projection.standard_deviation) == WIDTH - constant
    np.testing.assert_allclose(projection.variances.sum(), WIDTH - constant, rtol=1e-8)
    assert len(projection.variances) <= max(1, min(songs - 1, WIDTH - constant))


@settings(max_examples=25)
@given(seed=seeds, songs=sizes)
def test_the_order_of_the_songs_does_not_matter(seed: int, songs: int) -> None:
    table = library(seed, songs)
    order = np.random.default_rng(seed).permutation(songs)
    features = fit(table).apply(table)
    np.testing.assert_allclose(fit(table[order]).apply(table), features, atol=1e-7)


@settings(max_examples=25)
@given(seed=seeds, songs=sizes)
def test_each_song_twice_is_each_song_once(seed: int, songs: int) -> None:
    table = library(seed, songs)
    once, twice = fit(table), fit(np.vstack([table, table]))
    np.testing.assert_allclose(twice.apply(table), once.apply(table), atol=1e-7)
    assert (once.songs, twice.songs) == (songs, 2 * songs)


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
    for name in ("identity", "fourier"):
        projection = fit(table, feature_map=name)
        singly = np.vstack([projection.apply(row[None]) for row in table])
        np.testing.assert_allclose(singly, projection.apply(table), atol=1e-9)
        assert singly.shape == (songs, projection.columns)


@given(seed=seeds)
def test_the_largest_entry_of_each_component_is_positive(seed: int) -> None:
    components = fit(library(seed, 30)).components
    largest = np.abs(components).argmax(axis=1)
    assert (components[np.arange(len(components)), largest] > 0).all()


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
