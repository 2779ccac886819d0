"""The dial from familiar to discover: it moves the quantile that Bayes-UCB looks at (28).

    z(l, 0) = Φ⁻¹(1 − 1/l)          the paper's level at song l
    z(l, −1) = 0                    what is as likely to please more as less
    z(l, +1) = Φ⁻¹(1 − 1/l) + 2     what may turn out to be liked very much

and in a straight line between them; the level is Φ(z). Algorithms without a quantile have no
dial.

The quantile alone does not tell familiar from new: as long as little is known of how fast songs
recover, a song heard yesterday is less certain to please than one never heard, and a cautious
listener would get new songs only. So the dial also favours songs that were never heard, by up to
`FAVOUR` stars, or those that were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scipy.special import ndtr, ndtri

from bandstand.core.policies import BayesUcb
from bandstand.core.policies.bayes_ucb import HIGHEST_LEVEL
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.core.policies import ScorePolicy

FAMILIAR_LEVEL: Final = 0.5
FAVOUR: Final = 3.0  # stars, for songs never heard, at the discovering end
_BOLDER: Final = 2.0  # standard deviations at the end of the dial


def level(step: int, dial: float) -> float | None:
    """Return the level of the quantile for the song number `step`; None for the first.

    >>> level(20, 0.0), round(level(20, -1.0), 3), level(20, 1.0) > 0.999
    (0.95, 0.5, True)
    """
    if not -1 <= dial <= 1:
        msg = f"the dial must be between -1 and 1, got {dial!r}"
        raise InvalidInputError(msg)
    usual = BayesUcb().level_at(step)
    if usual is None or dial == 0:
        return usual
    middle = float(ndtri(usual))
    end = middle + _BOLDER if dial > 0 else min(float(ndtri(FAMILIAR_LEVEL)), middle)
    return min(float(ndtr(middle + abs(dial) * (end - middle))), HIGHEST_LEVEL)


def policy_with(policy: ScorePolicy, *, step: int, dial: float) -> ScorePolicy:
    """Return the policy as the dial wants it for song number `step`."""
    if not isinstance(policy, BayesUcb) or policy.level is not None:
        return policy
    wanted = level(step, dial)
    return policy if wanted is None or dial == 0 else BayesUcb(level=wanted)
