"""A first look at a library: a few songs from all folders, ready within seconds.

A scan goes through the folders in the order of their names, and a large library takes hours. So
before the first one, a sample of files is drawn from the whole library, read and recorded as the
scan would record them; the scan then finds them unchanged. Nothing is marked as missing, and no
file that might be a song that has moved is touched: that takes a whole scan.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.library.analyse import request
from bandstand.music.library.walk import walk
from bandstand.store.songs import files, scans, songs
from bandstand.store.songs.save_analysis import record_analyses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from bandstand.music.library.analysers import Analyser, Asked, Outcome
    from bandstand.music.library.walk import FoundFile
    from bandstand.store.database.connection import Store

SAMPLE_FILES: Final = 64  # files
_SAMPLE_SECONDS: Final = 3.0
_FIRST_BATCH: Final = 4  # small, so that something can be played at once
_BATCH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """Files of a library, drawn at random, and the number of all."""

    files: tuple[tuple[bytes, FoundFile], ...]  # each with the root it is below
    total: int | None  # None where the time was over before the walk was


def is_needed(store: Store) -> bool:
    """Return whether a first look should precede the scan, since there is little to play."""
    with store.reading() as connection:
        return songs.count_present(connection, VERSION, enough=SAMPLE_FILES) < SAMPLE_FILES


def sample_files(
    roots: Sequence[bytes],
    *,
    rng: np.random.Generator,
    size: int = SAMPLE_FILES,
    seconds: float = _SAMPLE_SECONDS,
) -> FileSample:
    """Return files drawn evenly from those that a walk in random order meets in `seconds`."""
    until = time.monotonic() + seconds
    drawn: list[tuple[bytes, FoundFile]] = []
    total = 0
    for folder in walk(roots, rng=rng):
        for file in folder.files:
            # Reservoir sampling: each file so far is in it with the same chance.
            place = len(drawn) if total < size else int(rng.integers(total + 1))
            total += 1
            if place == len(drawn) and place < size:
                drawn.append((folder.root, file))
            elif place < size:
                drawn[place] = folder.root, file
        if time.monotonic() > until and drawn:
            return FileSample(files=tuple(drawn), total=None)
    return FileSample(files=tuple(drawn), total=total)


def first_look(
    store: Store,
    sample: FileSample,
    analyser: Analyser,
    *,
    now: Callable[[], int],
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Analyse a sample and return the number of songs recorded, also reported to `progress`.

    Files that cannot be read are left for the scan to report.
    """
    with store.reading() as connection:
        before = scans.latest(connection)
    number = 0 if before is None else before.number
    recorded = 0
    batch: list[Outcome] = []
    for outcome in analyser.run(_unknown(store, sample)):
        batch.append(outcome)
        if len(batch) >= (_BATCH if recorded else _FIRST_BATCH):
            recorded += _record(store, batch, number=number, now=now())
            batch = []
            progress(recorded)
    recorded += _record(store, batch, number=number, now=now())
    progress(recorded)
    return recorded


def _unknown(store: Store, sample: FileSample) -> Iterator[Asked]:
    """Yield the files that the store does not know, not even by their size."""
    for root, file in sample.files:
        with store.reading() as connection:
            is_known = files.has_size(connection, file.size) or any(
                True for _ in files.under(connection, file.path)
            )
        if not is_known:
            yield file.path, request(file.path, root=root)


def _record(store: Store, batch: Sequence[Outcome], *, number: int, now: int) -> int:
    analyses = [(path, found) for path, found in batch if not isinstance(found, str)]
    if not analyses:
        return 0
    with store.writing() as connection:
        # As seen by the scan before, so that the one to come meets all of them again.
        return len(record_analyses(connection, analyses, scan=number, now=now))
