"""Simulated listeners, and what becomes of a radio that plays for one.

listener    people with a known taste, so that learning can be judged
clock       when each song is played
session     one radio and one listener, song by song, with the regret
streams     randomness by seed, use, run and step
worlds      where the songs and the listener of a run come from
tables      CSV files that worlds are made of
trace       what one algorithm did for one listener
experiment  several algorithms and the same listeners, on any number of processes
catalogue   made-up songs with names
"""
