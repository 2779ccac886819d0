"""Simulated listeners whose recovery time is known."""

from __future__ import annotations

import numpy as np

from bandstand.types import frozen
from bandstand_lab.histories import History


def simulated(
    recovery_minutes: float, *, plays: int, songs: int, rng: np.random.Generator
) -> History:
    """Return plays of somebody who picks songs in proportion to liking × novelty, 60 a day."""
    liking = np.arange(1.0, songs + 1) ** -0.8
    days = rng.integers(0, plays // 60, plays)
    times = np.sort(86_400.0 * days + 3_600.0 * rng.uniform(8, 23, plays))
    last = np.full(songs, -np.inf)
    items = np.empty(plays, dtype=np.intp)
    for play, time in enumerate(times):
        rested = (time - last) / (60 * recovery_minutes) if recovery_minutes else np.inf
        appeal = np.cumsum(liking * -np.expm1(-np.minimum(rested, 700.0)))
        items[play] = np.searchsorted(appeal, rng.uniform() * appeal[-1])
        last[items[play]] = time
    unknown = frozen(np.full(plays, np.nan))
    return History(
        name="simulated", items=items, times=frozen(times), played=unknown, skipped=unknown
    )
