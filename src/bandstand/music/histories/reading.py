"""A history that is to be imported: files in, plays of the library's songs and a report out.

in the file                             imported as
a play that ended by a skip             skip; also one of less than 30 seconds, where skips are not
                                        marked
any other play                          listen
stars of a play or a song               rating
a favourite, a number of plays          the same

The report has counts, reasons and examples; of files it has their names, without folders, and their
digests.
"""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from bandstand._util.words import printable
from bandstand.errors import InvalidInputError
from bandstand.music.histories import formats
from bandstand.music.histories.files import documents, refuse
from bandstand.music.histories.formats import LeftOut, Listened
from bandstand.music.histories.libraries import Item, library_of
from bandstand.music.histories.matching import Library, Wanted
from bandstand.store.events.imports import LISTEN, RATING, ROW, SKIP, UNKNOWN, Segment

MAX_PLAYS: Final = 10_000_000
MAX_UNPACKED_BYTES: Final = 64_000_000
_MAX_FILES: Final = 1_000
_MAX_NAME: Final = 200  # characters
_HEAD_BYTES: Final = 2_048
# A play that is shorter was skipped, where the file does not say.
_SHORT: Final = 30.0  # seconds
_FIELDS: Final = ("song", "at", "value", "kind", "source")
_FUTURE: Final = "in the future"
_TOO_OLD: Final = "before 1970"
_NO_STARS: Final = "with a rating that is not 1 to 5 stars"


@dataclass(slots=True, kw_only=True)
class ImportedFile:
    """One file of an import: what it is, how many entries it has, and which were left out."""

    name: str
    format: str
    sha256: str
    read: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, reason: str) -> None:
        """Count an entry that is no possible play."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """Entries of songs that were not found, for one reason, with those that were played most."""

    reason: str
    plays: int
    songs: int
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What was read of a history, and what was found of it."""

    files: list[ImportedFile]
    read: int  # entries
    matched: int  # of these, entries of songs in the library
    plays: int
    ratings: int
    songs: int
    ways: dict[str, int]
    unmatched: list[Unmatched]


def read_history(
    paths: Sequence[Path],
    library: Library,
    *,
    now: int,
    listener: str | None = None,
) -> Segment:
    """Return the plays in the files of one listener; `now` is in milliseconds.

    `listener` is whose plays are wanted of a file that has several people's.
    """
    reading = _Reading(library, now=now, listener=listener)
    for path in paths:
        reading.read(path, path.name)
    return reading.segment()


def read_upload(
    path: Path, name: str, library: Library, *, now: int, listener: str | None = None
) -> Segment:
    """Return the same for a file from a stranger that is called `name`.

    At most `MAX_UNPACKED_BYTES` of a file are unpacked, and no database is opened.
    """
    reading = _Reading(library, now=now, listener=listener, most=MAX_UNPACKED_BYTES)
    reading.read(path, name)
    return reading.segment()


class _Reading:
    """Plays that were read so far."""

    def __init__(
        self, library: Library, *, now: int, listener: str | None, most: int | None = None
    ) -> None:
        self._library, self._now, self._most = library, now / 1_000, most
        self._listener = None if listener is None else listener.strip().casefold()
        self._listeners: dict[str, str] = {}
        self._codes: dict[str, int] = {}
        self._rows = array("Q")  # row after row, with `_FIELDS`
        self._files: list[ImportedFile] = []
        self._ways: Counter[str] = Counter()
        self._missing: dict[str, Counter[str]] = {}

    def read(self, path: Path, name: str) -> None:
        """Read a file."""
        digest, head = _digest(path, name)
        found = library_of(path, name, head)
        if found is None:
            self._read_plays(path, name, digest)
            return
        form, items = found
        if form == "Navidrome" and self._most is not None:
            refuse(name, None, "expected no database here; `bandstand history import` reads it")
        file = self._begin(name, form, digest)
        for item in items:
            self._take(file, item)

    def segment(self) -> Segment:
        """Return all that was read."""
        if self._listener is None and len(self._listeners) > 1:
            some = ", ".join(map(printable, sorted(self._listeners.values())[:5]))
            msg = f"a history must be of one listener, got those of {some}; choose one"
            raise InvalidInputError(msg)
        ids = np.array(list(self._codes), dtype="S16")
        songs, place = np.unique(ids, return_inverse=True)
        found = np.frombuffer(self._rows, dtype=np.uint64).reshape(-1, len(_FIELDS))
        rows = np.empty(len(found), dtype=ROW)
        for column, name in enumerate(_FIELDS):
            rows[name] = found[:, column]
        rows["song"] = place[rows["song"]]
        order = np.lexsort([rows[name] for name in ("source", "value", "kind", "song", "at")])
        return Segment(songs=songs, rows=rows[order], report=self._report(rows))

    def _report(self, rows: Any) -> Mapping[str, Any]:
        unmatched = [
            Unmatched(
                reason=reason,
                plays=plays.total(),
                songs=len(plays),
                examples=[printable(name[:_MAX_NAME]) for name, _ in plays.most_common(5)],
            )
            for reason, plays in self._missing.items()
        ]
        report = ImportReport(
            files=self._files,
            read=sum(file.read for file in self._files),
            matched=len(rows),
            plays=int((rows["kind"] < RATING).sum()),
            ratings=int((rows["kind"] == RATING).sum()),
            songs=len(self._codes),
            ways=dict(sorted(self._ways.items())),
            unmatched=sorted(unmatched, key=lambda each: -each.plays),
        )
        return asdict(report)

    def _begin(self, name: str, form: str, digest: str) -> ImportedFile:
        if len(self._files) >= _MAX_FILES:
            msg = f"an import must be of at most {_MAX_FILES:,} files, got more"
            raise InvalidInputError(msg)
        called = printable(name)[-_MAX_NAME:]
        self._files.append(ImportedFile(name=called, format=form, sha256=digest))
        return self._files[-1]

    def _read_plays(self, path: Path, name: str, digest: str) -> None:
        is_history = False
        for document in documents(path, name=name, most=self._most):
            found = formats.read_document(document, self._now)
            if found is None:
                continue
            is_history, (form, entries) = True, found
            inner = document.name.removeprefix(name)
            file = self._begin(f"{name}{inner}", form.name, digest)
            if not form.is_dated:
                refuse(name, None, "expected times with a date, got seconds from any beginning")
            for item in _items(entries, file, whose=form.whose or ""):
                self._take(file, item)
        if not is_history:
            refuse(name, None, "expected a listening history, got none in it")

    def _take(self, file: ImportedFile, item: Item) -> None:
        """Add what belongs to the listener, of songs that are in the library."""
        if self._is_others(item.listener):
            return
        file.read += 1
        reason = _FUTURE if item.at > self._now else _TOO_OLD if item.at < 0 else None
        if reason is not None:
            file.leave_out(reason)
            return
        song, why = self._library.find(item.song)
        if song is None:
            self._missing.setdefault(why, Counter())[item.song.shown] += 1
            return
        self._ways[why] += 1
        code = self._codes.setdefault(song, len(self._codes))
        source = len(self._files) - 1
        self._rows.extend((code, int(item.at), item.value, item.kind, source))
        if len(self._rows) > MAX_PLAYS * len(_FIELDS):
            msg = f"an import must have at most {MAX_PLAYS:,} plays, got more"
            raise InvalidInputError(msg)

    def _is_others(self, name: str) -> bool:
        if not name:
            return False
        key = name.strip().casefold()
        self._listeners.setdefault(key, name)
        return self._listener is not None and key != self._listener


def _digest(path: Path, name: str) -> tuple[str, bytes]:
    """Return the digest of a file, and how it begins."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            file.seek(0)
            return hashlib.file_digest(file, "sha256").hexdigest(), head
    except OSError as problem:
        refuse(name, None, f"expected a file that can be read, got: {problem.strerror}")


def _items(
    entries: Iterator[Listened | LeftOut], file: ImportedFile, *, whose: str
) -> Iterator[Item]:
    """Yield the plays and ratings of a file's entries."""
    for entry in entries:
        if isinstance(entry, LeftOut):
            file.read += 1
            file.leave_out(entry.reason)
            continue
        kind, value = _kind_of(entry)
        if kind is None:
            file.read += 1
            file.leave_out(_NO_STARS)
            continue
        song = Wanted(entry.artist or "", entry.title, entry.album, entry.mbid, entry.length)
        yield Item(song, kind, value, entry.begin, entry.listener or whose)


def _kind_of(play: Listened) -> tuple[int | None, int]:
    """Return what an entry is imported as, and its value; None for stars that are none."""
    if play.stars:
        try:
            stars = formats.span(play.stars)
        except ValueError:
            return None, 0
        return (RATING, round(10 * stars)) if 1 <= stars <= 5 else (None, 0)
    is_known = not math.isnan(play.played)
    played = min(round(1_000 * play.played), UNKNOWN - 1) if is_known else UNKNOWN
    is_short = is_known and math.isnan(play.skipped) and play.played < _SHORT
    return (SKIP if play.skipped == 1.0 or is_short else LISTEN), played
