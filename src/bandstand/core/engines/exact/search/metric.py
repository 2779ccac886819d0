"""Lengths of vectors in units in which any song's √(x'Fx) bounds their product with it.

F is the covariance Λ⁻¹ of one node of a belief, so that for every vector d

    |d'x| ≤ length(d)·√(x'Fx),    length(d)² = d'F⁻¹d

and the covariances of all other nodes, and of all later beliefs, are multiples of F at most:

* Λ_s = V₀⁻¹ + Σ w u(t; s)² xx' falls as s grows, so that x'Λ_s⁻¹x grows with s;
* but not faster than u² falls: u(t; s)/u(t; s') ≤ r(s, s') = the same at the shortest t of all
  answers, for s < s', hence x'Λ_s'⁻¹x ≤ r² x'Λ_s⁻¹x;
* more answers, and planned plays, only make Λ larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from bandstand.core.engines.exact.search.grid_constants import log_novelty

if TYPE_CHECKING:
    from bandstand.core.engines.exact.posterior.belief import ExactBelief
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.types import Matrix, Vector

# Added in every direction, as a share of the largest: F then has an inverse of some digits.
_LEAST: Final = 1e-10
# Of covariances, which rank-one updates have rounded many times, and of lengths.
_ROUNDING: Final = 1e-6
_LARGEST_LOGARITHM: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """The metric of one node of a belief."""

    prior: ListenerPrior
    history: History
    log_time: float  # y of the node
    shortest: float  # elapsed time of all answers
    form: Matrix  # F
    root: Matrix  # lower triangle L, LL' = F

    @classmethod
    def of(cls, belief: ExactBelief, node: int) -> Metric | None:
        """Return the metric of a node; None where its covariance has no root."""
        form = belief.learned_at(node) * (1 + _ROUNDING)
        diagonal = form.reshape(-1)[:: len(form) + 1]
        diagonal += _LEAST * float(diagonal.max())
        root, failed = dpotrf(form, lower=1, clean=1)
        if failed or not np.isfinite(root).all():
            return None
        return cls(
            prior=belief.prior,
            history=belief.history,
            log_time=float(belief.log_recovery_times[node]),
            shortest=float(belief.history.elapsed.min(initial=np.inf)),
            form=form,
            root=root,
        )

    def suits(self, belief: ExactBelief) -> bool:
        """Return whether it bounds the covariances of a belief: one of the same or more answers."""
        return belief.prior is self.prior and belief.history.continues(self.history)

    def lengths(self, vectors: Matrix) -> Vector:
        """Return √(d'F⁻¹d) of each row d, rounded up: (n,)."""
        whitened, _ = dtrtrs(self.root, vectors.T, lower=1)
        return np.asarray(np.sqrt(np.einsum("pn,pn->n", whitened, whitened)) * (1 + _ROUNDING))

    def growth(self, log_times: Vector) -> Vector:
        """Return how many times √(x'Fx) a covariance at y has at most: 1 before the node."""
        here, there = np.array([self.log_time]), log_times
        fall = log_novelty(self.shortest, here) - log_novelty(self.shortest, there)
        return np.asarray(np.exp(np.clip(fall, 0.0, _LARGEST_LOGARITHM)))

    @property
    def nbytes(self) -> int:
        """The size of what is kept beside the history."""
        return int(self.form.nbytes + self.root.nbytes)
