"""A million songs and thousands of listeners: what it takes, measured beside references."""
