"""One round of the scanner: a first look if there is little to play, then the whole library."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.library.first_look import first_look, glance, is_needed
from bandstand.library.scan import scan
from bandstand.library.walk import library_roots, shown, walk
from bandstand.store.songs import files, scans

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Sequence

    from bandstand.library.analysers import Analyser, Asked, Outcome
    from bandstand.radio.clock import Clock
    from bandstand.radio.scanning.refreshing import Refresher
    from bandstand.radio.scanning.scan_progress import Board
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.scans import ScanCounts


class StoppedError(Exception):
    """The scanner was told to stop."""


class Stoppable:
    """An analyser that ends with StoppedError as soon as it is told to stop.

    What was being read then has no outcome, and is read again by the next scan.
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


class Round:
    """One look at all folders."""

    def __init__(
        self,
        store: Store,
        *,
        analyser: Stoppable,
        refresher: Refresher,
        board: Board,
        clock: Clock,
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
        """Return what could not be reached, if anything, after looking at all that could."""
        roots, trouble = reachable(folders)
        if not roots:
            raise InvalidInputError(trouble or "a folder of music must be given, got none")
        total = self._first_look(roots) if is_needed(self._store) else None
        counts, emptied = self._scan(roots, retry=retry, total=total)
        self._refresh(is_end=True)
        self._board.note(counts=counts)
        return trouble or emptied

    def _first_look(self, roots: Sequence[bytes]) -> int | None:
        """Return how many files there are, if that was seen, after a first look at some."""
        self._board.begin("first look", total=None)
        seen = glance(roots, rng=self._rng)
        self._board.begin("first look", total=len(seen.files))

        def progress(recorded: int) -> None:
            self._analyser.check()
            self._board.advance(recorded)
            if self._refresher.is_time(recorded):
                self._refresh()

        self._looked_at = first_look(
            self._store, seen, self._analyser, now=self._clock, progress=progress
        )
        self._refresh()
        return seen.total

    def _scan(
        self, roots: Sequence[bytes], *, retry: bool, total: int | None
    ) -> tuple[ScanCounts, str | None]:
        """Return the counts of a scan, and a word on folders that have become empty."""
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
        """Return the counts of both: what the look has added is nothing new to the scan.

        Only as far as the scan has met it, so that no more is new than was found.
        """
        met = min(counts.unchanged, self._looked_at)
        return replace(counts, added=counts.added + met, unchanged=counts.unchanged - met)

    def _expected(self, roots: Sequence[bytes]) -> int:
        """Return how many files there will be: as many as last time, or else by counting."""
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
        """Return a word on a folder that has lost all its music: a disk may not be mounted."""
        for root in roots if counts.missing else ():
            with self._store.reading() as connection:
                known = next(files.under(connection, root), None)
            if known is not None and next(walk([root]), None) is None:
                return f"the folder {shown(root)} holds no music any more; is its disk mounted?"
        return None if counts.found else f"no music was found in {', '.join(map(shown, roots))}"


def reachable(folders: Sequence[str]) -> tuple[tuple[bytes, ...], str | None]:
    """Return the roots that can be listed now, and what is wrong with the first that cannot."""
    there: list[bytes] = []
    trouble = None
    for folder in folders:
        try:
            there += library_roots([folder])
        except InvalidInputError as problem:
            trouble = trouble or str(problem)
    return (library_roots([os.fsdecode(root) for root in there]) if there else ()), trouble
