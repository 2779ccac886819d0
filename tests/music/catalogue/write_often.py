"""Writes catalogues one after the other.

Usage: python write_often.py FOLDER FIRST_VALUE TIMES
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.music.catalogue.small_catalogues import mark, write_marked

if __name__ == "__main__":
    folder, value, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for number in range(times):
        written = write_marked(folder, value + number, 5 + number % 3)
        assert mark(written) == value + number
