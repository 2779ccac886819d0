"""Product or sum: U = Uc·Un against U = a·Uc + b·Un, with listeners of both kinds.

additive   an exact engine for the sum
listeners  people who add instead of multiply
runs       the jobs
study      the chapter
"""

from bandstand_lab.paper.ablation.study import STUDY

__all__ = ["STUDY"]
