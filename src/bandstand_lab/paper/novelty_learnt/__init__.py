"""The novelty curve as the variational engine learns it: the paper's Figure 13.

learning  jobs: a listener's ratings, and the curve learnt from them
measures  how far it is from the truth, and how often the band holds it
drawing   four listeners
study     the jobs and the chapter
"""

from bandstand_lab.paper.novelty_learnt.study import STUDY

__all__ = ["STUDY"]
