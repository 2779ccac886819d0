"""Keeps the store up to date with the library, in the background.

One thread scans when it starts, when a scan is requested, and at intervals. A round is a first
look if there is little to play, then a scan of the whole library; the catalogue is refreshed
meanwhile. Every problem (a disk that is not mounted, a store that is locked) is shown in
`progress`, and the scan is tried again a little later; the server goes on with what it has.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from bandstand.errors import BandstandError, InvalidInputError
from bandstand.music.catalogue import refresh
from bandstand.music.library.analysers import Analyser, Asked, LocalAnalyser, Outcome
from bandstand.music.library.scan import first_look, is_needed, sample_files, scan
from bandstand.music.library.walk import library_roots, shown, walk
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, projections, scans
from bandstand.store.songs.changes import identity
from bandstand.store.songs.scans import ScanCounts

# ── Progress ────────────────────────────────────────────────────────────────────────────

State: TypeAlias = Literal["idle", "first look", "counting", "scanning", "refreshing", "stopped"]

_NO_COUNTS: Final = ScanCounts()
_RATE_SECONDS: Final = 10.0  # seconds over which the rate is taken
_RATE_SAMPLES: Final = 50  # the rate is looked at this many times within these seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The work of the scanner, current and done; times are UTC, in milliseconds."""

    state: State = "idle"
    done: int = 0  # files
    total: int | None = None  # None while it is unknown
    files_per_second: float | None = None  # lately
    counts: ScanCounts = _NO_COUNTS
    songs: int = 0  # that can be played
    started_at: int | None = None  # of the scan under way, or of the last one
    finished_at: int | None = None  # None while one is under way, or was never finished
    next_at: int | None = None
    problem: str | None = None  # why the last scan failed, or what it could not reach
    isolation: str | None = None  # in words, what confined the decoders
    change: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether a scan is under way."""
        return self.state not in {"idle", "stopped"}

    def as_json(self) -> dict[str, Any]:
        """Return all fields, as a dict that JSON can hold."""
        return asdict(self)


class ProgressBoard:
    """The progress of one thread, which all others may read."""

    def __init__(self) -> None:
        self._now = Progress()
        self._recent: deque[tuple[float, int]] = deque()

    @property
    def progress(self) -> Progress:
        """The progress at this moment."""
        return self._now

    def note(self, **changes: Any) -> None:
        """Replace a part of the progress."""
        self._now = replace(self._now, change=self._now.change + 1, **changes)

    def begin(self, state: State, *, total: int | None) -> None:
        """Note that a piece of work begins."""
        self._recent.clear()
        self.note(state=state, done=0, total=total, files_per_second=None)

    def advance(self, done: int, **changes: Any) -> None:
        """Note the number of files done, and the recent rate."""
        moment = time.monotonic()
        recent = self._recent
        if not recent or moment - recent[-1][0] >= _RATE_SECONDS / _RATE_SAMPLES:
            recent.append((moment, done))
        while moment - recent[0][0] > _RATE_SECONDS and len(recent) > 1:
            recent.popleft()
        since, before = recent[0]
        rate = (
            (done - before) / (moment - since)
            if moment - since >= _RATE_SECONDS / _RATE_SAMPLES
            else None
        )
        total = self._now.total
        self.note(
            done=done,
            total=None if total is None else max(total, done),
            files_per_second=None if rate is None else round(rate, 2),
            **changes,
        )


# ── Keeping the catalogue up to date ────────────────────────────────────────────────────

_REFRESH_SECONDS: Final = 60.0  # seconds, …
_MIN_REFRESH_SECONDS: Final = 1.0  # … or sooner, when there are twice as many songs
_MIN_PAUSE_RATIO: Final = 20  # pauses are at least this many times as long as a refresh
# A projection from a first look knows few songs. One that was fitted on fewer than this is fitted
# again at the end of a scan that has found twice as many.
_MIN_SETTLED_SONGS: Final = 2_000


class CatalogueRefresher:
    """Refreshes the catalogue while songs come in, and then calls `on_refresh`."""

    def __init__(
        self, store: Store, *, clock: Callable[[], int], on_refresh: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_refresh = on_refresh
        self._song_changes: int | None = None
        self._ended = time.monotonic()
        self._pause = _REFRESH_SECONDS
        self.songs = self.count()

    def count(self) -> int:
        """Return how many songs can be played."""
        with self._store.reading() as connection:
            return files.counts(connection).songs

    def is_time(self, songs: int) -> bool:
        """Return whether to refresh, now that there are `songs` songs."""
        waited = time.monotonic() - self._ended
        soon = _MIN_REFRESH_SECONDS * self._pause / _REFRESH_SECONDS
        return waited > self._pause or (songs >= 2 * max(self.songs, 1) and waited > soon)

    def refresh(self, *, is_end: bool = False) -> None:
        """Refresh the catalogue if songs have come or gone; at the end of a scan, in any case.

        At the end, since titles may have changed, which the catalogue does not hold.
        """
        began = time.monotonic()
        with self._store.reading() as connection:
            changes = identity(connection).song_changes
            fitted = projections.latest(connection)
        self.songs = self.count()
        is_outgrown = fitted is not None and 2 * fitted.songs <= self.songs
        is_settled = fitted is not None and fitted.songs >= _MIN_SETTLED_SONGS
        if changes != self._song_changes or is_end:
            refit = is_end and is_outgrown and not is_settled
            refresh.refreshed(self._store, now=self._clock(), refit=refit)
            self._on_refresh()
        self._song_changes = changes
        self._ended = time.monotonic()
        self._pause = max(_REFRESH_SECONDS, _MIN_PAUSE_RATIO * (self._ended - began))


# ── One round over all folders ──────────────────────────────────────────────────────────


class StoppedError(Exception):
    """The scanner is to stop."""


class StoppableAnalyser:
    """An analyser that raises StoppedError once `stopping` is set.

    Files that were being read have no outcome then, and are read by the next scan.
    """

    def __init__(self, analyser: Analyser, stopping: threading.Event) -> None:
        self._analyser = analyser
        self._stopping = stopping

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Yield each file's analysis, or the reason why there is none, as they come."""
        for outcome in self._analyser.run(self._until_stopped(jobs)):
            self.check()
            yield outcome

    def _until_stopped(self, jobs: Iterable[Asked]) -> Iterator[Asked]:
        for asked in jobs:
            self.check()
            yield asked

    def check(self) -> None:
        """Raise StoppedError if it is time to stop."""
        if self._stopping.is_set():
            raise StoppedError


class ScanRound:
    """One round over all folders: a first look if needed, then a scan."""

    def __init__(
        self,
        store: Store,
        *,
        analyser: StoppableAnalyser,
        refresher: CatalogueRefresher,
        board: ProgressBoard,
        clock: Callable[[], int],
        seed: int,
    ) -> None:
        self._store = store
        self._analyser = analyser
        self._refresher = refresher
        self._board = board
        self._clock = clock
        self._rng = np.random.default_rng(seed)
        self._looked_at = 0  # songs that were recorded by a first look

    def run(self, folders: Sequence[str], *, retry: bool) -> str | None:
        """Scan the folders that can be reached, and return a problem with the others, if any."""
        roots, trouble = reachable(folders)
        if not roots:
            raise InvalidInputError(trouble or "a folder of music must be given, got none")
        total = self._first_look(roots) if is_needed(self._store) else None
        counts, emptied = self._scan(roots, retry=retry, total=total)
        self._refresh(is_end=True)
        self._board.note(counts=counts)
        return trouble or emptied

    def _first_look(self, roots: Sequence[bytes]) -> int | None:
        """Take a first look and return the number of files, if it was counted."""
        self._board.begin("first look", total=None)
        sample = sample_files(roots, rng=self._rng)
        self._board.begin("first look", total=len(sample.files))

        def progress(recorded: int) -> None:
            self._analyser.check()
            self._board.advance(recorded)
            if self._refresher.is_time(recorded):
                self._refresh()

        self._looked_at = first_look(
            self._store, sample, self._analyser, now=self._clock, progress=progress
        )
        self._refresh()
        return sample.total

    def _scan(
        self, roots: Sequence[bytes], *, retry: bool, total: int | None
    ) -> tuple[ScanCounts, str | None]:
        """Return the counts of a scan, and a warning about folders that have become empty."""
        expected = self._expected(roots) if total is None else total
        self._board.begin("scanning", total=expected)
        before = self._refresher.songs

        def progress(counts: ScanCounts) -> None:
            self._analyser.check()
            self._board.advance(counts.found, counts=self._with_first_look(counts))
            news = counts.added + counts.changed + counts.moved
            if news and self._refresher.is_time(before + counts.added):
                self._refresh()

        counts = scan(
            self._store, roots, self._analyser, now=self._clock, retry=retry, progress=progress
        )
        return self._with_first_look(counts), self._emptied(roots, counts)

    def _with_first_look(self, counts: ScanCounts) -> ScanCounts:
        """Return the counts with the songs of the first look as added, not as unchanged.

        Only as far as the scan has met them, so that no more is added than was found.
        """
        met = min(counts.unchanged, self._looked_at)
        return replace(counts, added=counts.added + met, unchanged=counts.unchanged - met)

    def _expected(self, roots: Sequence[bytes]) -> int:
        """Return the expected number of files: that of the last scan, or else by counting."""
        with self._store.reading() as connection:
            last = scans.latest(connection)
        if last is not None and last.finished_at is not None:
            return last.counts.found
        self._board.begin("counting", total=None)
        found = 0
        for folder in walk(roots):
            self._analyser.check()
            found += len(folder.files) + len(folder.refused)
            self._board.advance(found)
        return found

    def _refresh(self, *, is_end: bool = False) -> None:
        state = self._board.progress.state
        self._board.note(state="refreshing")
        self._refresher.refresh(is_end=is_end)
        self._board.note(state=state, songs=self._refresher.songs)

    def _emptied(self, roots: Sequence[bytes], counts: ScanCounts) -> str | None:
        """Return a warning about a folder that has lost all its music; its disk may be absent."""
        for root in roots if counts.missing else ():
            with self._store.reading() as connection:
                known = next(files.under(connection, root), None)
            if known is not None and next(walk([root]), None) is None:
                return f"the folder {shown(root)} holds no music any more; is its disk mounted?"
        return None if counts.found else f"no music was found in {', '.join(map(shown, roots))}"


def reachable(folders: Sequence[str]) -> tuple[tuple[bytes, ...], str | None]:
    """Return the roots that can be listed now, and the problem with the first that cannot."""
    there: list[bytes] = []
    trouble = None
    for folder in folders:
        try:
            there += library_roots([folder])
        except InvalidInputError as problem:
            trouble = trouble or str(problem)
    return (library_roots([os.fsdecode(root) for root in there]) if there else ()), trouble


# ── The thread ──────────────────────────────────────────────────────────────────────────

_log: Final = logging.getLogger("bandstand.scan")

# Scanning runs at low priority, so that it does not disturb playback.
_NICENESS: Final = 10
_RETRY_MINUTES: Final = 5
_MAX_STOP_SECONDS: Final = 5.0  # seconds in which a scan must have stopped
_INTERRUPT_SECONDS: Final = 0.2


class Scanner:
    """A thread that scans folders; `start` begins and `stop` ends it."""

    def __init__(
        self,
        store: Store,
        folders: Sequence[str],
        *,
        clock: Callable[[], int],
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
        self._board = ProgressBoard()
        self._stopping = threading.Event()
        self._wanted = threading.Event()
        self._retry = False
        self._analyser: LocalAnalyser | None = None
        self._thread = threading.Thread(target=self._run, name="scanner", daemon=True)

    @property
    def progress(self) -> Progress:
        """The progress as a frozen value."""
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
        """Ask the thread to stop, without waiting."""
        self._stopping.set()
        self._wanted.set()

    def stop(self) -> bool:
        """Stop the thread and return whether it has ended in time; results so far are kept.

        Children that are reading a file are killed; that file is read by the next scan.
        """
        self.stop_soon()
        until = time.monotonic() + _MAX_STOP_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            if self._analyser is not None:
                self._analyser.interrupt()
            self._thread.join(_INTERRUPT_SECONDS)
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
        """Return the seconds until the next scan; None means never."""
        if not self._rescan_minutes:
            return None
        minutes = self._rescan_minutes
        return 60.0 * (minutes if problem is None else min(minutes, _RETRY_MINUTES))

    def _tried(self, *, retry: bool) -> str | None:
        """Run a scan and return its problem, if any, in one sentence."""
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
        refresher = CatalogueRefresher(self._store, clock=self._clock, on_refresh=self._on_refresh)
        self._board.note(songs=refresher.songs)
        with LocalAnalyser(workers=self._workers, niceness=_NICENESS) as analyser:
            self._analyser = analyser
            try:
                round_ = ScanRound(
                    self._store,
                    analyser=StoppableAnalyser(analyser, self._stopping),
                    refresher=refresher,
                    board=self._board,
                    clock=self._clock,
                    seed=self._seed,
                )
                problem = round_.run(self._folders, retry=retry)
                self._board.note(isolation=analyser.isolation() or self.progress.isolation)
            finally:
                self._analyser = None
        if problem is not None:
            _log.warning("After the scan: %s", problem)
        return problem
