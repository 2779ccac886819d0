"""Run a command of Bandstand as if it were another time: its one clock starts at a moment.

    python another_time.py MILLISECONDS python -m bandstand serve …

To be put before the command of a server (`Server.wrapper`).
"""

from __future__ import annotations

import sys
import time

from bandstand.cli import main
from bandstand.radio import clock


def start_at(moment: int) -> None:
    """Let the clock of the radio show `moment` now, and go on from there."""
    ahead = moment - clock.system_clock()
    # Whoever wants the time asks the module for it later than this.
    clock.system_clock = lambda: ahead + time.time_ns() // 1_000_000


if __name__ == "__main__":
    start_at(int(sys.argv[1]))
    sys.exit(main(sys.argv[5:]))
