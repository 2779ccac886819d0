"""Histories as tables: plain CSV, Last.fm's exports, and the Last.fm 1K data set.

Columns are found by the header. Tables without a header are known by their shape: the Last.fm 1K
data set, and what exporters of Last.fm's scrobbles write.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from bandstand._util.csv_tables import Row
from bandstand.errors import InvalidInputError
from bandstand_lab.histories.collector import NO_NAME, NO_TIME
from bandstand_lab.histories.positions import listed, refusal, shown
from bandstand_lab.histories.timestamps import (
    TimeRange,
    plain_seconds,
    recording_times,
    seconds_of_text,
    service_times,
)

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

    from bandstand_lab.histories.collector import Collector, SourcePlays
    from bandstand_lab.histories.reading import Document

__all__ = ["Row", "rows", "text_lines"]

_MARK: Final = b"\xef\xbb\xbf"
# A file without line ends is not a history.
_MAX_LINE_BYTES: Final = 1 << 20  # bytes


def text_lines(name: str, stream: io.BufferedReader) -> Iterator[str]:
    """Yield the lines with their ends; a byte order mark before the first is dropped."""
    number = 0
    while data := stream.readline(_MAX_LINE_BYTES):
        number += 1
        if len(data) == _MAX_LINE_BYTES:
            what = f"expected less than {_MAX_LINE_BYTES:,} bytes, got more"
            raise refusal(name, f"line {number}", what)
        if number == 1:
            data = data.removeprefix(_MARK)
        yield _text(name, number, data)


def rows(name: str, stream: io.BufferedReader, *, delimiter: str, quoted: bool) -> Iterator[Row]:
    """Yield the rows of a table; empty lines are passed over."""
    lines = text_lines(name, stream)
    quote = '"' if quoted else None
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    begins = 1
    try:
        for fields in reader:
            if fields:
                yield Row(begins, fields)
            begins = reader.line_num + 1
    except csv.Error as problem:
        raise refusal(name, f"line {begins}", f"expected a row of fields, got: {problem}") from None


def _text(name: str, number: int, data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        byte = data[problem.start]
        raise refusal(
            name, f"line {number}", f"expected UTF-8 text, got the byte 0x{byte:02x}"
        ) from None
    if "\0" in text:
        raise refusal(name, f"line {number}", "expected text, got a NUL byte")
    return text


PLAIN: Final = "CSV"
_LASTFM: Final = "Last.fm"

_LISTENER: Final = ("listener", "listener_id", "user", "user_id", "userid", "username", "user_name")
_ITEM: Final = (
    *("item", "item_id", "track", "track_name", "trackname", "song", "song_name", "title"),
    *("track_id", "song_id", "track_uri", "name"),
)
_ARTIST: Final = ("artist", "artist_name", "artistname")
_TIME: Final = (
    *("epoch_s", "epoch_ms", "epoch", "uts", "timestamp", "time", "ts", "listened_at", "played_at"),
    *("datetime", "date_time", "utc_time", "date"),
)
_ELAPSED: Final = ("seconds",)
_PLAYED: Final = {
    **dict.fromkeys(("ms_played", "msplayed", "played_ms"), 1e-3),
    **dict.fromkeys(("seconds_played", "s_played", "played_s", "played_seconds"), 1.0),
}
_SKIPPED: Final = ("skipped", "skip")
_LASTFM_ONLY: Final = {"uts", "artist_mbid", "track_mbid", "album_mbid", "albumid"}

Clock: TypeAlias = Callable[[str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The columns of a table; None for one that it does not have."""

    kind: str
    width: int
    item: int
    time: int
    artist: int | None = None
    listener: int | None = None
    played: int | None = None
    played_unit: float = 1.0  # in seconds
    skipped: int | None = None
    clock: Clock = seconds_of_text
    is_dated: bool = True
    has_header: bool = True
    whose: str | None = None  # the listener whom the header names

    @property
    def is_service(self) -> bool:
        """Whether it is the export of a service."""
        return self.kind != PLAIN


def layout_of_header(header: list[str]) -> Layout:
    """Return the columns of a table with this header, or refuse it."""
    whose = _whose(header)
    names = [_column_name(field) for field in header]
    time, elapsed, item = (_place(names, wanted) for wanted in (_TIME, _ELAPSED, _ITEM))
    moment = elapsed if time is None else time
    if item is None or moment is None:
        lacking = "a song (track, item, …)" if item is None else "a time (timestamp, epoch_s, …)"
        msg = f"expected a header with a column for {lacking}, got {listed(header)}"
        raise InvalidInputError(msg)
    twice = [field for place, field in enumerate(names) if field and field in names[:place]]
    if twice:
        msg = f"column names must differ, got {twice[0]!r} twice"
        raise InvalidInputError(msg)
    played = _place(names, tuple(_PLAYED))
    is_lastfm = whose is not None or not _LASTFM_ONLY.isdisjoint(names)
    return Layout(
        kind=f"{_LASTFM} CSV" if is_lastfm else PLAIN,
        width=len(header),
        item=item,
        time=moment,
        artist=_place(names, _ARTIST),
        listener=_place(names, _LISTENER),
        played=played,
        played_unit=1.0 if played is None else _PLAYED[names[played]],
        skipped=_place(names, _SKIPPED),
        clock=plain_seconds if time is None else seconds_of_text,
        is_dated=time is not None,
        whose=whose,
    )


def layout_without_header(fields: list[str], delimiter: str) -> Layout | None:
    """Return the columns of a table that begins with this row; None if it is a header."""
    width = len(fields)
    if delimiter == "\t" and width >= 6 and _is_moment(fields[1]) and not fields[1].isdecimal():
        # userid, timestamp, artist's id, artist, song's id, song
        layout = Layout(
            kind=f"{_LASTFM} 1K", width=6, item=5, time=1, artist=3, listener=0, has_header=False
        )
    elif delimiter == "\t" and width >= 3 and _is_moment(fields[0]):
        # moment, song, artist, album, ids
        layout = Layout(
            kind=f"{_LASTFM} TSV", width=width, item=1, time=0, artist=2, has_header=False
        )
    elif delimiter != "\t" and width == 4 and _is_moment(fields[3]):
        # artist, album, song, moment
        layout = Layout(kind=f"{_LASTFM} CSV", width=4, item=2, time=3, artist=0, has_header=False)
    else:
        return None
    return layout


def _is_moment(text: str) -> bool:
    try:
        seconds_of_text(text.strip())
    except (ValueError, OverflowError):
        return False
    return True


def _column_name(field: str) -> str:
    name = field.strip().lower().replace(" ", "_").replace("-", "_")
    return name.split("#")[0]


def _whose(header: list[str]) -> str | None:
    """Return the listener named in a column such as Date#name."""
    for field in header:
        column, sign, listener = field.strip().partition("#")
        if sign and column.lower() == "date" and listener:
            return listener
    return None


def _place(names: list[str], wanted: tuple[str, ...]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


_SKIPPED_VALUES: Final = {
    **dict.fromkeys(("true", "1", "yes"), 1.0),
    **dict.fromkeys(("false", "0", "no"), 0.0),
    "": math.nan,
}


class _Table(NamedTuple):
    name: str
    layout: Layout
    possible: TimeRange
    plays: SourcePlays


def read_table(document: Document, collector: Collector, *, now: float) -> bool:
    """Add the plays of a table to `collector`; return whether it was a history at all.

    Only a file of an archive, which has other files as well, may be none.
    """
    begun = _begun(document)
    if begun is None:
        return False
    layout, found = begun
    plays = collector.source(document.name, whose=layout.whose, is_dated=layout.is_dated)
    possible = service_times(now) if layout.is_service else recording_times(now)
    table = _Table(document.name, layout, possible, plays)
    for row in found:
        _take(table, row)
    collector.close(plays, layout.kind)
    return True


def _begun(document: Document) -> tuple[Layout, Iterator[Row]] | None:
    """Return the columns of the table and its rows without the header; None if it is no table."""
    head = document.stream.peek(1).split(b"\n", 1)[0]
    delimiter = max(",;\t", key=lambda each: head.count(each.encode()))
    found = rows(document.name, document.stream, delimiter=delimiter, quoted=delimiter != "\t")
    line: int | None = None
    try:
        first = next(found)
        line = first.line
        layout = layout_without_header(first.fields, delimiter)
        if layout is None:
            return layout_of_header(first.fields), found
        return layout, chain([first], found)
    except StopIteration:
        if document.may_be_other:
            return None
        raise refusal(
            document.name, None, "expected a listening history, got an empty file"
        ) from None
    except InvalidInputError as problem:
        if document.may_be_other and not document.is_likely:
            return None
        if line is None:
            raise
        raise refusal(document.name, f"line {line}", str(problem)) from None


def _take(table: _Table, row: Row) -> None:
    """Add the play of one row, or leave it out."""
    layout, plays, fields = table.layout, table.plays, row.fields
    if len(fields) != layout.width:
        fields = _mended(table, row)
    title, time_text = fields[layout.item], fields[layout.time].strip()
    artist = None if layout.artist is None else fields[layout.artist]
    if not title.strip() or artist == "":
        plays.leave_out(NO_NAME, f"line {row.line}")
        return
    if not time_text and layout.is_service:
        plays.leave_out(NO_TIME, f"line {row.line}")
        return
    time = _time(table, row.line, time_text)
    if layout.is_dated and not table.possible.first <= time <= table.possible.last:
        plays.leave_out(table.possible.doubt(time), f"line {row.line}")
        return
    plays.add(
        plays.listener(None if layout.listener is None else fields[layout.listener]),
        plays.item(title) if artist is None else plays.song(artist, title),
        time,
        played=math.nan if layout.played is None else _played(table, row.line, fields),
        skipped=math.nan if layout.skipped is None else _skipped(table, row.line, fields),
    )


def _mended(table: _Table, row: Row) -> list[str]:
    """Return the fields of a row of another length if they can be repaired."""
    layout, fields = table.layout, row.fields
    if not layout.has_header and len(fields) > layout.width and layout.item == layout.width - 1:
        # A tab within the name of a song, which is the last field and has no quotes.
        return [*fields[: layout.item], "\t".join(fields[layout.item :])]
    as_what = "in the header" if layout.has_header else "in the first line"
    expected = f"expected {layout.width} fields as {as_what}, got {len(fields)}"
    raise refusal(table.name, f"line {row.line}", expected)


def _time(table: _Table, line: int, text: str) -> float:
    try:
        return table.layout.clock(text)
    except (ValueError, OverflowError):
        pass
    form = "ISO-8601 or epoch seconds" if table.layout.is_dated else "seconds, not negative"
    raise refusal(table.name, f"line {line}", f"a time must be {form}, got {shown(text)}")


def _played(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.layout.played or 0]
    if not text:
        return math.nan
    try:
        return plain_seconds(text) * table.layout.played_unit
    except ValueError:
        what = f"the time played must be a number, not negative, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what) from None


def _skipped(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.layout.skipped or 0]
    skipped = _SKIPPED_VALUES.get(text.strip().lower())
    if skipped is None:
        what = f"skipped must be true or false, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what)
    return skipped
