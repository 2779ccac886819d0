"""How long answers took: the middle, and the end where people notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Seconds until the answer, by how many answers were quicker than that.

    >>> latencies_of([0.001 * number for number in range(101)]).shown()
    '50 / 95 / 99 ms'
    """

    count: int
    median: float
    p95: float
    p99: float
    slowest: float

    def shown(self) -> str:
        """Return the median, and what 95 and 99 in a hundred stay below."""
        parts = (f"{1_000 * seconds:.3g}" for seconds in (self.median, self.p95, self.p99))
        return f"{' / '.join(parts)} ms"

    def as_json(self) -> dict[str, Any]:
        """Return all of it, in milliseconds."""
        return {
            "count": self.count,
            "median_ms": 1_000 * self.median,
            "p95_ms": 1_000 * self.p95,
            "p99_ms": 1_000 * self.p99,
            "slowest_ms": 1_000 * self.slowest,
        }


def latencies_of(seconds: Iterable[float]) -> Latencies:
    """Return a summary of times, of which there must be some."""
    times = np.fromiter(seconds, dtype=float)
    if not len(times):
        msg = "there must be at least one answer to speak of, got none"
        raise InvalidInputError(msg)
    median, p95, p99, slowest = np.quantile(times, [0.5, 0.95, 0.99, 1.0]).tolist()
    return Latencies(count=len(times), median=median, p95=p95, p99=p99, slowest=slowest)
