"""The dial from familiar to discover: the level of the quantile by which Bayes-UCB chooses.

At 0 it is the policy's own. Towards −1 it falls to the median, towards 1 it rises, both evenly in
standard deviations.
"""

from typing import Final

from scipy.special import ndtr, ndtri

from bandstand.core.policies import BayesUcb, ScorePolicy
from bandstand.core.policies.bayes_ucb import HIGHEST_LEVEL
from bandstand.errors import InvalidInputError

NOVELTY_BONUS: Final = 3.0  # stars, for songs never heard, at the discovering end
FAMILIAR_LEVEL: Final = 0.5
_DISCOVERY_DEVIATIONS: Final = 2.0  # standard deviations at the discovering end


def level(step: int, dial: float, policy: BayesUcb | None = None) -> float | None:
    """Return the level of the quantile for the song number `step`; None for the first.

    >>> level(20, 0.0), round(level(20, -1.0), 3), level(20, 1.0) > 0.999
    (0.95, 0.5, True)
    """
    if not -1 <= dial <= 1:
        msg = f"the dial must be between -1 and 1, got {dial!r}"
        raise InvalidInputError(msg)
    usual = (policy or BayesUcb()).level_at(step)
    if usual is None or dial == 0:
        return usual
    middle = float(ndtri(usual))
    end = middle + _DISCOVERY_DEVIATIONS
    if dial < 0:
        end = min(float(ndtri(FAMILIAR_LEVEL)), middle)
    return min(float(ndtr(middle + abs(dial) * (end - middle))), HIGHEST_LEVEL)


def policy_with(policy: ScorePolicy, *, step: int, dial: float) -> ScorePolicy:
    """Return the policy as the dial wants it for song number `step`."""
    if dial == 0 or not isinstance(policy, BayesUcb):
        return policy
    wanted = level(step, dial, policy)
    return policy if wanted is None else BayesUcb(level=wanted)
