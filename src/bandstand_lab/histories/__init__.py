"""Listening histories: what people's own exports say about how music is repeated.

opening       files as streams of bytes: plain, .gz, the members of a .zip
tables        plain CSV, Last.fm's exports and its 1K data set; `layouts` finds the columns
entries       the entries of a JSON file one by one; `services` finds whose export it is
spotify, listenbrainz   what such entries mean
gathering     plays as they come, and what is left out; `merging` makes histories of them
gaps, skips   how long until a song comes back; how often a play is cut short
recovery      what the gaps say about novelty
findings      all of it, for each listener and together

Nothing here writes a file, opens a connection or keeps anything.
"""

from bandstand_lab.histories.findings import Findings, ListenerFindings, examine
from bandstand_lab.histories.reading import read
from bandstand_lab.histories.values import Histories, History, LeftOut, Source

__all__ = [
    "Findings",
    "Histories",
    "History",
    "LeftOut",
    "ListenerFindings",
    "Source",
    "examine",
    "read",
]
