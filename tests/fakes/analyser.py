"""Scans without sound: an analyser that invents, and a library whose songs are a few bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandstand.music.library import scan as scanning
from bandstand.music.library.analysers import Asked, Outcome
from bandstand.music.library.content import fingerprint, modified_ns
from bandstand.music.library.walk import library_roots
from bandstand.store.database.connection import open_store
from bandstand.store.songs import files, songs
from bandstand.store.songs.files import FileRecord
from bandstand.store.songs.scans import ScanCounts
from bandstand.types import Analysis, Tags, frozen

BAD = b"bad"
REASON = "it begins badly"


class StopError(Exception):
    """Something that no file is to blame for."""


class Inventor:
    """An analyser that makes everything up from a file's bytes, and remembers what it was asked.

    It takes `ahead` files before it answers, as one with many children does, and raises after
    `ends_after` answers.
    """

    def __init__(self, *, ahead: int = 1, ends_after: int | None = None) -> None:
        self.asked: list[bytes] = []
        self._ahead = ahead
        self._ends_after = ends_after

    def run(self, jobs: Iterable[Asked]) -> Iterator[Outcome]:
        """Yield an analysis for each file, or a reason for those that begin with `BAD`."""
        waiting = iter(jobs)
        while some := list(islice(waiting, self._ahead)):
            for path, _ in some:
                if len(self.asked) == self._ends_after:
                    raise StopError
                self.asked.append(path)
                yield path, invented(path)


def analysis_version() -> int:
    """Return the version that the scan asks for, which a test may have raised."""
    version: int = vars(scanning)["VERSION"]
    return version


def invented(path: bytes) -> Analysis | str:
    """Return what an inventor finds in a file."""
    try:
        with open(path, "rb") as file:
            mark, status = fingerprint(file), os.fstat(file.fileno())
            content = file.read()
    except OSError:
        return "it was gone when it was to be read"
    if content.startswith(BAD):
        return REASON
    rng = np.random.default_rng([analysis_version(), *content])
    return Analysis(
        tags=Tags(title=repr(content[:40])),
        duration=float(len(content)),
        descriptors=frozen(rng.normal(size=159)),
        version=analysis_version(),
        fingerprint=mark,
        size=status.st_size,
        modified_ns=modified_ns(status),
    )


class Scanned(NamedTuple):
    """What one scan did, and what the store holds after it."""

    counts: ScanCounts
    asked: list[bytes]
    records: dict[bytes, FileRecord]

    @property
    def ids(self) -> dict[bytes, str]:
        """The song of each file that is there and can be read."""
        return {
            path: record.song_id
            for path, record in self.records.items()
            if record.song_id is not None and record.problem is None and not record.missing
        }

    @property
    def missing(self) -> set[str]:
        """The songs whose files are gone."""
        return {it.song_id for it in self.records.values() if it.missing and it.song_id is not None}

    @property
    def problems(self) -> dict[bytes, str]:
        """Why files that are there cannot be read."""
        records = self.records.values()
        return {it.path: it.problem for it in records if it.problem and not it.missing}

    @property
    def changes(self) -> dict[str, int]:
        """How many files were new, changed, moved or missing, where there were any."""
        names = ("added", "changed", "moved", "missing")
        found = {name: getattr(self.counts, name) for name in names}
        return {name: number for name, number in found.items() if number}


class Library:
    """A folder of invented songs with its store."""

    def __init__(self, folder: Path, *, store: Path | None = None) -> None:
        self.folder = folder / "library"
        self.folder.mkdir(exist_ok=True)
        self.store = store or folder / "store.db"
        self._clock = count(1_700_000_000)

    def put(self, name: str, content: bytes | int) -> bytes:
        """Write a file at a time that no other has, and return its path.

        All numbered songs have the same size, so that it tells nothing.
        """
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"song %9d" % content if isinstance(content, int) else content)
        return self.touch(name)

    def touch(self, name: str) -> bytes:
        """Give a file a time that no other has, and return its path."""
        moment = next(self._clock) * 10**9
        os.utime(self.folder / name, ns=(moment, moment))
        return self.path(name)

    def path(self, name: str) -> bytes:
        """Return the path of a file as the store knows it."""
        return bytes(self.folder / name)

    def move(self, old: str, new: str) -> None:
        """Rename a file or folder."""
        (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / old).rename(self.folder / new)

    def swap(self, one: str, two: str) -> None:
        """Let two files change names."""
        self.move(one, "aside")
        self.move(two, one)
        self.move("aside", two)

    def scan(
        self,
        *names: str,
        analyser: Inventor | None = None,
        retry: bool = False,
        progress: Callable[[ScanCounts], None] = lambda _: None,
    ) -> Scanned:
        """Scan some folders of the library, or all of it."""
        inventor = analyser or Inventor()
        roots = library_roots([self.folder / name for name in names] or [self.folder])
        with open_store(str(self.store)) as store:
            counts = scanning.scan(
                store, roots, inventor, now=lambda: 1_000, retry=retry, progress=progress
            )
        return Scanned(counts, inventor.asked, self.records())

    def records(self) -> dict[bytes, FileRecord]:
        """Return all that the store knows of files."""
        with open_store(str(self.store)) as store, store.reading() as connection:
            return {record.path: record for record in files.under(connection, b"/")}

    def versions(self) -> set[int]:
        """Return which versions of the descriptors the songs have."""
        with open_store(str(self.store)) as store, store.reading() as connection:
            return {song.descriptor_version for song in songs.present(connection)}

    def twin(self, store: Path) -> Library:
        """Return the same library with a copy of its store."""
        shutil.copy(self.store, store)
        return Library(self.folder.parent, store=store)
