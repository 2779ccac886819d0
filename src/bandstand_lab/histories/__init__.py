"""Listening histories: repetition and novelty in exports of other services.

Nothing here writes a file, opens a connection or keeps anything.
"""

from bandstand_lab.histories.findings import Findings, ListenerFindings, examine
from bandstand_lab.histories.formats import read
from bandstand_lab.histories.plays import UNNAMED, Histories, LeftOut, PlayHistory, Source

__all__ = [
    "UNNAMED",
    "Findings",
    "Histories",
    "LeftOut",
    "ListenerFindings",
    "PlayHistory",
    "Source",
    "examine",
    "read",
]
