"""How long it takes until a song is played again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen

if TYPE_CHECKING:
    from bandstand.types import Vector
    from bandstand_lab.histories.values import History

LEVELS: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
# Edges of the histogram: each bin is √2 times as long as the one before, from a minute to 24 years.
_EDGES: Final = 60.0 * 2.0 ** (np.arange(0, 48) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSummary:
    """Gaps between two plays of a song in a row: quantiles, and a histogram on a log scale."""

    count: int
    quantiles: Vector  # seconds, at `LEVELS`
    edges: Vector  # seconds, one more than `counts`; shorter gaps are in the first bin
    counts: Vector

    @property
    def median(self) -> float:
        """Return the median gap, in seconds."""
        return float(self.quantiles[LEVELS.index(0.5)])


def gaps_before(history: History) -> Vector:
    """Return the seconds since the same song's play before, NaN for its first: (n,).

    >>> from bandstand_lab.histories.values import History
    >>> times, told = np.array([0.0, 60.0, 90.0]), np.full(3, np.nan)
    >>> gaps_before(
    ...     History(name="", items=np.array([7, 8, 7]), times=times, played=told, skipped=told)
    ... ).tolist()
    [nan, nan, 90.0]
    """
    order = np.lexsort((history.times, history.items))
    items, times = history.items[order], history.times[order]
    gaps = np.full(len(order), np.nan)
    again = items[1:] == items[:-1]
    gaps[order[1:][again]] = (times[1:] - times[:-1])[again]
    return gaps


def summarise(gaps: Vector) -> GapSummary | None:
    """Return quantiles and histogram of gaps in seconds; None where no song came back."""
    known = gaps[~np.isnan(gaps)]
    if not len(known):
        return None
    last = int(np.searchsorted(_EDGES, known.max(), side="right"))
    edges = _EDGES[: max(min(last, len(_EDGES) - 1), 1) + 1]
    counts = np.histogram(np.clip(known, edges[0], edges[-1]), edges)[0]
    return GapSummary(
        count=len(known),
        quantiles=frozen(np.quantile(known, LEVELS)),
        edges=frozen(edges),
        counts=frozen(counts),
    )
