"""The paper's first example: two songs, of which the better one is hardly known.

example  the two songs, what is known of them, and what two policies make of it
drawing  beliefs before and after, and who plays which song
study    the jobs and the chapter
"""

from bandstand_lab.paper.worked_example.study import STUDY

__all__ = ["STUDY"]
