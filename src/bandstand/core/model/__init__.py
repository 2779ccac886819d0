"""The rating model as values and mathematics: songs, histories, curves, priors, distributions."""
