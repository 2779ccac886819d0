"""Scans that are killed or interrupted: the parent alone, at any moment."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.children import started
from tests.cli.running import environment
from tests.music.library.leftovers import adopting, children, orphans
from tests.music.library.scan_command import command
from tests.music.library.scanned_library import song, tagged

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

FILES = 100  # more than go into one transaction, so that a scan is killed between two of them


_STATE = """
    SELECT coalesce(max(number), 0), (SELECT count(*) FROM file WHERE seen = max(number)) FROM scan
"""


def make_library(folder: Path, *, files: int = FILES) -> None:
    """Fill a folder with small files of all kinds, every sixth of them bad."""
    for number in range(files):
        place = folder / f"album {number // 10}"
        place.mkdir(parents=True, exist_ok=True)
        if number % 6 == 5:
            (place / f"{number}.ogg").write_bytes(b"no music" * number)
        elif number % 6 == 4:
            (place / f"{number}.mp3").write_bytes(tagged(number, f"Song {number}"))
        else:
            (place / f"{number}.wav").write_bytes(song(number))


def rearrange(folder: Path) -> None:
    """Rename, move, swap, change, copy, break and remove some of the files."""
    (folder / "album 0").rename(folder / "album zero")
    (folder / "album 1" / "10.mp3").rename(folder / "album 2" / "ten.mp3")
    (folder / "album 3" / "30.wav").rename(folder / "aside")
    (folder / "album 3" / "31.wav").rename(folder / "album 3" / "30.wav")
    (folder / "aside").rename(folder / "album 3" / "31.wav")
    (folder / "album 4" / "48.wav").write_bytes(song(1_000))
    (folder / "album 5" / "50.wav").write_bytes(b"broken")
    (folder / "album 5" / "53.ogg").write_bytes(song(1_001))
    (folder / "album 6" / "copy.wav").write_bytes(song(60))
    (folder / "album 7" / "72.wav").unlink()
    for number in range(1_100, 1_166):
        (folder / "album 8" / f"{number}.wav").write_bytes(song(number))


def end_scans(
    library: Path, store: Path, *, signals: Sequence[signal.Signals], rng: np.random.Generator
) -> list[int]:
    """Start a scan and end it by a signal, again and again.

    Return how many files each had recorded by then, of those that had not ended before.
    """
    recorded = [0]
    with adopting():
        before = children()
        for number in signals:
            moment = _drawn(store, rng, recorded[-1])
            if _start_and_end(library, store, moment, number) != 0:
                recorded.append(max(moment.reached(), recorded[-1]))
            # Children notice that their parent is gone, and end by themselves.
            assert not orphans(before)
    return recorded[1:]


def _drawn(store: Path, rng: np.random.Generator, recorded: int) -> _Moment:
    """Return a moment: soon after the start, soon after the scan began, or soon after it got on."""
    kinds = [(None, 1.5), (0, 0.3), (recorded + 1, 0.05), (recorded + 1, 0.05)]
    wanted, within = kinds[rng.integers(len(kinds))]
    return _Moment(store, recorded=wanted, more=rng.uniform(0, within))


class _Moment:
    """The moment after a number of recorded files and some more seconds."""

    def __init__(self, store: Path, *, recorded: int | None, more: float) -> None:
        self._address = f"file:{quote(str(store))}?mode=ro"
        self._recorded = recorded
        self._more = more
        self._last = self._state()[0]

    def wait(self, process: subprocess.Popen[bytes]) -> None:
        """Return at the moment, or when the scan has ended."""
        while process.poll() is None and not self._has_come():
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self._more)

    def reached(self) -> int:
        """Return how many files the scan has recorded."""
        number, recorded = self._state()
        return recorded if number > self._last else 0

    def _has_come(self) -> bool:
        if self._recorded is None:
            return True
        number, recorded = self._state()
        return number > self._last and recorded >= self._recorded

    def _state(self) -> tuple[int, int]:
        """Return the number of the newest scan, and how many files it has met."""
        try:
            with closing(sqlite3.connect(self._address, uri=True)) as connection:
                return connection.execute(_STATE).fetchone()  # type: ignore[no-any-return]
        except sqlite3.OperationalError:  # it is not there yet, or has no tables
            return 0, 0


def _start_and_end(library: Path, store: Path, moment: _Moment, number: signal.Signals) -> int:
    """Return the exit code of a scan that gets a signal at some moment."""
    with started(
        command(library, store=store),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        moment.wait(process)
        process.send_signal(number)
        return int(process.wait())
