"""How much sound, tags and names matter to one listener: prior variances that follow the evidence.

People differ in what their taste follows, so that no one prior suits all of them. A few kinds of
listeners stand for them, each with its share π_j. Whenever the answers together weigh √2 times as
much, from 8 on, the first n that do say how likely each kind is, and every variance κ of the prior
becomes the mean over the kinds:

    w_j ∝ π_j p(D_n | kind j)  (44)        κ = Σ w_j κ_j  (45)

The variances are a function of the history alone: all at once, one answer after the other or after
an undo, the same answers have the same prior.
"""

from dataclasses import replace
from math import isqrt
from typing import Final

import numpy as np
from scipy.special import logsumexp, softmax

from bandstand.core.engines.exact.posterior import conjugate, recovery_grid
from bandstand.core.engines.exact.posterior.effects_solver import EffectSolver
from bandstand.core.model.history import History
from bandstand.core.model.priors import EffectPrior, ListenerKind, ListenerPrior, PreferencePrior
from bandstand.types import Vector

# Of fewer answers every kind is about as likely as before.
FIRST: Final = 8
# Recovery times over which a kind's evidence is summed up: this number in the prior's interval,
# and of these only where the prior is less than this many nats below its highest.
_TIMES, _DEPTH = 25, 8.0


def are_due(prior: ListenerPrior, history: History) -> bool:
    """Return whether the variances change with the last answer."""
    return bool(prior.kinds) and _deciding(history) == len(history) > 0


def scaled(prior: ListenerPrior, history: History) -> ListenerPrior:
    """Return the prior with the variances that suit a listener with this history."""
    if not prior.kinds:
        return prior
    return _blended(prior, kind_weights(prior, history.first(_deciding(history))))


def _deciding(history: History) -> int:
    """Return how many of the first answers decide: those that weigh the last whole √2ᵏ reached."""
    weights = np.cumsum(history.weights)
    whole = int(weights[-1]) if len(weights) else 0
    if whole < FIRST:
        return 0
    reached = isqrt(1 << (((whole + 1) ** 2 - 1).bit_length() - 1))
    return 1 + int(np.searchsorted(weights, reached))


def kind_weights(prior: ListenerPrior, history: History) -> Vector:
    """Return how likely each kind of listener is after these answers."""
    logs = [np.log(kind.share) + _log_evidence(prior, kind, history) for kind in prior.kinds]
    weights: Vector = softmax(logs)
    return weights


def _log_evidence(prior: ListenerPrior, kind: ListenerKind, history: History) -> float:
    """Return log p(D | kind), up to what all kinds share."""
    if not len(history):
        return 0.0
    own = _with(prior, kind.variances, kind.effects)
    nodes = np.linspace(*prior.recovery.interval(), _TIMES)
    density = prior.recovery.log_density(nodes)
    likely = density > density.max() - _DEPTH
    found = EffectSolver(own, history).at(recovery_grid.times(nodes[likely]))
    evidence = found.log_evidence(conjugate.shape(prior, history.weights))
    return float(logsumexp(density[likely] + evidence) - 0.5 * np.log(kind.variances).sum())


def _blended(prior: ListenerPrior, weights: Vector) -> ListenerPrior:
    variances = weights @ [kind.variances for kind in prior.kinds]
    artist, album, song = weights @ [
        (kind.effects.artist, kind.effects.album, kind.effects.song) for kind in prior.kinds
    ]
    return _with(prior, variances, EffectPrior(artist=artist, album=album, song=song))


def _with(prior: ListenerPrior, variances: Vector, effects: EffectPrior) -> ListenerPrior:
    preference = PreferencePrior.independent(prior.preference.mean, variances)
    return replace(prior, preference=preference, effects=effects)
