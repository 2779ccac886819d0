"""Simulated listeners, and the regret of a recommender that plays for one."""
