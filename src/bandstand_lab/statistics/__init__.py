"""Statistics of measurements: means, paired tests, corrections, rank laws; no radio here."""
