"""Samplers of the exact and the approximate model, with their diagnostics."""
