"""Libraries of other programs: how often songs were played, their stars and favourites, with dates.

    Navidrome   its SQLite database: annotations of songs and, since 0.59, every play
    iTunes      "iTunes Library.xml", as Apple's Music exports it too

A program that counts plays has the date of the last one only.
"""

import math
import plistlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from bandstand.music.histories.files import refuse
from bandstand.music.histories.formats import moment
from bandstand.music.histories.matching import Wanted
from bandstand.store.events.imports import COUNT, FAVOURITE, LISTEN, RATING, UNKNOWN

_SQLITE: Final = b"SQLite format 3\0"
_MAX_PLIST_BYTES: Final = 1 << 29  # bytes: the library of some 300,000 songs


class Item(NamedTuple):
    """Something that another program knows of a song: a play, or what holds for the song."""

    song: Wanted
    kind: int  # as in `store.events.imports`
    value: int
    at: float  # seconds since 1970
    listener: str = ""


def library_of(path: Path, name: str, head: bytes) -> tuple[str, Iterator[Item]] | None:
    """Return what program a file is of, by how it begins, and its items; None if of none.

    `name` is what it is called.
    """
    if head.startswith(_SQLITE):
        return "Navidrome", _navidrome(path, name)
    if head.startswith(b"bplist") or (head.lstrip().startswith(b"<") and b"<plist" in head):
        return "iTunes", _itunes(path, name)
    return None


def _judged(song: Wanted, counts: Mapping[int, tuple[Any, Any]], listener: str) -> Iterator[Item]:
    """Yield what holds for a song: by kind its value and date; without a date it is left out."""
    for kind, (value, date) in counts.items():
        at = _seconds(date)
        if isinstance(value, int | float) and value > 0 and at is not None:
            yield Item(song, kind, int(value), at, listener)


def _seconds(date: Any) -> float | None:
    if isinstance(date, datetime):
        return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    try:
        return moment(date) if date else None
    except (ValueError, TypeError, OverflowError):
        return None


# ── Navidrome ────────────────────────────────────────────────────────────────────────────

_ANNOTATIONS: Final = """
    SELECT m.*, u.user_name, a.play_count, a.play_date, a.rating, a.starred, a.starred_at,
        {rated_at} AS rated_at
    FROM annotation AS a JOIN media_file AS m ON m.id = a.item_id JOIN user AS u ON u.id = a.user_id
    WHERE a.item_type = 'media_file'
"""
_SCROBBLES: Final = """
    SELECT m.*, u.user_name, s.submission_time
    FROM scrobbles AS s JOIN media_file AS m ON m.id = s.media_file_id
    JOIN user AS u ON u.id = s.user_id ORDER BY s.submission_time
"""


def _navidrome(path: Path, name: str) -> Iterator[Item]:
    try:
        # Only read, whatever the file says; a program that is running may hold a lock.
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.row_factory = sqlite3.Row
            yield from _navidrome_items(database)
    except (sqlite3.Error, UnicodeError) as problem:
        refuse(name, None, f"expected the database of Navidrome, got: {problem}")


def _navidrome_items(database: sqlite3.Connection) -> Iterator[Item]:
    names = {row[1] for row in database.execute("PRAGMA table_info(annotation)")}
    # Before there was one, a rating was as old as the last play.
    rated_at = "a.rated_at" if "rated_at" in names else "a.play_date"
    for row in database.execute(_ANNOTATIONS.format(rated_at=rated_at)):
        counts = {
            COUNT: (row["play_count"], row["play_date"]),
            RATING: (10 * min(row["rating"] or 0, 5), row["rated_at"] or row["play_date"]),
            FAVOURITE: (row["starred"], row["starred_at"]),
        }
        yield from _judged(_navidrome_song(row), counts, row["user_name"])
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'scrobbles'").fetchone():
        for row in database.execute(_SCROBBLES):
            at = float(row["submission_time"])
            yield Item(_navidrome_song(row), LISTEN, UNKNOWN, at, row["user_name"])


def _navidrome_song(row: sqlite3.Row) -> Wanted:
    mbid = "mbz_recording_id" if "mbz_recording_id" in row.keys() else "mbz_track_id"  # noqa: SIM118
    return Wanted(
        artist=row["artist"] or "",
        title=row["title"] or "",
        album=row["album"] or "",
        mbid=row[mbid] or "",
        length=float(row["duration"] or math.nan),
    )


# ── iTunes ───────────────────────────────────────────────────────────────────────────────

_NO_MUSIC: Final = ("Podcast", "Movie", "TV Show", "Music Video", "Audiobooks")


def _itunes(path: Path, name: str) -> Iterator[Item]:
    for track in _tracks(path, name):
        if any(track.get(kind) for kind in _NO_MUSIC):
            continue
        song = Wanted(
            artist=_text(track, "Artist"),
            title=_text(track, "Name"),
            album=_text(track, "Album"),
            length=_number(track, "Total Time") / 1_000,
        )
        # Ratings and favourites have no date of their own.
        played = track.get("Play Date UTC")
        known = played or track.get("Date Modified") or track.get("Date Added")
        is_own = not track.get("Rating Computed")  # from the album's
        counts = {
            COUNT: (_number(track, "Play Count"), played),
            RATING: (_tenths(_number(track, "Rating")) if is_own else 0, known),
            FAVOURITE: (int(bool(track.get("Favorited") or track.get("Loved"))), known),
        }
        yield from _judged(song, counts, "")


def _tenths(percent: float) -> int:
    """Return tenths of stars; iTunes has 0 for none, and half stars."""
    return max(10, round(min(percent, 100.0) / 2)) if percent > 0 else 0


def _tracks(path: Path, name: str) -> Iterator[dict[str, Any]]:
    if path.stat().st_size > _MAX_PLIST_BYTES:
        refuse(name, None, f"expected at most {_MAX_PLIST_BYTES:,} bytes of XML, got more")
    try:
        with path.open("rb") as file:
            tracks = plistlib.load(file)["Tracks"].values()
    except Exception as problem:  # noqa: BLE001  # of a parser that documents no limit
        refuse(name, None, f"expected a library of iTunes, got: {problem!r}")
    yield from (track for track in tracks if isinstance(track, dict))


def _text(track: Mapping[str, Any], key: str) -> str:
    value = track.get(key)
    return value if isinstance(value, str) else ""


def _number(track: Mapping[str, Any], key: str) -> float:
    value = track.get(key)
    return float(value) if isinstance(value, int | float) else math.nan
