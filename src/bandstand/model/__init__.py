"""The rating model as mathematics: curves, priors, distributions."""
