"""Formats of listening histories: tables (CSV, Last.fm) and JSON (Spotify, ListenBrainz).

A `Format` says where the entries of an export have what. Columns of tables are found by the
header; tables without one are known by their shape: the Last.fm 1K data set, and what exporters of
Last.fm's scrobbles write. A JSON format is known by the keys of its entries, and a file has entries
of one format, as a list or one after the other. Podcasts and audiobooks are counted and left out.

Spotify gives the end of a play, which began `ms_played` earlier. Both of its exports have the same
play with the same time played, and the account data cut its end to the minute.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, NamedTuple, NoReturn

from bandstand._util.csv_tables import listed, shown
from bandstand.errors import InvalidInputError
from bandstand.music.histories.files import Document, refuse

# ── Values ───────────────────────────────────────────────────────────────────────────────

# Sound has been recorded since 1877; the services that make exports began to listen in 2002.
_FIRST_RECORDING: Final = datetime(1877, 1, 1, tzinfo=UTC).timestamp()
_FIRST_SERVICE: Final = datetime(2002, 1, 1, tzinfo=UTC).timestamp()
# A clock may be ahead, and a zone may be forgotten: a day is tolerated.
_TOLERANCE: Final = 86_400.0
# Larger numbers are milliseconds: in seconds they would be in the year 5138.
_MILLISECONDS: Final = 1e11
_NUMBER: Final = re.compile(r"\d+(\.\d*)?")
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
# 28 Feb 2016 16:38, also with a comma or seconds: how Last.fm's exporters write a moment in UTC.
_WRITTEN: Final = re.compile(r"(\d{1,2}) (\w{3})\w* (\d{4}),? (\d{2}):(\d{2})(?::(\d{2}))?")
_TRUTHS: Final = {"true": 1.0, "1": 1.0, "yes": 1.0, "false": 0.0, "0": 0.0, "no": 0.0}


def moment(value: Any) -> float:
    """Return a moment as seconds since 1970; a ValueError says what is wrong with it.

    Numbers are seconds, or milliseconds where they are large; text without a zone is UTC.

    >>> moment("86400"), moment(1456677480000)
    (86400.0, 1456677480.0)
    >>> moment("2016-02-28T16:38:00Z"), moment("28 Feb 2016, 16:38")
    (1456677480.0, 1456677480.0)
    """
    text = value.strip() if isinstance(value, str) else None
    if text is None or _NUMBER.fullmatch(text):
        number = span(value)
        return number / 1_000 if number >= _MILLISECONDS else number
    if written := _WRITTEN.fullmatch(text):
        day, name, year, hour, minute, second = written.groups(default="0")
        month = _MONTHS.split().index(name.lower()) + 1
        date = datetime(int(year), month, int(day), tzinfo=UTC)
        return (date.replace(hour=int(hour), minute=int(minute), second=int(second))).timestamp()
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def span(value: Any) -> float:
    """Return a number that is not negative; a ValueError if it is none.

    >>> span("12.5")
    12.5
    """
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        raise ValueError(value)
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(value)
    return number


def truth(value: Any) -> float:
    """Return 1 for true and 0 for false; a ValueError for anything else.

    >>> truth("Yes"), truth(False)
    (1.0, 0.0)
    """
    try:
        return _TRUTHS[str(value).strip().lower()]
    except KeyError:
        raise ValueError(value) from None


_EXPECTED: Final[dict[Callable[[Any], float], str]] = {
    moment: "a time in ISO-8601 or epoch seconds",
    span: "a number, not negative",
    truth: "true or false",
}


class Entry(NamedTuple):
    """One row of a table or object of JSON, with checked access to its values."""

    file: str
    where: str  # "line 3", "entry 4 (line 31)"
    values: Mapping[str | None, Any]

    def refuse(self, what: str) -> NoReturn:
        """Say what is wrong with this entry."""
        refuse(self.file, self.where, what)

    def text(self, key: str | None) -> str:
        """Return a text; empty if there is none."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            self.refuse(f"{key} must be text, got {shown(value)}")
        return value or ""

    def said(self, key: str | None) -> str:
        """Return a value as text, whatever it is; empty if there is none."""
        value = None if key is None else self.values.get(key)
        return "" if value is None else str(value).strip()

    def number(self, key: str | None, meaning: Callable[[Any], float]) -> float:
        """Return a value in its meaning; NaN if there is none."""
        value = self.values.get(key)
        if value is None or value == "":
            return math.nan
        try:
            return meaning(value)
        except (ValueError, TypeError, OverflowError):
            what = f"{key} must be {_EXPECTED[meaning]}, got {shown(value)}"
            self.refuse(what)


# ── Formats ──────────────────────────────────────────────────────────────────────────────


class Format(NamedTuple):
    """The keys of an export's entries; None for what they do not have."""

    name: str
    title: str
    time: str
    artist: str | None = None
    album: str | None = None
    mbid: str | None = None  # of the recording, at MusicBrainz
    length: str | None = None  # of the song, in milliseconds
    stars: str | None = None
    listener: str | None = None
    played: str | None = None
    played_unit: float = 1e-3  # in seconds
    skipped: str | None = None
    required: frozenset[str] = frozenset()  # the keys of every entry of a service's JSON
    clock: Callable[[Any], float] = moment
    is_dated: bool = True
    whose: str | None = None  # the listener whom a table's header names

    @property
    def is_spotify(self) -> bool:
        """Whether times are those of the ends of plays."""
        return self.name.startswith("Spotify")

    @property
    def first(self) -> float:
        """The first possible time: of a service, or of all recorded music."""
        return _FIRST_RECORDING if self.name == _PLAIN else _FIRST_SERVICE


_PLAIN: Final = "CSV"
_JSON_FORMATS: Final = (
    Format(
        name="Spotify, extended history",
        title="master_metadata_track_name",
        artist="master_metadata_album_artist_name",
        album="master_metadata_album_album_name",
        time="ts",
        listener="username",
        played="ms_played",
        skipped="skipped",
        required=frozenset({"ts", "ms_played", "master_metadata_track_name"}),
    ),
    Format(
        name="Spotify, account data",
        title="trackName",
        artist="artistName",
        time="endTime",
        played="msPlayed",
        required=frozenset({"endTime", "msPlayed"}),
    ),
    Format(
        name="ListenBrainz",
        title="track_name",
        artist="artist_name",
        album="release_name",
        mbid="recording_mbid",
        length="duration_ms",
        time="listened_at",
        listener="user_name",
        required=frozenset({"listened_at", "track_metadata"}),
    ),
)

# The names of columns in tables, the one to take first if there are several.
_COLUMN_NAMES: Final = {
    "title": "item item_id track track_name trackname song song_name title track_id song_id "
    "track_uri name",
    "time": "epoch_s epoch_ms epoch uts timestamp time ts listened_at played_at datetime "
    "date_time utc_time date",
    "artist": "artist artist_name artistname",
    "album": "album album_name release release_name",
    "mbid": "recording_mbid mbid track_mbid",
    "stars": "stars rating",
    "listener": "listener listener_id user user_id userid username user_name",
    "played": "ms_played msplayed played_ms seconds_played s_played played_s played_seconds",
    "skipped": "skipped skip",
}
_ELAPSED: Final = "seconds"  # since an unknown beginning
_LASTFM_ONLY: Final = frozenset({"uts", "artist_mbid", "track_mbid", "album_mbid", "albumid"})
_1K: Final = "Last.fm 1K"
# Tables of Last.fm without a header: whether tabs part the fields, and the first columns.
_HEADERLESS: Final = {
    _1K: (True, ("user", "time", "", "artist", "", "track")),
    "Last.fm TSV": (True, ("time", "track", "artist")),
    "Last.fm CSV": (False, ("artist", "album", "track", "time")),
}


def format_of_header(header: Sequence[str], name: str | None = None) -> Format:
    """Return the format of a table with these columns, or refuse it."""
    columns = [_column(field) for field in header]
    found: dict[str, Any] = {
        part: next((known for known in names.split() if known in columns), None)
        for part, names in _COLUMN_NAMES.items()
    }
    is_dated = found["time"] is not None or _ELAPSED not in columns
    found["time"] = found["time"] if is_dated else _ELAPSED
    for part, what in (("title", "a song (track, item, …)"), ("time", "a time (timestamp, …)")):
        if found[part] is None:
            msg = f"expected a header with a column for {what}, got {listed(header)}"
            raise InvalidInputError(msg)
    twice = [each for place, each in enumerate(columns) if each and each in columns[:place]]
    if twice:
        msg = f"column names must differ, got {twice[0]!r} twice"
        raise InvalidInputError(msg)
    whose = _whose(header)
    is_lastfm = whose is not None or not _LASTFM_ONLY.isdisjoint(columns)
    return Format(
        name=name or ("Last.fm CSV" if is_lastfm else _PLAIN),
        played_unit=1e-3 if "ms" in (found["played"] or "") else 1.0,
        clock=moment if is_dated else span,
        is_dated=is_dated,
        whose=whose,
        **found,
    )


def _column(field: str) -> str:
    return field.strip().lower().replace(" ", "_").replace("-", "_").split("#")[0]


def _whose(header: Sequence[str]) -> str | None:
    """Return the listener named in a column such as Date#name."""
    parts = (field.strip().partition("#") for field in header)
    return next((name for column, _, name in parts if name and column.lower() == "date"), None)


def _header_of_shape(fields: Sequence[str], *, is_tsv: bool) -> tuple[str, Sequence[str]] | None:
    """Return name and columns of a table that begins with this row; None if it is a header."""
    for name, (has_tabs, columns) in _HEADERLESS.items():
        is_long_enough = len(fields) >= len(columns) if is_tsv else len(fields) == len(columns)
        if has_tabs == is_tsv and is_long_enough and _is_time(fields[columns.index("time")], name):
            return name, columns
    return None


def _is_time(text: str, name: str) -> bool:
    try:
        moment(text)
    except (ValueError, OverflowError):
        return False
    # The second field of other tables is a song, whose name may be a number.
    return name != _1K or not text.isdecimal()


# ── Entries of tables ────────────────────────────────────────────────────────────────────

_MARK: Final = b"\xef\xbb\xbf"  # a byte order mark
# A file without line ends is not a history.
_MAX_LINE_BYTES: Final = 1 << 20  # bytes


def _decoded(name: str, data: bytes, line: int = 1) -> str:
    """Return bytes that begin on `line` as text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        number = line + data.count(b"\n", 0, problem.start)
        what = f"expected UTF-8 text, got the byte 0x{data[problem.start]:02x}"
        refuse(name, f"line {number}", what)
    if "\0" in text:
        refuse(name, f"line {line}", "expected text, got a NUL byte")
    return text


def _text_lines(document: Document) -> Iterator[str]:
    """Yield the lines with their ends."""
    number = 0
    while data := document.stream.readline(_MAX_LINE_BYTES):
        number += 1
        if len(data) == _MAX_LINE_BYTES:
            what = f"expected less than {_MAX_LINE_BYTES:,} bytes, got more"
            refuse(document.name, f"line {number}", what)
        yield _decoded(document.name, data.removeprefix(_MARK) if number == 1 else data, number)


def _rows(document: Document, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows that are not empty, each with its place."""
    reader = csv.reader(
        _text_lines(document),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    begins = 1
    try:
        for fields in reader:
            if fields:
                yield f"line {begins}", fields
            begins = reader.line_num + 1
    except csv.Error as problem:
        what = f"expected a row of fields, got: {problem}"
        refuse(document.name, f"line {begins}", what)


def _table(document: Document) -> tuple[Format, Iterator[Entry]] | None:
    """Return the format of a table and its entries; None if it is an empty file of an archive."""
    head = document.stream.peek(1).split(b"\n", 1)[0]
    delimiter = max(",;\t", key=lambda each: head.count(each.encode()))
    rows = _rows(document, delimiter)
    first = next(rows, None)
    if first is None:
        if document.may_be_other:
            return None
        refuse(document.name, None, "expected a listening history, got an empty file")
    where, header = first
    shape = _header_of_shape(header, is_tsv=delimiter == "\t")
    try:
        if shape is None:
            return format_of_header(header), _row_entries(document.name, rows, header)
    except InvalidInputError as problem:
        refuse(document.name, where, str(problem))
    name, columns = shape
    if name != _1K:
        columns = (*columns, *[""] * (len(header) - len(columns)))
    entries = _row_entries(document.name, chain([first], rows), columns, tabs=name == _1K)
    return format_of_header(columns, name), entries


def _row_entries(
    name: str, rows: Iterable[tuple[str, list[str]]], header: Sequence[str], *, tabs: bool = False
) -> Iterator[Entry]:
    """Yield the rows by their columns; `tabs`: the last field, not quoted, may have some."""
    columns = [_column(field) for field in header]
    last = len(columns) - 1
    for where, given in rows:
        fields = given
        if tabs and len(given) > len(columns):
            fields = [*given[:last], "\t".join(given[last:])]
        if len(fields) != len(columns):
            what = f"expected {len(columns)} fields as in the first line, got {len(fields)}"
            refuse(name, where, what)
        yield Entry(name, where, dict(zip(columns, fields, strict=True)))


# ── Entries of JSON ──────────────────────────────────────────────────────────────────────

_SPACE: Final = re.compile(r"[ \t\r\n]*")


def _no_number(word: str) -> None:
    msg = f"{word}, which is no number of JSON"
    raise ValueError(msg)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)


def _json_entries(name: str, text: str) -> Iterator[Entry]:
    """Yield the objects of a list, or those that follow each other in a file."""
    at = _past_space(text, 0)
    is_list = text.startswith("[", at)
    at = _past_space(text, at + 1) if is_list else at
    number, line, seen = 0, 1, 0
    while text[at : at + 1] != ("]" if is_list else ""):
        number, line, seen = number + 1, line + text.count("\n", seen, at), at
        where = f"entry {number} (line {line})"
        value, at = _json_object(name, where, text, at)
        yield Entry(name, where, value)
        at = _past_space(text, at)
        if is_list:
            at = _past_comma(name, where, text, at)
    if rest := text[_past_space(text, at + 1) :]:
        what = f"expected nothing after the end of the list, got {shown(rest[:20])}"
        refuse(name, f"line {1 + text.count(chr(10), 0, len(text) - len(rest))}", what)


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _past_comma(name: str, where: str, text: str, at: int) -> int:
    """Return the place after the comma between two entries; of the end of the list itself."""
    if text.startswith("]", at):
        return at
    after = _past_space(text, at + 1)
    if not text.startswith(",", at) or text.startswith("]", after):
        got = shown(text[at]) if at < len(text) else "the end of the file"
        what = f"expected another entry or the end of the list after it, got {got}"
        refuse(name, where, what)
    return after


def _json_object(name: str, where: str, text: str, at: int) -> tuple[dict[str | None, Any], int]:
    """Return the object that begins at a place, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as problem:
        got = f"{problem.msg}, at {shown(text[problem.pos : problem.pos + 20])}"
        if problem.pos >= len(text) or problem.msg.startswith("Unterminated"):
            got = "the end of the file within it"
        refuse(name, where, f"expected JSON, got: {got}")
    except RecursionError:
        refuse(name, where, "expected an entry, got too deep a nest")
    except ValueError as problem:
        refuse(name, where, f"expected JSON, got: {problem}")
    if not isinstance(value, dict):
        refuse(name, where, f"expected an object, got {shown(value)}")
    return value, end


def _listens(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries, and instead of a whole answer of ListenBrainz's API its listens."""
    for entry in entries:
        payload = entry.values.get("payload")
        listens = payload.get("listens") if isinstance(payload, dict) else None
        if listens is None:
            yield _flat(entry)
            continue
        if not isinstance(listens, list):
            entry.refuse(f"expected a list of listens, got {shown(listens)}")
        for number, listen in enumerate(listens, start=1):
            inner = entry._replace(where=f"{entry.where}, listen {number}", values=listen)
            if not isinstance(listen, dict):
                inner.refuse(f"expected an object, got {shown(listen)}")
            yield _flat(inner)


def _flat(entry: Entry) -> Entry:
    """Return an entry with the parts of ListenBrainz's `track_metadata` as values of its own."""
    if "track_metadata" not in entry.values:
        return entry
    metadata = entry.values["track_metadata"]
    if not isinstance(metadata, dict):
        entry.refuse(f"track_metadata must be an object, got {shown(metadata)}")
    values = {**metadata, **entry.values}
    # What the player sent, and what ListenBrainz found by itself; both may be absent.
    for part in ("mbid_mapping", "additional_info"):
        if isinstance(more := metadata.get(part), dict):
            values = {**more, **values}
    return entry._replace(values=values)


def _json(document: Document) -> tuple[Format, Iterator[Entry]] | None:
    """Return the format of a JSON file and its entries; None if an archive's file has another."""
    text = _decoded(document.name, document.stream.read().removeprefix(_MARK))
    entries = _listens(_json_entries(document.name, text))
    first = next(entries, None)
    if first is None:
        return Format(name="JSON without entries", title="", time=""), entries
    found = next((each for each in _JSON_FORMATS if each.required <= first.values.keys()), None)
    if found is None and document.may_be_other:
        return None
    if found is None:
        first.refuse(f"expected an entry of Spotify or ListenBrainz, got {_keys(first)}")
    return found, _of_format(found, chain([first], entries))


def _of_format(form: Format, entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if not form.required <= entry.values.keys():
            expected = f"expected an entry of {form.name}, as the first is"
            entry.refuse(f"{expected}, got one with {_keys(entry)}")
        yield entry


def _keys(entry: Entry) -> str:
    return (
        f"one with the keys {listed(list(map(str, entry.values)))}" if entry.values else "no keys"
    )


# ── Plays ────────────────────────────────────────────────────────────────────────────────

_NO_NAME: Final = "without the name of a song"
_NO_TIME: Final = "without a time: playing when the export was made"
_NOT_MUSIC: Final = "podcasts, audiobooks and videos"
# Spotify's names for songs without names, the user's own files among them.
_UNKNOWN: Final = ("Unknown Artist", "Unknown Track")
# The ends of a play of Spotify that was cut short for another.
_CUT_SHORT: Final = frozenset({"fwdbtn", "backbtn", "clickrow", "clickside"})
_SPOKEN_WORD: Final = (
    *("episode_name", "episode_show_name", "spotify_episode_uri"),
    *("audiobook_title", "audiobook_uri", "audiobook_chapter_uri"),
)


class Listened(NamedTuple):
    """One play, or with `stars` a rating, as a file has it; empty or NaN is what it does not say.

    Plays of one song by one listener in two files are the same if `stamp` and `mark` are.
    """

    where: str
    listener: str
    is_account: bool  # a service named the listener
    artist: str | None  # None in files that have no artists
    title: str
    album: str
    mbid: str
    length: float  # of the song, in seconds
    begin: float  # in seconds since 1970, or since any beginning
    played: float  # in seconds
    skipped: float  # 1 for yes, 0 for no
    stars: str
    stamp: float
    mark: float


class LeftOut(NamedTuple):
    """An entry that is no possible play of a song, and why."""

    where: str
    reason: str


def _taken(form: Format, entry: Entry, last: float) -> Listened | LeftOut:
    """Return the play of an entry, or why it is left out: no song, or after `last`."""
    title = entry.text(form.title)
    artist = None if form.artist is None else entry.text(form.artist)
    reason = _lack(form, entry, title, artist)
    begin = math.nan if reason else entry.number(form.time, form.clock)
    if not reason and math.isnan(begin):
        entry.refuse(f"{form.time} must be {_EXPECTED[form.clock]}, got none")
    reason = reason or (_doubt(begin, form.first, last) if form.is_dated else None)
    if reason:
        return LeftOut(entry.where, reason)
    played = entry.number(form.played, span) * form.played_unit
    is_end = form.is_spotify
    return Listened(
        where=entry.where,
        listener=entry.text(form.listener),
        is_account=bool(form.required),
        artist=artist,
        title=title,
        album=entry.said(form.album),
        mbid=entry.said(form.mbid),
        length=_seconds(entry.said(form.length)),
        begin=begin - played if is_end and not math.isnan(played) else begin,
        played=played,
        skipped=_skipped(form, entry),
        stars=entry.said(form.stars),
        # Spotify's account data have the minute of the end.
        stamp=begin // 60 if is_end else begin,
        mark=0.0 if not is_end else -1.0 if math.isnan(played) else played,
    )


def _seconds(milliseconds: str) -> float:
    try:
        return span(milliseconds) / 1_000
    except ValueError:
        return math.nan


def _lack(form: Format, entry: Entry, title: str, artist: str | None) -> str | None:
    """Return why an entry is no play of a song; None if it is one."""
    if not title.strip() or artist == "" or (form.is_spotify and (artist, title) == _UNKNOWN):
        is_other = form.title not in entry.values or any(map(entry.values.get, _SPOKEN_WORD))
        return _NOT_MUSIC if form.is_spotify and is_other else _NO_NAME
    is_service_table = not form.required and form.name != _PLAIN
    is_now = is_service_table and not entry.text(form.time).strip()
    return _NO_TIME if is_now or entry.values.get("playing_now") is True else None


def _doubt(time: float, first: float, last: float) -> str | None:
    """Return why a time is impossible; None where it is possible."""
    if first <= time <= last:
        return None
    year = datetime.fromtimestamp(first, tz=UTC).year
    return "in the future" if time > last else f"before {year}, when nothing recorded it"


def _skipped(form: Format, entry: Entry) -> float:
    """Return whether a play was skipped: by the export's own field, or else by how it ended."""
    skipped, reason = entry.number(form.skipped, truth), entry.values.get("reason_end")
    if skipped == 1.0 or not form.is_spotify or not isinstance(reason, str):
        return skipped
    # Older entries have false, or nothing, for plays that ended with the button for the next.
    return 1.0 if reason in _CUT_SHORT else 0.0 if reason == "trackdone" else skipped


# ── Any file ─────────────────────────────────────────────────────────────────────────────


def last_moment(now: float) -> float:
    """Return the time after which no play can be, in seconds since 1970."""
    return now + _TOLERANCE


def read_document(
    document: Document, last: float
) -> tuple[Format, Iterator[Listened | LeftOut]] | None:
    """Return the format of a file and its entries; None if it is no history at all.

    Only a file of an archive, which has other files as well, may be none. Plays after `last` are
    left out.
    """
    head = document.stream.peek(1).removeprefix(_MARK).lstrip()
    try:
        found = _json(document) if head.startswith((b"[", b"{")) else _table(document)
    except InvalidInputError:
        if document.may_be_other and not document.is_likely:
            return None
        raise
    if found is None:
        return None
    form, entries = found
    return form, (_taken(form, entry, last) for entry in entries)
