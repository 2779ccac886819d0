"""Policies, which choose a song from what is believed: one file each.

policy       the song with the largest
`BayesUcb`   quantile at level 1 − 1/step (28); the paper's choice
`Thompson`   draw from the belief (29)
`Greedy`     mean
`LinUcb`     mean plus a multiple of the confidence width (31)
`Uniform`    random number
"""

from bandstand.core.policies.bayes_ucb import BayesUcb
from bandstand.core.policies.greedy import Greedy
from bandstand.core.policies.lin_ucb import LinUcb
from bandstand.core.policies.policy import Policy, ScorePolicy
from bandstand.core.policies.thompson import Thompson
from bandstand.core.policies.uniform import Uniform

__all__ = [
    "BayesUcb",
    "Greedy",
    "LinUcb",
    "Policy",
    "ScorePolicy",
    "Thompson",
    "Uniform",
]
