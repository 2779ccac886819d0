"""How much sound, tags and names matter to one listener: prior variances that follow the evidence.

People differ in what their taste follows, so that no one prior suits all of them. A few kinds of
listeners stand for them, each with its share π_j. Whenever the number of answers has grown by √2,
from 8 on, these n answers say how likely each kind is, and every variance κ of the prior becomes
the geometric mean over the kinds:

    w_j ∝ π_j p(D_n | kind j, s)  (44)        κ = Π κ_j^{w_j}  (45)

with s at the middle of its prior. The variances are a function of the history alone: all at once,
one answer after the other or after an undo, the same answers have the same prior.
"""

from __future__ import annotations

from dataclasses import replace
from math import isqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import softmax

from bandstand.core.engines.exact.posterior import conjugate, recovery_grid
from bandstand.core.engines.exact.posterior.effects_solver import EffectSolver
from bandstand.core.model.priors import EffectPrior, PreferencePrior

if TYPE_CHECKING:
    from bandstand.core.model.history import History
    from bandstand.core.model.priors import ListenerKind, ListenerPrior
    from bandstand.types import Vector

# With fewer answers every kind is about as likely as before.
FIRST: Final = 8


def are_due(prior: ListenerPrior, answers: int) -> bool:
    """Return whether the variances change with the answer of this number."""
    return bool(prior.kinds) and answers >= FIRST and _weighed(answers) == answers


def scaled(prior: ListenerPrior, history: History) -> ListenerPrior:
    """Return the prior with the variances that suit a listener with this history."""
    if not prior.kinds:
        return prior
    count = _weighed(len(history)) if len(history) >= FIRST else 0
    return _blended(prior, kind_weights(prior, history.first(count)))


def _weighed(answers: int) -> int:
    """Return the largest of the whole parts of √2⁰, √2¹, … that is not above this number."""
    return isqrt(1 << (((answers + 1) ** 2 - 1).bit_length() - 1))


def kind_weights(prior: ListenerPrior, history: History) -> Vector:
    """Return how likely each kind of listener is after these answers."""
    logs = [np.log(kind.share) + _log_evidence(prior, kind, history) for kind in prior.kinds]
    weights: Vector = softmax(logs)
    return weights


def _log_evidence(prior: ListenerPrior, kind: ListenerKind, history: History) -> float:
    """Return log p(D | kind, s), up to what all kinds share."""
    if not len(history):
        return 0.0
    own = _with(prior, kind.variances, kind.effects)
    middle = np.atleast_1d(np.mean(prior.recovery.interval()))
    found = EffectSolver(own, history).at(recovery_grid.times(middle))
    evidence = found.log_evidence(conjugate.shape(prior, len(history)))
    return float(evidence[0] - 0.5 * np.log(kind.variances).sum())


def _blended(prior: ListenerPrior, weights: Vector) -> ListenerPrior:
    variances = np.exp(weights @ [np.log(kind.variances) for kind in prior.kinds])
    effects = np.exp(
        weights
        @ [
            np.log((kind.effects.artist, kind.effects.album, kind.effects.song))
            for kind in prior.kinds
        ]
    )
    artist, album, song = effects.tolist()
    return _with(prior, variances, EffectPrior(artist=artist, album=album, song=song))


def _with(prior: ListenerPrior, variances: Vector, effects: EffectPrior) -> ListenerPrior:
    preference = PreferencePrior.independent(prior.preference.mean, variances)
    return replace(prior, preference=preference, effects=effects)
