"""Three minutes of steady listening: what is held does not grow (G4)."""

import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.fixtures.faults.load import Listeners, problems, tell
from tests.fixtures.faults.servers import NAMES, harmed, song_ids

MINUTES = 3.0
PACE = 20.0  # ratings in a second
WARM = 45.0  # seconds; only then is growth looked for
# Megabytes in a minute. What grows with the log (a ledger, a history) is a hundredth of that.
STEEPEST = 5.0


class Sample(NamedTuple):
    """What a server holds at one moment."""

    seconds: float
    megabytes: float
    files: int
    log: int  # bytes of the write-ahead log


def sample(number: int, store: str, began: float) -> Sample:
    pages = int(Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1])
    return Sample(
        seconds=time.monotonic() - began,
        megabytes=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        files=len(list(Path(f"/proc/{number}/fd").iterdir())),
        log=Path(f"{store}-wal").stat().st_size,
    )


@pytest.mark.long
def test_what_a_server_holds_does_not_grow(tmp_path: Path) -> None:
    with harmed(tmp_path) as server:
        assert server.process is not None
        songs, number, samples = song_ids(server), server.process.pid, []
        clients = [server.client(name) for name in NAMES]
        began = time.monotonic()
        with Listeners(server, NAMES, songs, pause=len(NAMES) / PACE) as listeners:
            while time.monotonic() < began + 60 * MINUTES:
                for client in clients:
                    assert client.get("/api/next").status_code == 200
                samples.append(sample(number, server.store, began))
                time.sleep(1.0)
        assert listeners.refused == []
        assert listeners.unanswered == 0
        server.kill()
        assert problems(server.store, listeners.acknowledged) == []
    warm = [each for each in samples if each.seconds > WARM]
    slope = 60 * np.polyfit([it.seconds for it in warm], [it.megabytes for it in warm], 1)[0]
    files = [it.files for it in warm]
    tell(
        f"{len(listeners.acknowledged)} ratings: {warm[-1].megabytes:.0f} MB, {slope:+.2f} MB a "
        f"minute; {min(files)} to {max(files)} open files; log {warm[-1].log / 1e6:.1f} MB"
    )
    assert slope < STEEPEST
    assert max(files) - min(files) < 20
    assert max(it.log for it in samples) < 64e6
