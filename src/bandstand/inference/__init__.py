"""From a history to a belief: one engine behind one protocol (`engine.py`).

exact          quadrature over the recovery time, everything else in closed form; the default
mcmc           collapsed slice sampling of the exact model; the paper's Bayes-UCB-CN
variational    mean field for any number of factors; the paper's Bayes-UCB-CN-V
least_squares  L-BFGS-B, plain (the paper's Greedy-CN) or with the prior as penalty
ridge          ridge regression with LinUCB's widths
uniform        learns nothing

`gibbs` and `metropolis` are samplers to compare with, `diagnostics` says whether to trust one.
"""
