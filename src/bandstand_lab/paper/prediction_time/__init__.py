"""Prediction time: how long it takes to find the song to play, once all is learnt.

quantiles   the paper's Monte Carlo, and adaptive quadrature
contenders  everything that is timed
measuring   the jobs
results     what the jobs amount to: ratios, growth, accuracy
claims      the verdicts
study       the chapter
"""

from bandstand_lab.paper.prediction_time.study import STUDY

__all__ = ["STUDY"]
