"""Exact Bayes-UCB against Bayes-UCB by MCMC: whether it is as good, and how much faster.

design     what is run
runs       the jobs
study      the chapter
"""

from bandstand_lab.paper.equivalence.study import STUDY

__all__ = ["STUDY"]
