"""Exact top-k over a catalogue by branch and bound: bounds of all songs, exact values of few."""
