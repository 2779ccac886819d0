"""All songs in memory: the feature matrix, columns, names and neighbours."""
