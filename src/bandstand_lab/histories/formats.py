"""Formats of listening histories: tables (CSV, Last.fm) and JSON (Spotify, ListenBrainz).

Columns of tables are found by the header. Tables without a header are known by their shape: the
Last.fm 1K data set, and what exporters of Last.fm's scrobbles write. A JSON format is known by the
keys of its entries, and a file has entries of one format, as a list or one after the other.
Podcasts and audiobooks are counted and left out.

Spotify, account data   endTime (minutes, UTC), artistName, trackName, msPlayed
Spotify, extended       ts (seconds, UTC), ms_played, master_metadata_track_name,
                        master_metadata_album_artist_name, reason_end, skipped, username (older)
ListenBrainz            listened_at (epoch seconds of the start), track_metadata (artist_name,
                        track_name), user_name (in some); also the answers of its API

Spotify gives the end of a play, which began `ms_played` earlier. Both of its exports have the same
play with the same time played, and the account data cut its end to the minute.
"""

from __future__ import annotations

import csv
import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bandstand._util.csv_tables import Row, listed, shown
from bandstand.errors import InvalidInputError
from bandstand_lab.histories.files import documents, refusal
from bandstand_lab.histories.plays import NO_NAME, NO_TIME, Collector, merged

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from bandstand_lab.histories.files import Document
    from bandstand_lab.histories.plays import Histories, SourcePlays

# ── Times ────────────────────────────────────────────────────────────────────────────────

# Sound has been recorded since 1877; the services that make exports began to listen in 2002.
_FIRST_RECORDING: Final = datetime(1877, 1, 1, tzinfo=UTC).timestamp()
_FIRST_SERVICE: Final = datetime(2002, 1, 1, tzinfo=UTC).timestamp()
# A clock may be ahead, and a zone may be forgotten: a day is tolerated.
_TOLERANCE: Final = 86_400.0
# Larger numbers are milliseconds: in seconds they would be in the year 5138.
_MILLISECONDS: Final = 1e11
_NUMBER: Final = re.compile(r"\d+(\.\d*)?")
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
# 28 Feb 2016 16:38, also with a comma or seconds: how Last.fm's exporters write a moment in UTC.
_WRITTEN: Final = re.compile(r"(\d{1,2}) (\w{3})\w* (\d{4}),? (\d{2}):(\d{2})(?::(\d{2}))?")


class TimeRange(NamedTuple):
    """The range of possible times; outside it a clock was wrong."""

    first: float
    last: float

    @classmethod
    def until(cls, now: float, *, is_service: bool) -> TimeRange:
        """Return the range of plays that a service recorded, or of all recorded music."""
        return cls(_FIRST_SERVICE if is_service else _FIRST_RECORDING, now + _TOLERANCE)

    def doubt(self, time: float) -> str | None:
        """Return why a time is impossible; None where it is possible."""
        if time > self.last:
            return "in the future"
        year = datetime.fromtimestamp(self.first, tz=UTC).year
        return f"before {year}, when nothing recorded it" if time < self.first else None


def seconds_of_text(text: str) -> float:
    """Return a moment as seconds since 1970; a ValueError says what is wrong with it.

    Numbers are seconds, or milliseconds where they are large; text without a zone is UTC.

    >>> seconds_of_text("86400"), seconds_of_text("1456677480000")
    (86400.0, 1456677480.0)
    >>> seconds_of_text("2016-02-28T16:38:00Z"), seconds_of_text("28 Feb 2016, 16:38")
    (1456677480.0, 1456677480.0)
    """
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number / 1_000 if number >= _MILLISECONDS else number
    written = _WRITTEN.fullmatch(text)
    return _of_written(written) if written else seconds_of_iso(text)


def seconds_of_iso(text: str) -> float:
    """Return an ISO-8601 moment as seconds since 1970; a ValueError says what is wrong.

    >>> seconds_of_iso("1970-01-02 00:00")
    86400.0
    """
    moment = datetime.fromisoformat(text)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return zoned.timestamp()


def plain_seconds(text: str) -> float:
    """Return a number of seconds that is not negative; a ValueError if it is none.

    >>> plain_seconds("12.5")
    12.5
    """
    value = math.nan if "_" in text else float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


def _of_written(found: re.Match[str]) -> float:
    day, month, year, hour, minute, second = found.groups(default="0")
    number = _MONTHS.index(month.lower()) + 1
    moment = datetime(int(year), number, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    return moment.timestamp()


# ── Tables ───────────────────────────────────────────────────────────────────────────────

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
        yield _decoded(name, number, data)


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


def _decoded(name: str, number: int, data: bytes) -> str:
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
class TableColumns:
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


def columns_of_header(header: list[str]) -> TableColumns:
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
    return TableColumns(
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


def columns_without_header(fields: list[str], delimiter: str) -> TableColumns | None:
    """Return the columns of a table that begins with this row; None if it is a header."""
    width, is_tsv = len(fields), delimiter == "\t"
    if is_tsv and width >= 6 and _is_moment(fields[1]) and not fields[1].isdecimal():
        # userid, timestamp, artist's id, artist, song's id, song
        found: dict[str, Any] = {
            "kind": "1K",
            "width": 6,
            "item": 5,
            "time": 1,
            "artist": 3,
            "listener": 0,
        }
    elif is_tsv and width >= 3 and _is_moment(fields[0]):
        # moment, song, artist, album, ids
        found = {"kind": "TSV", "width": width, "item": 1, "time": 0, "artist": 2}
    elif not is_tsv and width == 4 and _is_moment(fields[3]):
        # artist, album, song, moment
        found = {"kind": "CSV", "width": 4, "item": 2, "time": 3, "artist": 0}
    else:
        return None
    return TableColumns(**{**found, "kind": f"{_LASTFM} {found['kind']}"}, has_header=False)


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
    columns: TableColumns
    possible: TimeRange
    plays: SourcePlays


def read_table(document: Document, collector: Collector, *, now: float) -> bool:
    """Add the plays of a table to `collector`; return whether it was a history at all.

    Only a file of an archive, which has other files as well, may be none.
    """
    begun = _begun(document)
    if begun is None:
        return False
    columns, found = begun
    plays = collector.source(document.name, whose=columns.whose, is_dated=columns.is_dated)
    possible = TimeRange.until(now, is_service=columns.is_service)
    table = _Table(document.name, columns, possible, plays)
    for row in found:
        _take_row(table, row)
    collector.close(plays, columns.kind)
    return True


def _begun(document: Document) -> tuple[TableColumns, Iterator[Row]] | None:
    """Return the columns of the table and its rows without the header; None if it is no table."""
    head = document.stream.peek(1).split(b"\n", 1)[0]
    delimiter = max(",;\t", key=lambda each: head.count(each.encode()))
    found = rows(document.name, document.stream, delimiter=delimiter, quoted=delimiter != "\t")
    line: int | None = None
    try:
        first = next(found)
        line = first.line
        columns = columns_without_header(first.fields, delimiter)
        if columns is None:
            return columns_of_header(first.fields), found
        return columns, chain([first], found)
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


def _take_row(table: _Table, row: Row) -> None:
    """Add the play of one row, or leave it out."""
    columns, plays, fields = table.columns, table.plays, row.fields
    if len(fields) != columns.width:
        fields = _mended(table, row)
    title, time_text = fields[columns.item], fields[columns.time].strip()
    artist = None if columns.artist is None else fields[columns.artist]
    if not title.strip() or artist == "":
        plays.leave_out(NO_NAME, f"line {row.line}")
        return
    if not time_text and columns.is_service:
        plays.leave_out(NO_TIME, f"line {row.line}")
        return
    time = _row_time(table, row.line, time_text)
    if columns.is_dated and (doubt := table.possible.doubt(time)):
        plays.leave_out(doubt, f"line {row.line}")
        return
    plays.add(
        plays.listener(None if columns.listener is None else fields[columns.listener]),
        plays.item(title) if artist is None else plays.song(artist, title),
        time,
        played=math.nan if columns.played is None else _row_played(table, row.line, fields),
        skipped=math.nan if columns.skipped is None else _row_skipped(table, row.line, fields),
    )


def _mended(table: _Table, row: Row) -> list[str]:
    """Return the fields of a row of another length if they can be repaired."""
    columns, fields = table.columns, row.fields
    if not columns.has_header and len(fields) > columns.width and columns.item == columns.width - 1:
        # A tab within the name of a song, which is the last field and has no quotes.
        return [*fields[: columns.item], "\t".join(fields[columns.item :])]
    as_what = "in the header" if columns.has_header else "in the first line"
    expected = f"expected {columns.width} fields as {as_what}, got {len(fields)}"
    raise refusal(table.name, f"line {row.line}", expected)


def _row_time(table: _Table, line: int, text: str) -> float:
    try:
        return table.columns.clock(text)
    except (ValueError, OverflowError):
        pass
    form = "ISO-8601 or epoch seconds" if table.columns.is_dated else "seconds, not negative"
    raise refusal(table.name, f"line {line}", f"a time must be {form}, got {shown(text)}")


def _row_played(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.columns.played or 0]
    if not text:
        return math.nan
    try:
        return plain_seconds(text) * table.columns.played_unit
    except ValueError:
        what = f"the time played must be a number, not negative, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what) from None


def _row_skipped(table: _Table, line: int, fields: list[str]) -> float:
    text = fields[table.columns.skipped or 0]
    skipped = _SKIPPED_VALUES.get(text.strip().lower())
    if skipped is None:
        what = f"skipped must be true or false, got {shown(text)}"
        raise refusal(table.name, f"line {line}", what)
    return skipped


# ── JSON: Spotify's two formats, and ListenBrainz ────────────────────────────────────────

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NOT_MUSIC: Final = "podcasts, audiobooks and videos"
# The account data's names for songs without names, the user's own files among them.
_UNKNOWN: Final = ("Unknown Artist", "Unknown Track")
# The ends of a play that was cut short for another.
_CUT_SHORT: Final = frozenset({"fwdbtn", "backbtn", "clickrow", "clickside"})
_SPOKEN_WORD: Final = (
    *("episode_name", "episode_show_name", "spotify_episode_uri"),
    *("audiobook_title", "audiobook_uri", "audiobook_chapter_uri"),
)


class JsonEntry(NamedTuple):
    """One object of a file, with checked access to its fields."""

    file: str
    place: int  # in the file, from 1
    line: int  # on which it begins
    value: dict[str, Any]

    @property
    def where(self) -> str:
        """The position of the entry, for a message."""
        return f"entry {self.place} (line {self.line})"

    def refusal(self, key: str, what: str) -> InvalidInputError:
        """Return an error about a field of this entry."""
        return refusal(self.file, self.where, f"{key} {what}")

    def text(self, key: str) -> str:
        """Return a text; empty if there is none."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, str):
            raise self.refusal(key, f"must be text, got {shown(value)}")
        return value or ""

    def moment(self, key: str) -> float:
        """Return a time in ISO-8601 as seconds since 1970."""
        value = self.value.get(key)
        try:
            if isinstance(value, str):
                return seconds_of_iso(value)
        except (ValueError, OverflowError):
            pass
        raise self.refusal(key, f"must be a time in ISO-8601, got {shown(value)}")

    def epoch(self, key: str) -> float:
        """Return epoch seconds, which may be written as text."""
        value = self.value.get(key)
        if value is None:
            raise self.refusal(key, "must be epoch seconds, got none")
        is_digits = isinstance(value, str) and value.isdecimal()
        return self._checked_number(key, int(value) if is_digits else value)

    def number(self, key: str) -> float:
        """Return a number that is not negative; NaN if there is none."""
        value = self.value.get(key)
        return math.nan if value is None else self._checked_number(key, value)

    def _checked_number(self, key: str, value: object) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value < math.inf:  # type: ignore[operator]
            raise self.refusal(key, f"must be a number, not negative, got {shown(value)}")
        return float(value)  # type: ignore[arg-type]

    def truth(self, key: str) -> float:
        """Return 1 for true, 0 for false, NaN if there is neither."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.refusal(key, f"must be true or false, got {shown(value)}")
        return math.nan if value is None else float(value)


def entries(name: str, stream: io.BufferedReader) -> Iterator[JsonEntry]:
    """Yield the objects of a list, or those that follow each other in a file."""
    text = _JsonText(name, stream.read())
    is_list = text.next_letter() == "["
    if is_list:
        text.skip()
    number = 0
    end = "]" if is_list else ""
    while text.next_letter() != end:
        number += 1
        yield text.entry(number)
        if is_list:
            text.pass_comma(number)
    if is_list:
        text.skip()
        if letter := text.next_letter():
            what = f"expected nothing after the end of the list, got {shown(letter)}"
            raise refusal(name, f"line {text.line}", what)


class _JsonText:
    """The text of a file and the place in it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.line = 1
        self._name = name
        self._at = 0
        self._decode = json.JSONDecoder(parse_constant=_no_number).raw_decode
        try:
            self._text = data.decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            line = 1 + data.count(b"\n", 0, problem.start)
            what = f"expected UTF-8 text, got the byte 0x{data[problem.start]:02x}"
            raise refusal(name, f"line {line}", what) from None

    def next_letter(self) -> str:
        """Pass over spaces and return what is next, without taking it; nothing at the end."""
        found = _SPACE.match(self._text, self._at)
        self._pass_to(self._at if found is None else found.end())
        return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        """Pass over what `next_letter` showed."""
        self._at += 1

    def pass_comma(self, number: int) -> None:
        """Pass over the comma after an entry of a list, if it is not the last."""
        letter = self.next_letter()
        if letter == ",":
            self.skip()
            if self.next_letter() == "]":
                raise self._refusal(number + 1, "expected another entry, got the end")
        elif letter != "]":
            what = shown(letter) if letter else "the end of the file"
            raise self._refusal(number, f"expected , or ] after it, got {what}")

    def entry(self, number: int) -> JsonEntry:
        """Return the object that begins here."""
        try:
            value, end = self._decode(self._text, self._at)
        except json.JSONDecodeError as problem:
            raise self._malformed(number, problem.msg, problem.pos) from None
        except RecursionError:
            raise self._refusal(number, "expected an entry, got too deep a nest") from None
        except ValueError as problem:
            raise self._refusal(number, f"expected JSON, got: {problem}") from None
        if not isinstance(value, dict):
            raise self._refusal(number, f"expected an object, got {shown(value)}")
        found = JsonEntry(self._name, number, self.line, value)
        self._pass_to(end)
        return found

    def _refusal(self, number: int, what: str) -> InvalidInputError:
        return refusal(self._name, f"entry {number} (line {self.line})", what)

    def _malformed(self, number: int, message: str, place: int) -> InvalidInputError:
        is_cut = place >= len(self._text) or message.startswith("Unterminated")
        self._pass_to(place)
        if is_cut:
            return self._refusal(number, "expected the rest of the entry, got the end of the file")
        what = f"{message[0].lower()}{message[1:]}, at {shown(self._text[place : place + 20])}"
        return self._refusal(number, f"expected JSON, got: {what}")

    def _pass_to(self, place: int) -> None:
        self.line += self._text.count("\n", self._at, place)
        self._at = place


def _no_number(word: str) -> None:
    msg = f"{word}, which is no number of JSON"
    raise ValueError(msg)


class SpotifyKeys(NamedTuple):
    """The keys of an export of Spotify."""

    title: str
    artist: str
    end: str
    milliseconds: str


_EXTENDED: Final = SpotifyKeys(
    *("master_metadata_track_name", "master_metadata_album_artist_name", "ts", "ms_played")
)
_ACCOUNT: Final = SpotifyKeys("trackName", "artistName", "endTime", "msPlayed")


def _take_spotify(
    keys: SpotifyKeys, plays: SourcePlays, entry: JsonEntry, possible: TimeRange
) -> None:
    """Add a play, whose time in an export is its end; the account data cut it to the minute."""
    title, artist = entry.text(keys.title), entry.text(keys.artist)
    if not title or not artist or (artist, title) == _UNKNOWN:
        is_spoken = keys.title not in entry.value or any(map(entry.value.get, _SPOKEN_WORD))
        plays.leave_out(_NOT_MUSIC if is_spoken else NO_NAME, entry.where)
        return
    end, milliseconds = entry.moment(keys.end), entry.number(keys.milliseconds)
    skipped = _was_skipped(entry)
    if not _is_possible(plays, entry, end, possible):
        return
    is_known = not math.isnan(milliseconds)
    plays.add(
        plays.account(entry.text("username") or None),
        plays.song(artist, title),
        end - milliseconds / 1_000 if is_known else end,
        played=milliseconds / 1_000,
        skipped=skipped,
        stamp=end // 60,
        mark=milliseconds if is_known else -1.0,
    )


def _is_possible(plays: SourcePlays, entry: JsonEntry, time: float, possible: TimeRange) -> bool:
    doubt = possible.doubt(time)
    if doubt:
        plays.leave_out(doubt, entry.where)
    return not doubt


def _was_skipped(entry: JsonEntry) -> float:
    """Return whether a play was skipped: by Spotify's own field, or else by how it ended."""
    skipped, reason = entry.truth("skipped"), entry.value.get("reason_end")
    if skipped == 1.0 or not isinstance(reason, str):
        return skipped
    # Older entries have false, or nothing, for plays that ended with the button for the next.
    return 1.0 if reason in _CUT_SHORT else 0.0 if reason == "trackdone" else skipped


def _listens(found: Iterator[JsonEntry]) -> Iterator[JsonEntry]:
    """Yield the entries, and instead of a whole answer of ListenBrainz's API its listens."""
    for entry in found:
        payload = entry.value.get("payload")
        listens = payload.get("listens") if isinstance(payload, dict) else None
        if listens is None:
            yield entry
            continue
        if not isinstance(listens, list):
            what = f"expected a list of listens, got {shown(listens)}"
            raise refusal(entry.file, entry.where, what)
        for number, listen in enumerate(listens, start=1):
            if not isinstance(listen, dict):
                place = f"{entry.where}, listen {number}"
                raise refusal(entry.file, place, f"expected an object, got {shown(listen)}")
            yield JsonEntry(entry.file, number, entry.line, listen)


def _take_listen(plays: SourcePlays, entry: JsonEntry, possible: TimeRange) -> None:
    metadata = entry.value["track_metadata"]
    if not isinstance(metadata, dict):
        what = f"track_metadata must be an object, got {shown(metadata)}"
        raise refusal(entry.file, entry.where, what)
    names = entry._replace(value=metadata)
    title, artist = names.text("track_name"), names.text("artist_name")
    if not title or not artist:
        plays.leave_out(NO_NAME, entry.where)
        return
    if entry.value.get("playing_now"):
        plays.leave_out(NO_TIME, entry.where)
        return
    time = entry.epoch("listened_at")
    if _is_possible(plays, entry, time, possible):
        listener = plays.account(entry.text("user_name") or None)
        plays.add(listener, plays.song(artist, title), time)


class JsonFormat(NamedTuple):
    """A format of export: its name, the keys that every entry has, and what takes an entry."""

    name: str
    keys: frozenset[str]
    take: Callable[[SourcePlays, JsonEntry, TimeRange], None]  # adds its play, or leaves it out


_FORMATS: Final = (
    JsonFormat(
        "Spotify, extended history",
        frozenset({"ts", "ms_played", "master_metadata_track_name"}),
        partial(_take_spotify, _EXTENDED),
    ),
    JsonFormat(
        "Spotify, account data",
        frozenset({"endTime", "msPlayed"}),
        partial(_take_spotify, _ACCOUNT),
    ),
    JsonFormat("ListenBrainz", frozenset({"listened_at", "track_metadata"}), _take_listen),
)


def read_entries(document: Document, collector: Collector, *, now: float) -> bool:
    """Add the plays of a JSON file to `collector`; return whether it was a history at all.

    Only a file of an archive, which has other files as well, may be none.
    """
    found = _listens(entries(document.name, document.stream))
    first = _first(document, found)
    plays = collector.source(document.name)
    if first is None:
        collector.close(plays, "JSON without entries")
        return True
    kind = next((each for each in _FORMATS if each.keys <= first.value.keys()), None)
    if kind is None and document.may_be_other:
        return False
    if kind is None:
        expected = "expected an entry of an export of Spotify or ListenBrainz"
        raise refusal(first.file, first.where, f"{expected}, got one with {_keys(first)}")
    possible = TimeRange.until(now, is_service=True)
    for entry in chain([first], found):
        if not kind.keys <= entry.value.keys():
            expected = f"expected an entry of {kind.name}, as the first is"
            raise refusal(entry.file, entry.where, f"{expected}, got one with {_keys(entry)}")
        kind.take(plays, entry, possible)
    collector.close(plays, kind.name)
    return True


def _first(document: Document, found: Iterator[JsonEntry]) -> JsonEntry | None:
    """Return the first entry; one without keys if it cannot be read and need not be."""
    try:
        return next(found, None)
    except InvalidInputError:
        if document.may_be_other and not document.is_likely:
            return JsonEntry(document.name, 1, 1, {})
        raise


def _keys(entry: JsonEntry) -> str:
    return f"the keys {listed(list(entry.value))}" if entry.value else "no keys"


# ── Any file ─────────────────────────────────────────────────────────────────────────────

_JSON: Final = (b"[", b"{")
_MARKS: Final = b"\xef\xbb\xbf \t\r\n"  # a byte order mark, and space


def read(
    paths: Sequence[PathLike[str] | str],
    *,
    apart: bool = False,
    now: float | None = None,
    on_file: Callable[[str], None] = lambda _: None,
) -> Histories:
    """Return the histories in the files, each play once.

    Files without a name are of one listener; with `apart`, every file is of another. Plays after
    `now` (epoch seconds; by default the clock's) are left out. An error names the file and the
    line or entry.
    """
    collector = Collector(apart=apart)
    latest = time.time() if now is None else now
    for path in paths:
        is_history = False
        for document in documents(Path(path)):
            on_file(document.name)
            if _read_document(document, collector, now=latest):
                is_history = True
            else:
                collector.ignored.append(document.name)
        if not is_history:
            msg = f"{path}: expected an archive with a listening history, got none in it"
            raise InvalidInputError(msg)
    if not collector.columns.item:
        shown = ", ".join(map(str, paths)) or "no file"
        msg = f"expected at least one possible play of a song, got none in {shown}"
        raise InvalidInputError(msg)
    return merged(collector)


def _read_document(document: Document, collector: Collector, *, now: float) -> bool:
    head = document.stream.peek(1).lstrip(_MARKS)
    reader = read_entries if head.startswith(_JSON) else read_table
    return reader(document, collector, now=now)
