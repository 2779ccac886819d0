"""Listening histories: repetition and novelty in exports of other services.

Nothing here writes a file, opens a connection or keeps anything. `bandstand.music.histories` reads
the files.
"""

from bandstand_lab.histories.findings import AllFindings, Findings, examine
from bandstand_lab.histories.plays import UNNAMED, Histories, LeftOut, PlayHistory, Source, read

__all__ = [
    "UNNAMED",
    "AllFindings",
    "Findings",
    "Histories",
    "LeftOut",
    "PlayHistory",
    "Source",
    "examine",
    "read",
]
