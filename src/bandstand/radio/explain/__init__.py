"""Explanations of choices, and the profile of a listener."""
