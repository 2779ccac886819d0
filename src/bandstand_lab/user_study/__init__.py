"""The report of a study with people: their ratings, and how far they can be trusted.

People are called P1, P2 and so on, here as in the export; no account is named. The report follows
from the ratings alone, so an export gives it again.
"""
