"""The uncertainty study: how fast each algorithm finds out what a listener likes.

measure   jobs: the paper's metric along what one algorithm plays for one listener
findings  the paper's claims beside what was measured, by stated rules
study     the jobs and the chapter
"""

from bandstand_lab.paper.uncertainty.study import STUDY

__all__ = ["STUDY"]
