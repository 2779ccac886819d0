"""A program that makes some pieces of the demo library, given FOLDER SEED NUMBER….

It says the number of each piece when the file is there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bandstand_demo.pieces import pieces
from bandstand_demo.writing import write


def main(folder: str, seed: str, *numbers: str) -> None:
    """Make the pieces with these numbers."""
    wanted = pieces(int(seed))
    for number in numbers:
        write(wanted[int(number)], Path(folder))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
