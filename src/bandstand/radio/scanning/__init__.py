"""The library in the background: a first look, whole scans, and what they have come to."""
