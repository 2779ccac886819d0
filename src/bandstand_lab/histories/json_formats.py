"""Exports of music services as JSON: Spotify's two formats, and ListenBrainz.

A format is known by the keys of its entries, and a file has entries of one format. Podcasts and
audiobooks are counted and left out. A file of any size is read in small pieces: a list of objects,
or objects on lines of their own; only the current entry is in memory.

Spotify, account data   endTime (minutes, UTC), artistName, trackName, msPlayed
Spotify, extended       ts (seconds, UTC), ms_played, master_metadata_track_name,
                        master_metadata_album_artist_name, reason_end, skipped, username (older)
ListenBrainz            listened_at (epoch seconds of the start), track_metadata (artist_name,
                        track_name), user_name (in some); also the answers of its API

Spotify gives the end of a play, which began `ms_played` earlier. Both of its exports have the same
play with the same time played, and the account data cut its end to the minute.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.collector import NO_NAME, NO_TIME
from bandstand_lab.histories.positions import listed, refusal, shown
from bandstand_lab.histories.timestamps import seconds_of_iso, service_times

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

    from bandstand_lab.histories.collector import Collector, SourcePlays
    from bandstand_lab.histories.reading import Document
    from bandstand_lab.histories.timestamps import TimeRange

_PIECE: Final = 1 << 20  # bytes
# The largest answer of a service's interface is a few MB; an entry of a list, a few KB.
_LARGEST_ENTRY: Final = 1 << 24  # characters
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


class Entry(NamedTuple):
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


class Format(NamedTuple):
    """A format of export."""

    name: str
    keys: frozenset[str]  # that every entry has
    take: Callable[[SourcePlays, Entry, TimeRange], None]  # adds its play, or leaves it out


def entries(name: str, stream: io.BufferedReader) -> Iterator[Entry]:
    """Yield the objects of a file; those before a mistake come before the error about it."""
    text = _Text(name, stream)
    if text.next_letter() == "[":
        text.skip(1)
        yield from _listed(text)
        _check_end(text)
    else:
        number = 0
        while text.next_letter():
            number += 1
            yield _entry(text, number)


def _listed(text: _Text) -> Iterator[Entry]:
    """Yield the entries between the brackets of a list."""
    number = 0
    letter = text.next_letter()
    while letter != "]":
        number += 1
        yield _entry(text, number)
        letter = text.next_letter()
        if letter == ",":
            text.skip(1)
            if text.next_letter() == "]":
                raise refusal(
                    text.name, text.place(number + 1), "expected another entry, got the end"
                )
        elif letter != "]":
            what = shown(letter) if letter else "the end of the file"
            raise refusal(text.name, text.place(number), f"expected , or ] after it, got {what}")
    text.skip(1)


def _check_end(text: _Text) -> None:
    letter = text.next_letter()
    if letter:
        what = f"expected nothing after the end of the list, got {shown(letter)}"
        raise refusal(text.name, f"line {text.line}", what)


def _entry(text: _Text, number: int) -> Entry:
    line = text.line
    value = text.value(number)
    if not isinstance(value, dict):
        raise refusal(
            text.name, f"entry {number} (line {line})", f"expected an object, got {shown(value)}"
        )
    return Entry(text.name, number, line, value)


class _Text:
    """The text of a file, of which only the part around the place that is read is held."""

    def __init__(self, name: str, stream: io.BufferedReader) -> None:
        self.name = name
        self.line = 1
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._held = ""
        self._at = 0
        self._is_all = False
        self._decode = json.JSONDecoder(parse_constant=_no_number).raw_decode

    def place(self, number: int) -> str:
        """Return where an entry is, for a message."""
        return f"entry {number} (line {self.line})"

    def next_letter(self) -> str:
        """Pass over spaces and return what is next, without taking it; nothing at the end."""
        while True:
            self._pass_to(_after_space(self._held, self._at))
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def skip(self, letters: int) -> None:
        """Pass over what `next_letter` showed."""
        self._at += letters

    def value(self, number: int) -> Any:
        """Return the JSON value that begins here."""
        while True:
            try:
                value, end = self._decode(self._held, self._at)
            except json.JSONDecodeError as problem:
                after = problem.pos - self._at
                is_long = len(self._held) - self._at > _LARGEST_ENTRY
                # Perhaps only the rest of it has not been read.
                if is_long or problem.pos < len(self._held) - _TAIL or not self._more():
                    raise self._refusal(number, problem.msg, self._at + after) from None
            except RecursionError:
                what = "expected an entry, got too deep a nest"
                raise refusal(self.name, self.place(number), what) from None
            except ValueError as problem:
                raise refusal(
                    self.name, self.place(number), f"expected JSON, got: {problem}"
                ) from None
            else:
                self._pass_to(end)
                return value

    def _refusal(self, number: int, message: str, place: int) -> InvalidInputError:
        line = self.line + self._held.count("\n", self._at, place)
        where = f"entry {number} (line {line})"
        is_cut = place >= len(self._held) or message.startswith("Unterminated")
        if self._is_all and is_cut:
            what = "expected the rest of the entry, got the end of the file"
            return refusal(self.name, where, what)
        near = self._held[place : place + 20]
        what = message[0].lower() + message[1:]
        return refusal(self.name, where, f"expected JSON, got: {what}, at {shown(near)}")

    def _pass_to(self, place: int) -> None:
        self.line += self._held.count("\n", self._at, place)
        self._at = place

    def _more(self) -> bool:
        """Read on; return whether there was more."""
        data = self._stream.read(_PIECE)
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as problem:
            before = self._held.count("\n", self._at) + data.count(b"\n", 0, problem.start)
            what = f"expected UTF-8 text, got the byte 0x{problem.object[problem.start]:02x}"
            raise refusal(self.name, f"line {self.line + before}", what) from None
        self._held = self._held[self._at :] + text
        self._at = 0
        self._is_all = not data
        return bool(data)


# The decoder reports a word or number that is cut at the end of the text up to this many letters
# before the end; a cut string it reports where the string begins.
_TAIL: Final = 1 << 16


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _no_number(word: str) -> None:
    msg = f"{word}, which is no number of JSON"
    raise ValueError(msg)


def _take_extended(plays: SourcePlays, entry: Entry, possible: TimeRange) -> None:
    title = entry.text("master_metadata_track_name")
    artist = entry.text("master_metadata_album_artist_name")
    if not title or not artist:
        is_spoken = any(entry.value.get(key) for key in _SPOKEN_WORD)
        plays.leave_out(_NOT_MUSIC if is_spoken else NO_NAME, entry.where)
        return
    end, milliseconds, skipped = entry.moment("ts"), entry.number("ms_played"), _skipped(entry)
    if _is_possible(plays, entry, end, possible):
        listener = plays.account(entry.text("username") or None)
        _add(plays, listener, plays.song(artist, title), end, milliseconds, skipped)


def _take_account(plays: SourcePlays, entry: Entry, possible: TimeRange) -> None:
    if "trackName" not in entry.value:
        plays.leave_out(_NOT_MUSIC, entry.where)
        return
    title, artist = entry.text("trackName"), entry.text("artistName")
    if not title or not artist or (artist, title) == _UNKNOWN:
        plays.leave_out(NO_NAME, entry.where)
        return
    end, milliseconds = entry.moment("endTime"), entry.number("msPlayed")
    if _is_possible(plays, entry, end, possible):
        song = plays.song(artist, title)
        _add(plays, plays.account(None), song, end, milliseconds, math.nan)


def _is_possible(plays: SourcePlays, entry: Entry, time: float, possible: TimeRange) -> bool:
    """Return whether a time is possible; an entry with an impossible one is left out."""
    if possible.first <= time <= possible.last:
        return True
    plays.leave_out(possible.doubt(time), entry.where)
    return False


def _add(
    plays: SourcePlays, listener: int, item: int, end: float, milliseconds: float, skipped: float
) -> None:
    is_known = not math.isnan(milliseconds)
    plays.add(
        listener,
        item,
        end - milliseconds / 1_000 if is_known else end,
        played=milliseconds / 1_000,
        skipped=skipped,
        stamp=end // 60,
        mark=milliseconds if is_known else -1.0,
    )


def _skipped(entry: Entry) -> float:
    """Return whether a play was skipped: by Spotify's own field, or else by how it ended."""
    skipped, reason = entry.truth("skipped"), entry.value.get("reason_end")
    if skipped == 1.0 or not isinstance(reason, str):
        return skipped
    # Older entries have false, or nothing, for plays that ended with the button for the next.
    return 1.0 if reason in _CUT_SHORT else 0.0 if reason == "trackdone" else skipped


def _listens(found: Iterator[Entry]) -> Iterator[Entry]:
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
            yield Entry(entry.file, number, entry.line, listen)


def _take_listen(plays: SourcePlays, entry: Entry, possible: TimeRange) -> None:
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


_FORMATS: Final = (
    Format(
        "Spotify, extended history",
        frozenset({"ts", "ms_played", "master_metadata_track_name"}),
        _take_extended,
    ),
    Format("Spotify, account data", frozenset({"endTime", "msPlayed"}), _take_account),
    Format("ListenBrainz", frozenset({"listened_at", "track_metadata"}), _take_listen),
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
    possible = service_times(now)
    for entry in chain([first], found):
        if not kind.keys <= entry.value.keys():
            expected = f"expected an entry of {kind.name}, as the first is"
            raise refusal(entry.file, entry.where, f"{expected}, got one with {_keys(entry)}")
        kind.take(plays, entry, possible)
    collector.close(plays, kind.name)
    return True


def _first(document: Document, found: Iterator[Entry]) -> Entry | None:
    """Return the first entry; one without keys if it cannot be read and need not be."""
    try:
        return next(found, None)
    except InvalidInputError:
        if document.may_be_other and not document.is_likely:
            return Entry(document.name, 1, 1, {})
        raise


def _keys(entry: Entry) -> str:
    return f"the keys {listed(list(entry.value))}" if entry.value else "no keys"
