"""Random waves approach a Gaussian kernel, as fast as their law says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtr, chdtrc, ndtr

from bandstand.music.audio.feature_maps import Fourier, fitted, median_distance
from tests.fixtures.music.descriptor_tables import seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Matrix

# How often a right map may fail, all comparisons of a test together.
FAILURE_RATE: Final = 1e-3
DRAWS: Final = 300
COUNTS: Final = (16, 64, 256, 1024)


def songs(seed: int, count: int = 40, dimensions: int = 6) -> Matrix:
    return np.random.default_rng(seed).normal(size=(count, dimensions)) * np.arange(
        dimensions, 0, -1
    )


def right(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    found = fitted("fourier", projected, rng=rng, frequencies=count)
    assert isinstance(found, Fourier)
    return found


def p_values(draw: Callable[[Matrix, int, np.random.Generator], Fourier]) -> list[float]:
    """Return p-values for "the kernel's error has mean 0 and variance (1 − k²)²/2D".

    That is the variance of the mean of D cosines of normal phases; so it shrinks as 1/√D.
    """
    projected = songs(1)
    scale = np.square(projected).sum(axis=1).mean()
    apart = projected[0] - projected[1]
    kernel = np.exp(-(apart @ apart) / (2 * median_distance(projected) ** 2))
    found = []
    for count in COUNTS:
        rng = np.random.default_rng([2013, count])
        waves = [draw(projected, count, rng).apply(projected[:2])[:, 6:] for _ in range(DRAWS)]
        errors = np.array([first @ second / scale - kernel for first, second in waves])
        errors /= (1 - kernel**2) / np.sqrt(2 * count)
        squares = float(np.square(errors).sum())
        found += [
            float(2 * ndtr(-abs(errors.sum()) / np.sqrt(DRAWS))),
            float(2 * min(chdtr(DRAWS, squares), chdtrc(DRAWS, squares))),
        ]
    return found


def passes(p_values: list[float]) -> bool:
    return min(p_values) > FAILURE_RATE / len(p_values)


@pytest.mark.statistical
def test_the_error_of_the_kernel_shrinks_with_the_root_of_the_number_of_waves() -> None:
    assert passes(p_values(right))


def wider(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    drawn = right(projected, count, rng)
    return replace(drawn, frequencies=drawn.frequencies / np.sqrt(2))


def deviation_for_variance(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    drawn = right(projected, count, rng)
    return replace(drawn, frequencies=drawn.frequencies / median_distance(projected))


def uniform(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    drawn = right(projected, count, rng)
    waves = rng.uniform(-1, 1, drawn.frequencies.shape) * np.sqrt(3) / median_distance(projected)
    return replace(drawn, frequencies=waves)


def repeated(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    drawn = right(projected, count, rng)
    return replace(drawn, frequencies=np.tile(drawn.frequencies[:, : count // 2], 2))


def louder(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
    drawn = right(projected, count, rng)
    return replace(drawn, amplitude=drawn.amplitude * 1.1)


@pytest.mark.statistical
@pytest.mark.parametrize("planted", [wider, deviation_for_variance, uniform, repeated, louder])
def test_a_planted_error_is_seen(
    planted: Callable[[Matrix, int, np.random.Generator], Fourier],
) -> None:
    assert not passes(p_values(planted))


@given(seed=seeds, count=st.integers(1, 40))
def test_the_waves_weigh_as_much_as_the_linear_part(seed: int, count: int) -> None:
    projected = songs(seed)
    mapped = right(projected, count, np.random.default_rng(seed)).apply(projected)
    assert mapped.shape == (40, 6 + 2 * count)
    assert (mapped[:, :6] == projected).all()
    weight = np.square(projected).sum(axis=1).mean()
    np.testing.assert_allclose(np.square(mapped[:, 6:]).sum(axis=1), weight)


@given(seed=seeds, factor=st.sampled_from([1e-100, 1e-3, 7.0, 1e100]))
def test_the_waves_see_the_library_in_its_own_units(seed: int, factor: float) -> None:
    first, second = (
        right(table, 8, np.random.default_rng(5)).apply(table)[:, 6:] / factor_
        for table, factor_ in ((songs(seed), 1.0), (songs(seed) * factor, factor))
    )
    np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-6)


@given(seed=seeds, count=st.integers(2, 40))
def test_the_median_distance_is_that_of_all_pairs(seed: int, count: int) -> None:
    table = songs(seed, count)
    pairs = [np.linalg.norm(table[i] - table[j]) for i in range(count) for j in range(i)]
    assert median_distance(table) == pytest.approx(np.median(pairs))
    assert median_distance(np.vstack([table[:1]] * count)) == 1.0
    assert median_distance(table[:0]) == 1.0


def test_the_median_distance_of_a_large_library_is_close_whatever_the_order() -> None:
    table = songs(3, 3_000)
    rough = median_distance(table)
    assert median_distance(table[::-1]) == pytest.approx(rough, rel=1e-12)
    pairs = np.random.default_rng(1).integers(3_000, size=(2, 100_000))
    typical = np.median(np.linalg.norm(table[pairs[0]] - table[pairs[1]], axis=1))
    assert rough == pytest.approx(typical, rel=0.03)


def test_the_identity_leaves_everything_as_it_is() -> None:
    projected = songs(1)
    same = fitted("identity", projected, rng=np.random.default_rng(1))
    assert same.apply(projected) is projected
    assert same.columns(6) == 6
