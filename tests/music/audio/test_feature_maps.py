"""Random waves approach a Gaussian kernel, as fast as their law says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

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


PLANTED: dict[str, Callable[[Fourier, float], dict[str, Any]]] = {
    "wider": lambda it, _: {"frequencies": it.frequencies / np.sqrt(2)},
    "a deviation for a variance": lambda it, scale: {"frequencies": it.frequencies / scale},
    "uniform": lambda it, scale: {
        "frequencies": np.random.default_rng(len(it.frequencies[0])).uniform(
            -np.sqrt(3) / scale, np.sqrt(3) / scale, it.frequencies.shape
        )
    },
    "repeated": lambda it, _: {
        "frequencies": np.tile(it.frequencies[:, : it.frequencies.shape[1] // 2], 2)
    },
    "louder": lambda it, _: {"amplitude": it.amplitude * 1.1},
}


@pytest.mark.statistical
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_error_is_seen(planted: str) -> None:
    def draw(projected: Matrix, count: int, rng: np.random.Generator) -> Fourier:
        drawn = right(projected, count, rng)
        return replace(drawn, **PLANTED[planted](drawn, median_distance(projected)))

    assert not passes(p_values(draw))


@given(seed=seeds, count=st.integers(1, 40))
def test_the_waves_weigh_as_much_as_the_linear_part(seed: int, count: int) -> None:
    projected = songs(seed)
    mapped = right(projected, count, np.random.default_rng(seed)).apply(projected)
    assert mapped.shape == (40, 6 + 2 * count)
    assert (mapped[:, :6] == projected).all()
    weight = np.square(projected).sum(axis=1).mean()
    np.testing.assert_allclose(np.square(mapped[:, 6:]).sum(axis=1), weight)
    same = fitted("identity", projected, rng=np.random.default_rng(1))
    assert same.apply(projected) is projected


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
