"""Which radio has the least regret: the paper's Figure 7, at two scales and two noise levels.

design     what is run
runs       the jobs
variants   the variational radio with one thing changed
outcome    results as tables
findings   the claims; `causes` and `growth` have theirs
drawings   the figures
study      the chapter
"""

from bandstand_lab.paper.effectiveness.study import STUDY

__all__ = ["STUDY"]
