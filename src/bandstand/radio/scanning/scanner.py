"""Keep the store up to date with the library, in the background.

One thread scans when it starts, when it is asked to, and every so often. Whatever goes wrong (a
disk that is not mounted, a store that somebody else holds) is told in `progress`, and tried again
a little later; the server goes on with what it has.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError
from bandstand.library.analysers import LocalAnalyser
from bandstand.radio.scanning.refreshing import Refresher
from bandstand.radio.scanning.scan_progress import Board, Progress
from bandstand.radio.scanning.scan_round import Round, Stoppable, StoppedError
from bandstand.store.songs.scans import ScanCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bandstand.radio.clock import Clock
    from bandstand.store.database.connection import Store

_log: Final = logging.getLogger("bandstand.scan")

# Children that read files stand back for those who listen.
_NICENESS: Final = 10
_MINUTES_AFTER_TROUBLE: Final = 5
_PATIENCE: Final = 5.0  # seconds in which a scan must have stopped
_INSIST_EVERY: Final = 0.2


class Scanner:
    """A thread that scans folders; `start` begins and `stop` ends it."""

    def __init__(
        self,
        store: Store,
        folders: Sequence[str],
        *,
        clock: Clock,
        rescan_minutes: int = 60,
        workers: int = 0,
        on_refresh: Callable[[], None] = lambda: None,
        seed: int = 1,
    ) -> None:
        self._store = store
        self._folders = tuple(folders)
        self._clock = clock
        self._rescan_minutes = rescan_minutes
        self._workers = workers or None
        self._on_refresh = on_refresh
        self._seed = seed
        self._board = Board()
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self._retry = False
        self._analyser: LocalAnalyser | None = None
        self._thread = threading.Thread(target=self._run, name="scanner", daemon=True)

    @property
    def progress(self) -> Progress:
        """How far it is, as a value that does not change any more."""
        return self._board.progress

    @property
    def is_busy(self) -> bool:
        """Whether a scan is under way, or about to begin."""
        return not self._stopping.is_set() and (self._wanted.is_set() or self.progress.is_busy)

    @property
    def has_folders(self) -> bool:
        """Whether there is anything to scan."""
        return bool(self._folders)

    def start(self) -> None:
        """Begin to scan, unless there is no folder to look at."""
        if self._folders:
            self._wanted.set()
            self._thread.start()

    def request(self, *, retry: bool = False) -> bool:
        """Return whether a scan begins now; False if one is under way, which is as good.

        With `retry`, files that failed before are read again although they have not changed.
        """
        if not self._folders or self._stopping.is_set() or self.is_busy:
            return False
        self._retry = retry
        self._wanted.set()
        return True

    def stop_soon(self) -> None:
        """Tell it to stop, without waiting."""
        self._stopping.set()
        self._wanted.set()

    def stop(self) -> bool:
        """Return whether all has come to rest, after telling it to; what was found is kept.

        Whatever reads a file at this moment is ended, and that file is read by the next scan.
        """
        self.stop_soon()
        until = time.monotonic() + _PATIENCE
        while self._thread.is_alive() and time.monotonic() < until:
            if self._analyser is not None:
                self._analyser.interrupt()
            self._thread.join(_INSIST_EVERY)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause: float | None = None
        while not self._stopping.is_set():
            self._wanted.wait(pause)
            if self._stopping.is_set():
                break
            retry, self._retry = self._retry, False
            self._begin()
            self._wanted.clear()
            problem = self._tried(retry=retry)
            pause = self._pause(problem)
            self._end(problem, pause)
        self._board.note(state="stopped", next_at=None)

    def _begin(self) -> None:
        self._board.note(
            state="counting",
            counts=ScanCounts(),
            started_at=self._clock(),
            finished_at=None,
            next_at=None,
        )

    def _end(self, problem: str | None, pause: float | None) -> None:
        now = self._clock()
        self._board.note(
            state="idle",
            files_per_second=None,
            problem=problem,
            finished_at=now,
            next_at=None if pause is None else now + round(1_000 * pause),
        )

    def _pause(self, problem: str | None) -> float | None:
        """Return how many seconds to wait for the next scan; None is for ever."""
        if not self._rescan_minutes:
            return None
        minutes = self._rescan_minutes
        return 60.0 * (minutes if problem is None else min(minutes, _MINUTES_AFTER_TROUBLE))

    def _tried(self, *, retry: bool) -> str | None:
        """Return what was wrong with a scan, if anything, in one sentence."""
        try:
            return self._scanned(retry=retry)
        except StoppedError:
            return None
        except (BandstandError, OSError) as problem:
            if self._stopping.is_set():  # the store is closed by now, or the children ended
                return None
            _log.warning("The scan failed: %s", problem)
            return str(problem)
        except Exception as problem:  # noqa: BLE001  # the server outlives any mistake in here
            _log.exception("The scan failed.")
            return f"the scan failed: {type(problem).__name__}"

    def _scanned(self, *, retry: bool) -> str | None:
        refresher = Refresher(self._store, clock=self._clock, on_refresh=self._on_refresh)
        self._board.note(songs=refresher.songs)
        with LocalAnalyser(workers=self._workers, niceness=_NICENESS) as analyser:
            self._analyser = analyser
            try:
                look = Round(
                    self._store,
                    analyser=Stoppable(analyser, self._stopping),
                    refresher=refresher,
                    board=self._board,
                    clock=self._clock,
                    seed=self._seed,
                )
                problem = look.run(self._folders, retry=retry)
                self._board.note(isolation=analyser.isolation() or self.progress.isolation)
            finally:
                self._analyser = None
        if problem is not None:
            _log.warning("After the scan: %s", problem)
        return problem
