"""Policies, which choose a song from what is believed: one file each.

policy           the song with the largest
`BayesUcb`       quantile at level 1 − 1/step (28); the paper's choice
`Thompson`       draw from the belief (29)
`Optimistic`     max(draw, mean) (30)
`Greedy`         mean
`EpsilonGreedy`  mean, but now and then a random song
`LinUcb`         mean plus a multiple of the confidence width (31)
`Uniform`        random number
"""

from bandstand.core.policies.bayes_ucb import BayesUcb
from bandstand.core.policies.epsilon_greedy import EpsilonGreedy
from bandstand.core.policies.greedy import Greedy
from bandstand.core.policies.lin_ucb import LinUcb
from bandstand.core.policies.optimistic import Optimistic
from bandstand.core.policies.policy import Policy, ScorePolicy
from bandstand.core.policies.thompson import Thompson
from bandstand.core.policies.uniform import Uniform

__all__ = [
    "BayesUcb",
    "EpsilonGreedy",
    "Greedy",
    "LinUcb",
    "Optimistic",
    "Policy",
    "ScorePolicy",
    "Thompson",
    "Uniform",
]
