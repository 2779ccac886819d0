"""The playlist study: how often each algorithm repeats which songs, and how people do.

settings  two ways to listen: weeks in a small library, and as long as the paper's subjects did
plays     jobs: what an algorithm plays for one listener
people    jobs: real histories, cut to be comparable
jobs      all of them
measures  slope, R², repeat share, curvature, law and distance
findings  the paper's claims beside what was measured, by stated rules
tables    the numbers to be read
drawings  the figures
words     the question and the method
study     the chapter
"""

from bandstand_lab.paper.repetition.study import STUDY

__all__ = ["STUDY"]
