"""Everything that can be computed without a disk: the model, engines, policies, the recommender."""
