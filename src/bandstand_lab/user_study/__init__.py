"""The report of a study with people: what they rated, and how far it can be trusted.

command        the folder of a report: the page, its numbers, and an export of all ratings
page           the page; a report follows from the ratings alone, so an export gives it again
answer         what was found, in one paragraph
ratings        the average rating after n songs
comparisons    every pair of algorithms, tested after every song
uncertainty    how unsure the exact model still is about the songs
repetition     how often songs came back
novelty        the curves that were learnt of people
participation  who did what, which rules were kept, and what could have told on an algorithm

People are called P1, P2 and so on, here as in the export; nobody's account is named.
"""
