"""A small library that is scanned in this process, by an analyser that tells what it was asked."""

from __future__ import annotations

import json
import os
import time
from itertools import count
from typing import TYPE_CHECKING

from bandstand.errors import BandstandError
from bandstand.music.library.analyse import analyse
from bandstand.music.library.analysers import judged
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.music.sandbox import Answer
from bandstand.store.database.connection import open_store
from tests.music.library.handmade_tags import id3, text
from tests.music.library.scan_command import Contents, contents
from tests.music.library.short_sounds import encoded, piece, wav

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bandstand.music.library.analysers import Asked, Outcome
    from bandstand.store.songs.scans import ScanCounts
    from bandstand.types import Analysis

SECONDS = 0.4  # a song here is short, so that it is read in no time


class Reader:
    """An analyser without children, which remembers what it was asked."""

    def __init__(self, meddle: Callable[[], None] = lambda: None) -> None:
        self.asked: list[bytes] = []
        self._meddle = meddle

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Analyse all files after the walk is over and `meddle` has had its chance."""
        waiting = list(jobs)
        self._meddle()
        for path, wanted in waiting:
            self.asked.append(path)
            yield path, _found(wanted)


class Shelf:
    """A library, its store, and a scan of the one into the other."""

    def __init__(self, folder: Path) -> None:
        self.library = folder / "library"
        self.library.mkdir()
        self.store = folder / "store.db"
        self._clock = count(1)

    def put(self, name: str, content: bytes) -> bytes:
        """Write a file, at a time that no other has, and return its path."""
        path = self.library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        moment = time.time_ns() - 10**15 + 10**9 * next(self._clock)
        os.utime(path, ns=(moment, moment))
        return bytes(path)

    def scan(
        self, *folders: Path, meddle: Callable[[], None] = lambda: None, retry: bool = False
    ) -> Scan:
        """Scan folders, or the whole library, and return what came of it."""
        reader = Reader(meddle)
        roots = library_roots(folders or [self.library])
        with open_store(str(self.store)) as store:
            counts = scan(store, roots, reader, now=lambda: next(self._clock), retry=retry)
        return Scan(counts, reader.asked, contents(self.store))


class Scan:
    """What one scan did, and what the store holds after it."""

    def __init__(self, counts: ScanCounts, asked: list[bytes], after: Contents) -> None:
        self.counts = counts
        self.asked = asked
        self.contents = after
        self.ids = after.ids

    @property
    def changes(self) -> dict[str, int]:
        """How many files were new, changed, moved or missing, where there were any."""
        names = ("added", "changed", "moved", "missing")
        found = {name: getattr(self.counts, name) for name in names}
        return {name: number for name, number in found.items() if number}


def song(seed: int) -> bytes:
    """Return a song of the same size as all others, so that its size tells nothing."""
    return wav(piece(seed, seconds=SECONDS).tobytes())


def tagged(seed: int, title: str) -> bytes:
    """Return a song with a title."""
    return id3(text(b"TIT2", title)) + encoded("mp3", piece(seed, seconds=SECONDS))


def _found(wanted: dict[str, object]) -> Analysis | str:
    try:
        return judged(Answer(value=json.loads(json.dumps(analyse(wanted)))))
    except BandstandError as problem:
        return str(problem)
