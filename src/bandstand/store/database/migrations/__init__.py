"""The steps that made the tables, one module for each version."""
