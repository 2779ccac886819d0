"""Speed of the algorithms, as ratios measured in one run: training, and one online step."""
