"""What the exact engine believes: the posterior of (θ, s, τ) as a mixture over a grid in log s.

code                    maths   shape      meaning, for each node g of a grid in y = log s
`grid`                  y_g     (G,)       the nodes, in rising order
`means`                 m_g     (G, p)     expected preference given s_g
`learned`               Λ_g⁻¹   (G, p, p)  covariance of θ given s_g, in units of the noise variance
`log_determinants`              (G,)       log|Λ_g|, and what effects add to it (39)
`rates`                 B_g     (G,)       rate of the noise precision given s_g
`shape`                 A                  its shape, the same for all nodes

A planned play (`with_planned_play`) makes Λ larger, and nothing else changes.
`spread` is Λ⁻¹ with planned plays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bandstand.core.engines.exact.posterior import recovery_grid, song_effects
from bandstand.core.engines.exact.posterior.song_effects import ExpectedEffects
from bandstand.core.model.novelty import novelty
from bandstand.core.model.song_groups import SongGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.core.engines.exact.posterior.covariance_stack import CovarianceStack
    from bandstand.core.engines.exact.posterior.recovery_grid import RecoveryGrid
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Indices, Matrix, Stack, Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlannedPlay:
    """A song that is going to be heard, `elapsed` minutes after its last play."""

    features: Vector
    elapsed: float
    groups: SongGroups  # of this one song


@dataclass(frozen=True, kw_only=True)
class ExactBelief:
    """The posterior of (θ, s, τ) as a mixture over the nodes of a grid in log s."""

    prior: ListenerPrior = field(repr=False)
    history: History
    shape: float
    grid: RecoveryGrid = field(repr=False)
    means: Matrix = field(repr=False)
    learned: CovarianceStack = field(repr=False)
    log_determinants: Vector = field(repr=False)
    rates: Vector = field(repr=False)
    is_converged: bool = True  # whether the grid holds the posterior to the promised digits
    updates: int = 0  # rank-one updates since the last factorisation
    before: ExactBelief | None = field(default=None, repr=False)  # without the last planned play
    planned: tuple[PlannedPlay, ...] = field(default=(), repr=False)

    def with_planned_play(self, play: PlannedPlay) -> ExactBelief:
        """Return the belief as if a song had been heard: only Λ grows, what is expected stays."""
        after = replace(self, before=self, planned=(*self.planned, play))
        # The evidence is the same, so is what follows from it.
        after.__dict__.update(log_density=self.log_density, weights=self.weights)
        if self.has_effects:
            after.__dict__.update(effects=self.effects)
        return after

    @property
    def has_planned_plays(self) -> bool:
        """Whether plays are counted that have not happened."""
        return self.before is not None

    @cached_property
    def spread(self) -> CovarianceStack:
        """Λ⁻¹ of every node, with planned plays."""
        steps = [self]
        while steps[-1].before is not None and "spread" not in steps[-1].__dict__:
            steps.append(steps[-1].before)
        before = steps.pop()
        spread = before.spread if before.before is not None else before.learned
        for belief in reversed(steps):
            play = belief.planned[-1]
            curve = novelty(play.elapsed, self.grid.nodes)[:, np.newaxis]
            towards, variance = before.towards(spread, play.features, play.groups)
            growth = 1 + curve**2 * variance[:, np.newaxis]
            spread, before = spread.without(curve * towards / np.sqrt(growth)), belief
        return spread

    @cached_property
    def effects(self) -> ExpectedEffects:
        """What is expected of all artists, albums and songs with answers."""
        return ExpectedEffects.of(self)

    @property
    def has_effects(self) -> bool:
        """Whether songs of one artist, album or name have more in common than their features."""
        return self.prior.effects.total > 0

    def towards(
        self, spread: CovarianceStack, features: Vector, song: SongGroups
    ) -> tuple[Matrix, Vector]:
        """Return Λ⁻¹y and the variance y'Λ⁻¹y + v of one song at each node: (G, p) and (G,)."""
        if not self.has_effects:
            towards = spread.times(features)
            return towards, towards @ features
        rows, variance = song_effects.rows_of(self, features[np.newaxis], song)
        is_same = rows.shape[1] == 1
        towards = spread.times(rows[0, 0]) if is_same else spread.times_each(rows)[0]
        along = (towards * rows[0]).sum(axis=1)
        return towards, along + variance[0]

    def learned_at(self, node: int) -> Matrix:
        """Return Λ⁻¹ of one node without planned plays: (p, p)."""
        return np.array(self.learned.at([node])[0])

    @cached_property
    def log_density(self) -> Vector:
        """The logarithm of the posterior density at the nodes, up to a constant: (12).

        It is a density of v, in which the grid is even.
        """
        prior = self.prior.recovery.log_density(self.grid.log_nodes)
        evidence = -0.5 * self.log_determinants - self.shape * np.log(self.rates)
        return np.asarray(prior + evidence + self.grid.log_stretch)

    @cached_property
    def weights(self) -> Vector:
        """The weight of each node in the mixture: (G,), they sum to one."""
        return recovery_grid.weights(self.log_density)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of every component, 2A."""
        return 2 * self.shape

    @property
    def log_recovery_times(self) -> Vector:
        """The nodes y = log s: (G,)."""
        return self.grid.log_nodes

    @property
    def recovery_times(self) -> Vector:
        """The recovery time of each node in minutes: (G,)."""
        return self.grid.nodes

    @property
    def covariances(self) -> Stack:
        """Λ_g⁻¹ of every node written out, (G, p, p), which is more than most need."""
        return self.spread.dense

    def covariances_of(self, nodes: Indices | Sequence[int]) -> Stack:
        """Return Λ_g⁻¹ of some nodes: (n, p, p)."""
        return self.spread.at(nodes)

    def contents_of(self, features: Matrix, songs: SongGroups) -> Matrix:
        """Return what is expected of songs, if never heard, at each node: (n, G)."""
        contents: Matrix = features @ self.means.T
        if self.has_effects:
            for part in song_effects.parts_of(self, songs):
                contents += part
        return contents

    def variances_of(self, features: Matrix, songs: SongGroups | None = None) -> Matrix:
        """Return the variance of that in units of the noise variance: (n, G).

        Without `songs` they are like no other.
        """
        if not self.has_effects:
            return self.spread.variances_of(features)
        some = SongGroups.unknown(len(features)) if songs is None else songs
        rows, variance = song_effects.rows_of(self, features, some)
        if rows.shape[1] == 1:
            return self.spread.variances_of(rows[:, 0]) + variance
        along: Matrix = np.einsum("ngp,ngp->ng", self.spread.times_each(rows), rows)
        return np.asarray(np.maximum(along, 0.0) + variance)
