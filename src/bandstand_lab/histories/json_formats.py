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
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.positions import listed, refusal, shown
from bandstand_lab.histories.timestamps import era_of_services, seconds_of_iso

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator

    from bandstand_lab.histories.collector import Gathering, Page
    from bandstand_lab.histories.reading import Document
    from bandstand_lab.histories.timestamps import Era

_PIECE: Final = 1 << 20  # bytes
# The largest answer of a service's interface is a few MB; an entry of a list, a few KB.
_LARGEST_ENTRY: Final = 1 << 24  # characters
_SPACE: Final = re.compile(r"[ \t\r\n]*")


class Entry(NamedTuple):
    """One object of a file, which one it is, and the line on which it begins."""

    number: int  # from 1
    line: int
    value: dict[str, Any]

    @property
    def where(self) -> str:
        """Return the place as it is told in a message."""
        return f"entry {self.number} (line {self.line})"


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
    return Entry(number, line, value)


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


# A word or number that is cut where the text that has been read ends is found wrong so many
# letters before it; a string is found wrong where it begins.
_TAIL: Final = 1 << 16


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _no_number(word: str) -> None:
    msg = f"{word}, which is no number of JSON"
    raise ValueError(msg)


class _Take(Protocol):
    def __call__(self, page: Page, entry: Entry, era: Era, /) -> None: ...


class Kind(NamedTuple):
    """A kind of export."""

    name: str
    fits: Callable[[dict[str, Any]], bool]  # whether an entry is of this kind
    take: _Take  # adds its play to the page, or notes why it is left out


def name_in(page: Page, entry: Entry, key: str, value: object) -> str:
    """Return a name, which may be absent: then it is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusal(page.name, entry.where, f"{key} must be text, got {shown(value)}")
    return value


def moment_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return a moment that is written in ISO-8601, as seconds since 1970."""
    try:
        if isinstance(value, str):
            return seconds_of_iso(value)
    except (ValueError, OverflowError):
        pass
    raise refusal(page.name, entry.where, f"{key} must be a time in ISO-8601, got {shown(value)}")


def number_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return a number that is not negative; NaN where there is none."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        what = f"{key} must be a number, not negative, got {shown(value)}"
        raise refusal(page.name, entry.where, what)
    return float(value)


def whole_seconds_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return epoch seconds, which may be written as text."""
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if number is None:
        raise refusal(page.name, entry.where, f"{key} must be epoch seconds, got none")
    return number_in(page, entry, key, number)


def truth_in(page: Page, entry: Entry, key: str, value: object) -> float:
    """Return 1 for true, 0 for false, NaN where nothing is said."""
    if value is None:
        return math.nan
    if not isinstance(value, bool):
        raise refusal(page.name, entry.where, f"{key} must be true or false, got {shown(value)}")
    return float(value)


NOT_MUSIC: Final = "podcasts, audiobooks and videos"
_NO_NAME: Final = "without the name of a song"
# What the account data calls songs that it has no names for, files of one's own among them.
_UNKNOWN: Final = ("Unknown Artist", "Unknown Track")
# How a play ends that somebody cut short to hear another.
_CUT: Final = frozenset({"fwdbtn", "backbtn", "clickrow", "clickside"})
_SPOKEN: Final = (
    *("episode_name", "episode_show_name", "spotify_episode_uri"),
    *("audiobook_title", "audiobook_uri", "audiobook_chapter_uri"),
)


def _take_extended(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    title = name_in(page, entry, "master_metadata_track_name", value["master_metadata_track_name"])
    artist_key = "master_metadata_album_artist_name"
    artist = name_in(page, entry, artist_key, value.get(artist_key))
    if not title or not artist:
        is_spoken = any(value.get(key) for key in _SPOKEN)
        page.leave_out(NOT_MUSIC if is_spoken else _NO_NAME, entry.where)
        return
    user = value.get("username")
    _add(
        page,
        entry,
        era,
        listener=name_in(page, entry, "username", user) if user else None,
        item=page.song(artist, title),
        end=moment_in(page, entry, "ts", value["ts"]),
        milliseconds=number_in(page, entry, "ms_played", value["ms_played"]),
        skipped=_skipped(page, entry),
    )


def _take_account(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    if "trackName" not in value:
        page.leave_out(NOT_MUSIC, entry.where)
        return
    title = name_in(page, entry, "trackName", value["trackName"])
    artist = name_in(page, entry, "artistName", value.get("artistName"))
    if not title or not artist or (artist, title) == _UNKNOWN:
        page.leave_out(_NO_NAME, entry.where)
        return
    _add(
        page,
        entry,
        era,
        listener=None,
        item=page.song(artist, title),
        end=moment_in(page, entry, "endTime", value["endTime"]),
        milliseconds=number_in(page, entry, "msPlayed", value["msPlayed"]),
        skipped=math.nan,
    )


def _add(
    page: Page,
    entry: Entry,
    era: Era,
    *,
    listener: str | None,
    item: int,
    end: float,
    milliseconds: float,
    skipped: float,
) -> None:
    if not era.first <= end <= era.last:
        page.leave_out(era.doubt(end), entry.where)
        return
    is_known = milliseconds == milliseconds  # noqa: PLR0124, NaN is not what it is
    page.add(
        page.account(listener),
        item,
        end - milliseconds / 1_000 if is_known else end,
        played=milliseconds / 1_000,
        skipped=skipped,
        stamp=end // 60,
        mark=milliseconds if is_known else -1.0,
    )


def _skipped(page: Page, entry: Entry) -> float:
    """Return whether a play was skipped: as Spotify says, or else by how it ended."""
    told = truth_in(page, entry, "skipped", entry.value.get("skipped"))
    reason = entry.value.get("reason_end")
    if told == 1.0 or not isinstance(reason, str):
        return told
    # Older entries say false, or nothing, of plays that ended with the button for the next.
    return 1.0 if reason in _CUT else 0.0 if reason == "trackdone" else told


def _is_extended(value: dict[str, Any]) -> bool:
    return "ts" in value and "ms_played" in value and "master_metadata_track_name" in value


def _is_account(value: dict[str, Any]) -> bool:
    return "endTime" in value and "msPlayed" in value


EXTENDED: Final = Kind("Spotify, extended history", _is_extended, _take_extended)
ACCOUNT: Final = Kind("Spotify, account data", _is_account, _take_account)


_NO_NAME_: Final = "without the name of a song"


def within_answer(name: str, found: Iterator[Entry]) -> Iterator[Entry]:
    """Yield the entries, and instead of a whole answer of the interface the listens in it."""
    for entry in found:
        payload = entry.value.get("payload")
        listens = payload.get("listens") if isinstance(payload, dict) else None
        if listens is None:
            yield entry
            continue
        if not isinstance(listens, list):
            raise refusal(name, entry.where, f"expected a list of listens, got {shown(listens)}")
        for number, listen in enumerate(listens, start=1):
            if not isinstance(listen, dict):
                place = f"{entry.where}, listen {number}"
                raise refusal(name, place, f"expected an object, got {shown(listen)}")
            yield Entry(number, entry.line, listen)


def _take_listen(page: Page, entry: Entry, era: Era) -> None:
    value = entry.value
    about = value["track_metadata"]
    if not isinstance(about, dict):
        what = f"track_metadata must be an object, got {shown(about)}"
        raise refusal(page.name, entry.where, what)
    title = name_in(page, entry, "track_name", about.get("track_name"))
    artist = name_in(page, entry, "artist_name", about.get("artist_name"))
    if not title or not artist:
        page.leave_out(_NO_NAME_, entry.where)
        return
    if value.get("playing_now"):
        page.leave_out("without a time: playing when the export was made", entry.where)
        return
    time = whole_seconds_in(page, entry, "listened_at", value["listened_at"])
    if not era.first <= time <= era.last:
        page.leave_out(era.doubt(time), entry.where)
        return
    user = value.get("user_name")
    listener = page.account(name_in(page, entry, "user_name", user) if user else None)
    page.add(listener, page.song(artist, title), time)


def _is_listen(value: dict[str, Any]) -> bool:
    return "listened_at" in value and "track_metadata" in value


LISTENBRAINZ: Final = Kind("ListenBrainz", _is_listen, _take_listen)


_KINDS: Final = (EXTENDED, ACCOUNT, LISTENBRAINZ)
EMPTY: Final = "JSON without entries"


def read_entries(document: Document, gathering: Gathering, *, now: float) -> bool:
    """Add the plays of a JSON file to `gathering`; return whether it was a history at all.

    Only in an archive, which has other things as well, a file may be none.
    """
    name = document.name
    found = within_answer(name, entries(name, document.stream))
    first = _first(document, found)
    if first is None:
        gathering.close(gathering.page(name), EMPTY)
        return True
    kind = next((kind for kind in _KINDS if kind.fits(first.value)), None)
    if kind is None and document.may_be_other:
        return False
    if kind is None:
        expected = "expected an entry of an export of Spotify or ListenBrainz"
        raise refusal(name, first.where, f"{expected}, got one with {_keys(first)}")
    page, era = gathering.page(name), era_of_services(now)
    for entry in chain([first], found):
        if not kind.fits(entry.value):
            what = f"expected an entry of {kind.name}, as the first is, got one with {_keys(entry)}"
            raise refusal(name, entry.where, what)
        kind.take(page, entry, era)
    gathering.close(page, kind.name)
    return True


def _first(document: Document, found: Iterator[Entry]) -> Entry | None:
    """Return the first entry; one without keys where it cannot be read and need not be."""
    try:
        return next(found, None)
    except InvalidInputError:
        if document.may_be_other and not document.is_likely:
            return Entry(1, 1, {})
        raise


def _keys(entry: Entry) -> str:
    return f"the keys {listed(list(entry.value))}" if entry.value else "no keys"
