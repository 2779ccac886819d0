"""Ratings explained by a song's features: the paper's check of Uc."""
