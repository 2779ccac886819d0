from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bandstand.core.engines.exact.posterior import recovery_grid
from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
from bandstand.errors import ConvergenceError

Density = Callable[[Any], Any]


def placed(density: Density, interval: tuple[float, float]) -> tuple[RecoveryGrid, Any]:
    """Return the grid that serves, with the share of each node."""
    grid, is_converged = recovery_grid.place(density, interval)
    assert is_converged
    return grid, recovery_grid.weights(density(grid.log_nodes) + grid.log_stretch)


@given(centre=st.floats(-8, 14), log_spread=st.floats(-12, 1))
@example(centre=12.0, log_spread=1.0)
def test_a_narrow_or_distant_peak_is_resolved(centre: float, log_spread: float) -> None:
    spread = float(np.exp(log_spread))
    grid, share = placed(lambda y: -0.5 * ((y - centre) / spread) ** 2, (-5.0, 9.0))
    y = grid.log_times(grid.places)
    assert len(grid) <= 257
    assert (np.diff(y) > 0).all()
    assert share @ y == pytest.approx(centre, abs=1e-8 * (abs(centre) + spread))
    assert np.sqrt(share @ (y - centre) ** 2) == pytest.approx(spread, rel=1e-8)


@given(centre=st.floats(3.5, 6.5), log_scale=st.floats(-9, 0), power=st.floats(1.5, 30))
def test_a_needle_with_long_tails_is_resolved(
    centre: float, log_scale: float, power: float
) -> None:
    """Few ratings and hardly any noise: a power of 1 + ((y − c)/scale)², within a normal prior."""
    scale = float(np.exp(log_scale))

    def density(y: Any) -> Any:
        return -power * np.log1p(((y - centre) / scale) ** 2) - 0.5 * (y - 5.0) ** 2

    grid, share = placed(density, (-5.0, 12.0))
    fine = centre + scale * np.sinh(np.linspace(-30, 30, 200_001))
    fine = fine[(fine > -10) & (fine < 20)]
    mass = np.exp(density(fine) - density(np.array(centre))) * np.gradient(fine)
    truth = (mass @ fine) / mass.sum()
    deviation = np.sqrt((mass @ (fine - truth) ** 2) / mass.sum())
    y = grid.log_times(grid.places)
    assert share @ y == pytest.approx(truth, abs=1e-6 * deviation + 1e-9)
    assert np.sqrt(share @ (y - truth) ** 2) == pytest.approx(deviation, rel=1e-6)


def test_two_peaks_are_both_kept() -> None:
    grid, share = placed(
        lambda y: np.logaddexp(-0.5 * ((y - 2) / 0.3) ** 2, -0.5 * ((y - 8) / 0.3) ** 2 - 5),
        (-3.0, 12.0),
    )
    second = np.exp(-5) / (1 + np.exp(-5))
    assert share @ grid.log_times(grid.places) == pytest.approx(2 + 6 * second, rel=1e-8)


def test_between_the_nodes_the_density_is_known() -> None:
    def density(y: Any) -> Any:
        return 3 * y - np.exp(y - 4.6)

    grid, _ = placed(density, (-9.0, 9.0))
    y, refined = grid.refined(density(grid.log_times(grid.places)) + grid.log_stretch, 8)
    v = np.linspace(grid.places[0], grid.places[-1], len(y))
    truth = density(grid.log_times(v)) + np.log(grid.scale * np.cosh(v))
    inside = truth > truth.max() - 20
    assert y == pytest.approx(grid.log_times(v), rel=1e-12)
    assert (refined - truth)[inside] == pytest.approx(0, abs=1e-6)


def test_a_grid_that_is_too_coarse_or_too_short_is_noticed() -> None:
    coarse = RecoveryGrid(centre=5.0, scale=3.0, places=np.linspace(-3, 3, 9))
    short = RecoveryGrid(centre=5.0, scale=3.0, places=np.linspace(-0.5, 0.5, 33))
    good = RecoveryGrid(centre=5.0, scale=3.0, places=np.linspace(-2.0, 2.2, 65))
    for grid, verdict in ((coarse, False), (short, False), (good, True)):
        density = -0.5 * (grid.log_times(grid.places) - 5) ** 2 + grid.log_stretch
        assert (recovery_grid.grid_error(grid, density) <= 1) is verdict


def test_a_density_without_end_is_refused() -> None:
    with pytest.raises(ConvergenceError, match="must be found within"):
        recovery_grid.place(np.zeros_like, (0.0, 1.0))


def test_what_is_known_already_is_not_looked_at_again() -> None:
    seen = [0, 0]

    def density(y: Any, which: int) -> Any:
        seen[which] += len(y)
        return -0.5 * ((y - 4.0) / 0.1) ** 2

    first, _ = recovery_grid.place(lambda y: density(y, 0), (-9.0, 9.0))
    values = -0.5 * ((first.log_nodes - 4.0) / 0.1) ** 2
    again, is_converged = recovery_grid.place(
        lambda y: density(y, 1), (-9.0, 9.0), (first.log_nodes, values)
    )
    assert is_converged
    assert seen[1] == len(again) < seen[0]


def test_what_is_known_of_half_a_density_is_completed() -> None:
    y = np.linspace(3.9, 4.6, 30)
    grid, is_converged = recovery_grid.place(
        lambda y: -0.5 * ((y - 4.0) / 0.1) ** 2, (-9.0, 9.0), (y, -0.5 * ((y - 4.0) / 0.1) ** 2)
    )
    assert is_converged
    assert grid.log_nodes[0] < 3.4
