from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import ConvergenceError
from bandstand.inference import recovery_grid


@given(centre=st.floats(-30, 30), log_spread=st.floats(-12, 2))
def test_a_narrow_or_distant_peak_is_found(centre: float, log_spread: float) -> None:
    spread = float(np.exp(log_spread))
    low, high = recovery_grid.locate(lambda y: -0.5 * ((y - centre) / spread) ** 2, (-5.0, 5.0))
    assert low < centre - 6.5 * spread
    assert high > centre + 6.5 * spread
    assert high - low < 20 * spread
    nodes = np.linspace(low, high, 33)
    density = -0.5 * ((nodes - centre) / spread) ** 2
    assert recovery_grid.is_fine(density, nodes)
    assert recovery_grid.is_wide(density)
    share = recovery_grid.weights(density)
    assert share @ nodes == pytest.approx(centre, abs=1e-9 * (abs(centre) + spread))
    assert np.sqrt(share @ (nodes - centre) ** 2) == pytest.approx(spread, rel=1e-9)


def test_two_peaks_are_both_kept() -> None:
    def density(y: np.ndarray[tuple[int], np.dtype[np.float64]]) -> object:
        return np.logaddexp(-0.5 * ((y + 3) / 0.3) ** 2, -0.5 * ((y - 3) / 0.3) ** 2 - 5)

    low, high = recovery_grid.locate(density, (-9.0, 9.0))  # type: ignore[arg-type]
    assert low < -4
    assert high > 4


def test_a_grid_that_is_too_coarse_or_too_short_is_noticed() -> None:
    coarse = np.linspace(-20, 20, 9)
    assert not recovery_grid.is_fine(-0.5 * (coarse + 0.7) ** 2, coarse)
    short = np.linspace(-2, 2, 33)
    assert not recovery_grid.is_wide(-0.5 * short**2)


def test_a_density_without_end_is_refused() -> None:
    with pytest.raises(ConvergenceError, match="must be found within"):
        recovery_grid.locate(np.zeros_like, (0.0, 1.0))
