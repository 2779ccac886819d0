"""Listening histories: repetition and novelty in exports of other services.

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
