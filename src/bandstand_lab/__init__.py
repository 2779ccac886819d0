"""The evidence: simulated listeners, statistics, listening histories and the studies of the paper.

It imports the product, never the reverse.
"""
