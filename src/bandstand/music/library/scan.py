"""Brings the store up to date with folders of music.

    walk ─ compare with the store ─┬─ unchanged: seen
                                   ├─ moved: keeps its song
                                   ├─ new ─────────── analyser ─ song, or the reason why not
                                   └─ changed: after the walk, likewise

Results are recorded in small transactions as they come, so a scan that is killed has lost
little of its work, and the next one goes on from there: a recorded file that has kept its size and
time is not read again. Nothing is ever written to the library, and no song is ever deleted: a file
that is gone is marked as missing, and returns as the song it was.

Identity follows the content: renamed, moved or swapped files hold the same songs afterwards.

A file that has changed, or broken, waits until the walk is over. Its former content may turn up
further on, and then that is where its song is; otherwise the song stays, with its new content. So
the outcome depends neither on the order of the names nor on when a scan was interrupted.
"""

import os
import posixpath
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from sqlalchemy import Connection

from bandstand.errors import BandstandError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.library.analyse import request
from bandstand.music.library.analysers import Analyser, Asked, Outcome, may_have_passed
from bandstand.music.library.content import fingerprint, modified_ns, open_beneath
from bandstand.music.library.walk import Folder, FoundFile, Refused, walk
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, scans, songs
from bandstand.store.songs.files import FileRecord
from bandstand.store.songs.save_analysis import record_analyses, record_problem, relocate
from bandstand.store.songs.scans import ScanCounts
from bandstand.types import Analysis

# ── Songs in files that have moved ──────────────────────────────────────────────────────


def moved_from(
    connection: Connection, root: bytes, file: FoundFile, *, taken: Container[bytes]
) -> FileRecord | None:
    """Return the record of the vanished file whose content this file has: the same song, moved.

    `taken` are places whose songs have been recognised in other files already. Of several songs
    with equal content it is the one whose file had the same name, or else the first by path, so
    that it is always the same one.
    """
    if not files.has_size(connection, file.size):
        return None  # most new files: nothing of this size is known, and nothing need be read
    mark = _content(root, file.path)
    known = [] if mark is None else files.of_content(connection, mark)
    if any(record.path == file.path for record in known):
        return None  # it has only been touched
    left = [record for record in known if record.path not in taken and not _holds_its_song(record)]
    name = _name(file.path)
    return min(left, key=lambda record: (_name(record.path) != name, record.path), default=None)


def is_as_recorded(file: FoundFile, record: FileRecord) -> bool:
    """Return whether a file still has the size and the time at which it was read."""
    return (file.size, file.modified_ns) == (record.size, record.modified_ns)


def _holds_its_song(record: FileRecord) -> bool:
    """Return whether the file at a song's place still holds the song, whatever its time says."""
    # Behind a link it is another place: the library was moved, and the link left for others.
    if os.path.realpath(record.path) != record.path:
        return False
    try:
        status = os.lstat(record.path)
    except OSError:
        return False
    state = (status.st_size, modified_ns(status))
    # The state of a file that could not be read is not that of the song it used to hold.
    if record.problem is None and state == (record.size, record.modified_ns):
        return True
    folder = posixpath.dirname(record.path)
    return _content(folder, record.path) == record.fingerprint


def _content(root: bytes, path: bytes) -> str | None:
    """Return the fingerprint of a file; None if it cannot be read."""
    try:
        with open_beneath(root, path) as opened:
            return fingerprint(opened)
    except (OSError, BandstandError):
        return None


def _name(path: bytes) -> bytes:
    return posixpath.basename(path)


# ── The scan ────────────────────────────────────────────────────────────────────────────

_MAX_BATCH: Final = 64  # results per transaction, …
_MAX_BATCH_SECONDS: Final = 1.0  # … or as many as come within this time
_MAX_SEEN_BATCH: Final = 2_000  # the same for files that only were seen, which cost next to nothing


def scan(
    store: Store,
    roots: Sequence[bytes],
    analyser: Analyser,
    *,
    now: Callable[[], int],
    retry: bool = False,
    progress: Callable[[ScanCounts], None] = lambda _: None,
) -> ScanCounts:
    """Record everything below the roots in the store, and return the counts.

    `now` returns the time in milliseconds since 1970, UTC. With `retry`, files that failed
    before are read again although they have not changed.
    """
    with store.writing() as connection:
        number = scans.begin(connection, now=now())
    session = _Session(store=store, number=number, now=now, retry=retry, progress=progress)
    try:
        for outcome in analyser.run(session.jobs(roots)):
            session.take(outcome)
    finally:
        session.flush()  # also when interrupted: what is done is done
    return session.finished(roots)


class _Session:
    """One scan under way: what waits to be recorded, and the counts so far."""

    def __init__(
        self,
        *,
        store: Store,
        number: int,
        now: Callable[[], int],
        retry: bool,
        progress: Callable[[ScanCounts], None],
    ) -> None:
        self._store = store
        self._number = number
        self._now = now
        self._retry = retry
        self._progress = progress
        self._counts = ScanCounts()
        self._seen: list[bytes] = []
        self._refused: list[Refused] = []
        self._moves: dict[bytes, tuple[FileRecord, FoundFile]] = {}  # by the former place
        self._asked: dict[bytes, FoundFile] = {}  # until the outcome is recorded
        self._outcomes: list[Outcome] = []
        self._flushed = time.monotonic()

    # ── What is to be read ───────────────────────────────────────────────────────────────

    def jobs(self, roots: Sequence[bytes]) -> Iterator[Asked]:
        """Yield the files that must be read, and record all others on the way."""
        are_some_left = False
        for folder in walk(roots):
            known = self._known_in(folder)
            for refused in folder.refused:
                self._note_refusal(refused, known)
            for file in folder.files:
                record = known.get(file.path)
                if record is not None and is_as_recorded(file, record):
                    if _has_broken_song(record):
                        are_some_left = True
                    else:
                        yield from self._ask_if_needed(folder, file, record)
                elif (former := self._moved_from(folder, file)) is not None:
                    self._note_move(former, file)
                    are_some_left |= _is_outdated(former)
                    if record is not None:  # the song that was here has another place now
                        self.flush()
                        known = self._known_in(folder)
                elif record is None:
                    yield self._ask(folder, file)
                else:
                    are_some_left = True
        if are_some_left:
            yield from self._left_over(roots)

    def _left_over(self, roots: Sequence[bytes]) -> Iterator[Asked]:
        """Yield the files that the first walk left, by a second walk: a list could be very long."""
        self.flush()
        for folder in walk(roots):
            known = self._known_in(folder)
            for file in folder.files:
                record = known.get(file.path)
                if file.path in self._asked:
                    continue
                if record is None:
                    yield self._ask(folder, file)
                elif _is_outdated(record) or record.seen < self._number:
                    yield from self._ask_if_needed(folder, file, record)

    def _ask_if_needed(
        self, folder: Folder, file: FoundFile, record: FileRecord
    ) -> Iterator[Asked]:
        is_another_try = record.problem is not None and (
            self._retry or may_have_passed(record.problem)
        )
        if is_as_recorded(file, record) and not (_is_outdated(record) or is_another_try):
            self._note_seen(record)
        else:
            yield self._ask(folder, file)

    def _known_in(self, folder: Folder) -> dict[bytes, FileRecord]:
        with self._store.reading() as connection:
            return files.in_folder(connection, folder.path)

    def _moved_from(self, folder: Folder, file: FoundFile) -> FileRecord | None:
        with self._store.reading() as connection:
            return moved_from(connection, folder.root, file, taken=self._moves)

    def _ask(self, folder: Folder, file: FoundFile) -> Asked:
        self._asked[file.path] = file
        return file.path, request(file.path, root=folder.root)

    # ── What became of it ────────────────────────────────────────────────────────────────

    def take(self, outcome: Outcome) -> None:
        """Keep one file's outcome, to be recorded soon."""
        self._outcomes.append(outcome)
        if (
            len(self._outcomes) >= _MAX_BATCH
            or time.monotonic() - self._flushed >= _MAX_BATCH_SECONDS
        ):
            self.flush()
        else:
            self._progress(_plus(self._counts, found=len(self._outcomes)))

    def _note_seen(self, record: FileRecord) -> None:
        self._seen.append(record.path)
        self._count(found=1, unchanged=int(record.problem is None))

    def _note_refusal(self, refused: Refused, known: dict[bytes, FileRecord]) -> None:
        record = known.get(refused.path)
        if record is None:  # a folder that cannot be listed is known in the one around it
            with self._store.reading() as connection:
                record = next(files.under(connection, refused.path), None)
        if record is not None and record.problem == refused.reason:
            self._note_seen(record)
        else:
            self._refused.append(refused)
            self._count(found=1)

    def _note_move(self, former: FileRecord, file: FoundFile) -> None:
        self._moves[former.path] = former, file
        # One of an older version is read as well, and then counts as found.
        self._count(found=int(not _is_outdated(former)), moved=1)

    def _count(self, **more: int) -> None:
        self._counts = _plus(self._counts, **more)
        self._progress(self._counts)
        if len(self._seen) + len(self._moves) + len(self._refused) >= _MAX_SEEN_BATCH:
            self.flush()

    def flush(self) -> None:
        """Record everything that waits, in one transaction."""
        with self._store.writing() as connection:
            files.mark_seen(connection, self._seen, self._number)
            for former, file in self._moves.values():
                self._move(connection, former, file)
            for refused in self._refused:
                nothing = FoundFile(path=refused.path, size=0, modified_ns=0)
                self._record_problem(connection, nothing, refused.reason)
            outcomes = self._recorded(connection)
        for path, _ in self._outcomes:
            del self._asked[path]
        self._seen, self._refused, self._moves, self._outcomes = [], [], {}, []
        self._flushed = time.monotonic()
        for outcome in outcomes:
            self._counts = _plus(self._counts, found=1, **{outcome: 1})
        self._progress(self._counts)

    def _move(self, connection: Connection, former: FileRecord, file: FoundFile) -> None:
        song = songs.at_path(connection, former.path)
        if song is None or song.id != former.song_id:
            # A concurrent scan was quicker.
            files.mark_seen(connection, [file.path], self._number)
            return
        relocate(
            connection,
            former.path,
            file.path,
            size=file.size,
            modified_ns=file.modified_ns,
            scan=self._number,
        )

    def _recorded(self, connection: Connection) -> list[str]:
        """Record the analysed files, and return the name of the count for each."""
        analyses: list[tuple[bytes, Analysis]] = []
        for path, found in self._outcomes:
            if isinstance(found, str):
                self._record_problem(connection, self._asked[path], found)
            else:
                analyses.append((path, found))
        recorded = record_analyses(connection, analyses, scan=self._number, now=self._now())
        failed = ["failed"] * (len(self._outcomes) - len(analyses))
        names = {"added": "added", "changed": "changed", "same": "unchanged"}
        return [*failed, *(names[song.outcome] for song in recorded)]

    def _record_problem(self, connection: Connection, file: FoundFile, reason: str) -> None:
        record_problem(
            connection,
            file.path,
            size=file.size,
            modified_ns=file.modified_ns,
            reason=reason,
            version=VERSION,
            scan=self._number,
        )

    def finished(self, roots: Sequence[bytes]) -> ScanCounts:
        """Return the final counts, after marking what was not seen as missing."""
        with self._store.writing() as connection:
            missing = sum(files.mark_missing(connection, root, self._number) for root in roots)
            failed = sum(1 for root in roots for _ in files.problems(connection, root))
            self._counts = replace(self._counts, missing=missing, failed=failed)
            scans.finish(connection, self._number, self._counts, now=self._now())
        self._progress(self._counts)
        return self._counts


def _has_broken_song(record: FileRecord) -> bool:
    """Return whether a song's file has become unreadable, so that it may turn up elsewhere."""
    return record.problem is not None and record.song_id is not None


def _is_outdated(record: FileRecord) -> bool:
    return record.analysis_version != VERSION


def _plus(counts: ScanCounts, **more: int) -> ScanCounts:
    return replace(counts, **{name: getattr(counts, name) + n for name, n in more.items()})


# ── A first look at a library ──────────────────────────────────────────────────────────

# A scan goes through the folders in the order of their names, and a large library takes hours. So
# before the first one, a sample of files is drawn from the whole library, read and recorded as the
# scan would record them; the scan then finds them unchanged. Nothing is marked as missing, and no
# file that might be a song that has moved is touched: that takes a whole scan.


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
