"""The posterior on a grid of recovery times: conjugate updates, covariances, the grid itself."""
