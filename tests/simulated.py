"""Small data sets with a known truth, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.domain import History

if TYPE_CHECKING:
    from bandstand.types import Vector

MONTH = 43_200.0


def simulated_history(
    rng: np.random.Generator,
    *,
    count: int,
    columns: int,
    recovery_time: float = 400.0,
    noise: float = 0.5,
    weighted: bool = False,
    share_unheard: float = 0.5,
) -> History:
    """Return answers of a listener whose preferences are drawn from N(0, I)."""
    features = rng.normal(size=(count, columns))
    recently = rng.exponential(300.0, size=count)
    elapsed = np.where(rng.random(count) < share_unheard, MONTH, np.minimum(recently, MONTH))
    preference: Vector = rng.normal(size=columns)
    expected = (features @ preference) * -np.expm1(-elapsed / recovery_time)
    weights = rng.choice([0.3, 1.0], size=count) if weighted else np.ones(count)
    ratings = expected + noise * rng.normal(size=count) / np.sqrt(weights)
    return History.of(features=features, elapsed=elapsed, ratings=ratings, weights=weights)
