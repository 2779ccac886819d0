"""What predictions have in common that are no belief about U: engines that learn one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bandstand.core.model.candidates import Choice
    from bandstand.types import Indices


class WithoutSpread:
    """The part of a prediction that is absent where p(U | D) is not known, only a point."""

    __slots__ = ()

    def standard_deviation(self) -> None:
        """Return None: there is no p(U | D)."""

    def quantile(self, level: float) -> None:
        """Return None: there is no p(U | D)."""

    def sample(self, rng: np.random.Generator, size: int) -> None:
        """Return None: there is no p(U | D)."""

    def best_by_quantile(
        self,
        level: float,  # noqa: ARG002
        count: int,  # noqa: ARG002
        allowed: Choice,  # noqa: ARG002
    ) -> Indices:
        """Return no rows, since there are no quantiles to compare."""
        return np.empty(0, dtype=np.intp)
