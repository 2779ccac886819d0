"""The novelty curve and straight lines: the paper's Figure 4, with the error of the fit.

chords   the best straight pieces on the curve, in closed form
drawing  curves, pieces and errors
study    the job and the chapter
"""

from bandstand_lab.paper.novelty_curves.study import STUDY

__all__ = ["STUDY"]
