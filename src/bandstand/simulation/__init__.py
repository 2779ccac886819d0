"""Simulated listeners, and what becomes of a radio that plays for one.

listener   people with a known taste, so that learning can be judged
clock      when each song is played
session    one radio and one listener, song by song, with the regret
catalogue  made-up songs with names
"""
