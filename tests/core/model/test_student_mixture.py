import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit
from scipy.stats import t as student

from bandstand.core.model import student_mixture

levels = st.floats(1e-6, 1 - 1e-6)
freedoms = st.floats(1.01, 1e6)


def drawn_mixture(
    seed: int, components: int
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], ...]:
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 3)
    locations = size * rng.normal(size=(1, components)) * rng.choice([0.0, 0.1, 5.0])
    scales = size * 10.0 ** rng.uniform(-4, 1, size=(1, components))
    weights = rng.dirichlet(np.full(components, 0.3), size=1)
    return locations, scales, weights


@given(seed=st.integers(0, 10_000), components=st.integers(1, 40), level=levels, freedom=freedoms)
def test_the_quantile_equals_brute_force(
    seed: int, components: int, level: float, freedom: float
) -> None:
    locations, scales, weights = drawn_mixture(seed, components)
    value = student_mixture.quantile(level, locations, scales, weights, freedom)
    assert value is not None

    def excess(u: float) -> float:
        if level >= 0.5:  # on the side of the small tail, where digits are kept
            return float((1 - level) - (weights * stdtr(freedom, (locations - u) / scales)).sum())
        return float((weights * stdtr(freedom, (u - locations) / scales)).sum() - level)

    ends = locations + scales * stdtrit(freedom, level)
    low, high = float(ends.min()), float(ends.max())
    if high - low < 1e-300 or excess(low) * excess(high) > 0:
        assert low - 1e-9 * abs(low) <= value[0] <= high + 1e-9 * abs(high)
        return
    truth = brentq(excess, low, high, xtol=1e-300, rtol=1e-14)
    # As far as the root is determined: where the survival function is flat, many values are it.
    density = float(np.sum(weights * student.pdf((truth - locations) / scales, freedom) / scales))
    undetermined = 1e-15 / max(density, 1e-300)
    assert abs(value[0] - truth) <= 1e-9 * max(abs(truth), float(scales.min())) + undetermined


@given(level=levels, freedom=freedoms, location=st.floats(-5, 5), scale=st.floats(0.01, 10))
def test_one_component_is_a_student_t(
    level: float, freedom: float, location: float, scale: float
) -> None:
    value = student_mixture.quantile(
        level, np.array([[location]]), np.array([[scale]]), np.ones(1), freedom
    )
    assert value is not None
    tail = min(level, 1 - level)
    z = -abs(float(value[0]) - location) / scale
    assert stdtr(freedom, z) == pytest.approx(tail, rel=1e-9)


def test_mean_and_variance_are_those_of_the_parts() -> None:
    locations, scales = np.array([[0.0, 4.0]]), np.array([[1.0, 2.0]])
    weights, freedom = np.array([0.25, 0.75]), 6.0
    assert student_mixture.mean(locations, weights, freedom) == pytest.approx([3.0])
    within = 1.5 * (0.25 * 1 + 0.75 * 4)
    between = 0.25 * 9 + 0.75 * 1
    assert student_mixture.variance(locations, scales, weights, freedom) == pytest.approx(
        [within + between]
    )


def test_what_does_not_exist_is_absent() -> None:
    locations, scales, weights = np.zeros((1, 1)), np.ones((1, 1)), np.ones(1)
    assert student_mixture.mean(locations, weights, 1.0) is None
    assert student_mixture.variance(locations, scales, weights, 2.0) is None
    assert student_mixture.quantile(0.9, locations, scales, weights, 0.002) is None


def test_point_masses_are_steps() -> None:
    locations, scales = np.array([[-1.0, 2.0, 7.0]]), np.zeros((1, 3))
    weights = np.array([0.2, 0.5, 0.3])
    for level, place in ((0.1, -1.0), (0.5, 2.0), (0.9, 7.0)):
        value = student_mixture.quantile(level, locations, scales, weights, 9.0)
        assert value == pytest.approx([place], abs=1e-9)


def test_no_songs_have_no_quantiles() -> None:
    nothing = student_mixture.quantile(
        0.9, np.zeros((0, 4)), np.zeros((0, 4)), np.full(4, 0.25), 5.0
    )
    assert nothing is not None
    assert nothing.shape == (0,)


def test_nothing_warns_at_the_edges_of_the_number_line() -> None:
    with np.errstate(all="raise"):
        for size in (1e-150, 1.0, 1e120):
            locations = size * np.array([[-1.0, 0.0, 1.0]])
            scales = size * np.array([[1e-12, 1.0, 1e3]])
            for level in (1e-6, 0.5, 1 - 1e-6):
                value = student_mixture.quantile(level, locations, scales, np.full(3, 1 / 3), 3.0)
                assert value is not None
                assert np.isfinite(value).all()


def test_quantiles_of_components_of_all_widths_settle() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(100, 400))
        scales = 10.0 ** np.linspace(-24, 1.3, count)[np.newaxis]
        locations = scales * rng.normal(size=(1, count)) * rng.choice([0.1, 3.0])
        weights = rng.dirichlet(np.full(count, rng.choice([0.3, 3.0])))
        for level in (0.6, 0.8, 0.9, 0.99):
            value = student_mixture.quantile(level, locations, scales, weights, 3.2)
            assert value is not None
            less, more = (
                student_mixture.survival(float(value[0]) + off, locations, scales, weights, 3.2)[0]
                for off in (1e-12, -1e-12)
            )
            assert less <= (1 - level) * (1 + 1e-9)
            assert more >= (1 - level) * (1 - 1e-9)
