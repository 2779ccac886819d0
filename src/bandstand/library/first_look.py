"""A first look at a library: a few songs from all over it, ready within seconds.

A scan goes through the folders in the order of their names, and a large library takes hours. So
before the first one, a handful of files is drawn from the whole library, read and recorded, and
there is music to play. What is recorded is what the scan would have recorded; it passes these
files by. Nothing is marked as missing, and nothing that might be a song that has moved is
touched: that takes the whole picture, which only a scan has.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.audio.descriptors import VERSION
from bandstand.library.analyse import request
from bandstand.library.walk import walk
from bandstand.store.songs import files, scans, songs
from bandstand.store.songs.save_analysis import record_analyses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    from bandstand.library.analysers import Analyser, Asked, Outcome
    from bandstand.library.walk import FoundFile
    from bandstand.store.database.connection import Store

HANDFUL: Final = 64  # files
_SECONDS: Final = 3.0  # of looking around
_EARLY: Final = 4  # the first few are recorded at once, so that something can be played
_BATCH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """Some files of a library, drawn at random, and how many there are."""

    files: tuple[tuple[bytes, FoundFile], ...]  # each with the root it is below
    total: int | None  # None where the time was over before the walk was


def is_needed(store: Store) -> bool:
    """Return whether there is so little to play that a scan should be preceded by a first look."""
    with store.reading() as connection:
        return songs.count_present(connection, VERSION, enough=HANDFUL) < HANDFUL


def glance(
    roots: Sequence[bytes],
    *,
    rng: np.random.Generator,
    handful: int = HANDFUL,
    seconds: float = _SECONDS,
) -> Glance:
    """Return files drawn evenly from what a walk in random order meets in this time."""
    until = time.monotonic() + seconds
    drawn: list[tuple[bytes, FoundFile]] = []
    total = 0
    for folder in walk(roots, rng=rng):
        for file in folder.files:
            # Reservoir sampling: each file so far is in it with the same chance.
            place = len(drawn) if total < handful else int(rng.integers(total + 1))
            total += 1
            if place == len(drawn) and place < handful:
                drawn.append((folder.root, file))
            elif place < handful:
                drawn[place] = folder.root, file
        if time.monotonic() > until and drawn:
            return Glance(files=tuple(drawn), total=None)
    return Glance(files=tuple(drawn), total=total)


def first_look(
    store: Store,
    seen: Glance,
    analyser: Analyser,
    *,
    now: Callable[[], int],
    progress: Callable[[int], None] = lambda _: None,
) -> int:
    """Return how many songs were recorded of those that a glance saw; `progress` is told as well.

    Files that cannot be read are left for the scan to report.
    """
    with store.reading() as connection:
        before = scans.latest(connection)
    number = 0 if before is None else before.number
    recorded = 0
    batch: list[Outcome] = []
    for outcome in analyser.run(_unknown(store, seen)):
        batch.append(outcome)
        if len(batch) >= (_BATCH if recorded else _EARLY):
            recorded += _record(store, batch, number=number, now=now())
            batch = []
            progress(recorded)
    recorded += _record(store, batch, number=number, now=now())
    progress(recorded)
    return recorded


def _unknown(store: Store, seen: Glance) -> Iterator[Asked]:
    """Yield the files of which the store knows nothing, not even by their size."""
    for root, file in seen.files:
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
