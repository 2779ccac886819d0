"""Outlines that are simply given, for tests of what is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.inference.shortlist.outline import Outline

if TYPE_CHECKING:
    from bandstand.inference.shortlist.anchor import Anchor
    from bandstand.inference.shortlist.outline import Expectation
    from bandstand.types import Matrix, Vector


@dataclass(frozen=True, kw_only=True, eq=False)
class GivenView:
    """A belief whose outline is known; songs recover evenly within `longest` minutes."""

    centres: Matrix
    spread: Matrix
    slack: float = 0.0
    longest: float = 1_000.0
    expects: object = None
    later: Expectation | None = None

    @classmethod
    def drawn(cls, rng: np.random.Generator, columns: int, *, size: float = 1.0) -> GivenView:
        """Return centres that hardly differ, and a spread of some directions more than others."""
        centre = size * rng.normal(size=columns)
        centres = centre + 0.05 * size * rng.normal(size=(6, columns))
        root = rng.normal(size=(columns, columns)) * size * rng.uniform(0, 0.5, size=columns)
        return cls(centres=centres, spread=root @ root.T, slack=0.01 * size * rng.random())

    def outline(self) -> Outline:
        """Return all of it."""
        return Outline(centres=self.centres, spread=self.spread, slack=self.slack)

    def growth(self, anchor: Anchor) -> float:
        """Return how the spread compares with an earlier one."""
        return anchor.growth(self.spread)

    def recovered(self, elapsed: Vector) -> Vector:
        """Return the share of `longest` that has passed."""
        return np.asarray(elapsed / self.longest)

    def origin(self) -> Any:
        """Return nothing: `growth` asks the anchor itself."""

    def after_next(self) -> Expectation | None:
        """Return what was given."""
        return self.later

    def bounds(self, features: Any) -> Vector:
        """Return the bound of each song in double precision."""
        features = np.asarray(features, dtype=np.float64)
        wide = np.einsum("sp,pq,sq->s", features, self.spread, features)
        norms = np.sqrt((features**2).sum(axis=1))
        location = (features @ self.centres.T).max(axis=1)
        return np.asarray(location + np.sqrt(np.maximum(wide, 0.0)) + self.slack * norms)

    def moved(self, rng: np.random.Generator, share: float) -> GivenView:
        """Return the view after some answers: centres elsewhere, another spread."""
        size = np.abs(self.centres).max()
        columns = self.centres.shape[1]
        root = np.linalg.cholesky(self.spread + 1e-9 * size**2 * np.eye(columns))
        root = root + share * 0.1 * size * rng.normal(size=root.shape)
        return GivenView(
            centres=self.centres + share * size * rng.normal(size=columns),
            spread=root @ root.T,
            slack=self.slack * rng.uniform(0.5, 1.5),
        )
