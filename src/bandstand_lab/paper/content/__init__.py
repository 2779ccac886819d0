"""How much songs' features tell about ratings: the paper's check of its content model.

jobs      raters, of a file or simulated, cross-validated in parts
findings  the paper's claims beside what was measured, by stated rules
drawing   errors against how much of the taste lies in the features
study     the jobs and the chapter
"""

from bandstand_lab.paper.content.study import STUDY

__all__ = ["STUDY"]
