"""The paper's Figures 2 and 3 on real histories: how much is repeated, and Zipf's law.

people    jobs: what one file of histories says of everybody in it
findings  the paper's claims beside what was measured, by stated rules
drawings  the figures
study     the chapter
"""

from bandstand_lab.paper.histories.study import STUDY

__all__ = ["STUDY"]
