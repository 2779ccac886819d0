"""Tastes that the model cannot express: a battery of simulated worlds, and four rivals in them."""
