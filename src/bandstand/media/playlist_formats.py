"""Playlists for other players: M3U8, XSPF, JSPF.

    m3u8   Extended M3U in UTF-8: one line about each song, one with its place
    xspf   XML Shareable Playlist Format, version 1
    jspf   the same in JSON, with MusicBrainz identifiers

Whatever is in the tags, the result is valid: a line stays one line, XML holds only the
characters that XML can hold.
"""

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote_from_bytes
from xml.sax.saxutils import escape

from bandstand.store.songs.songs import SongRecord

FORMATS: Final = ("m3u8", "xspf", "jspf")
MEDIA_TYPES: Final = {
    "m3u8": "application/vnd.apple.mpegurl; charset=utf-8",
    "xspf": "application/xspf+xml; charset=utf-8",
    "jspf": "application/json",
}
_MUSICBRAINZ: Final = "https://musicbrainz.org/recording/"
# All that XML 1.0 cannot hold, not even written as a number.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LINE_ENDS: Final = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A song of a playlist, and where it is: an address, or a path."""

    song: SongRecord
    place: str


def by_address(songs: Iterable[SongRecord], address: Callable[[str], str]) -> list[Entry]:
    """Return songs with the addresses that `address` gives for their ids."""
    return [Entry(song=song, place=address(song.id)) for song in songs]


def by_path(songs: Iterable[SongRecord]) -> list[Entry]:
    """Return songs with the paths of their files, for a player on the same machine."""
    return [Entry(song=song, place=os.fsdecode(song.path)) for song in songs]


def write(form: str, entries: Iterable[Entry], *, title: str) -> bytes:
    """Return a playlist in one of FORMATS, as the bytes of a file."""
    return {"m3u8": m3u8, "xspf": xspf, "jspf": jspf}[form](entries, title=title)


def m3u8(entries: Iterable[Entry], *, title: str) -> bytes:
    """Return an Extended M3U. A file's name stands there byte for byte, whatever its encoding."""
    lines = [b"#EXTM3U", b"#PLAYLIST:" + _line(title)]
    for entry in entries:
        place = os.fsencode(entry.place)
        if b"\n" in place or b"\r" in place:
            place = _uri(entry.place).encode()
        elif place.startswith(b"#"):
            place = b"./" + place
        about = f"#EXTINF:{round(entry.song.duration)},"
        lines += [about.encode() + _line(entry.song.full_title), place]
    return b"\n".join(lines) + b"\n"


def xspf(entries: Iterable[Entry], *, title: str) -> bytes:
    """Return an XSPF document."""
    tracks = "".join(map(_xspf_track, entries))
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<playlist version="1" xmlns="http://xspf.org/ns/0/">\n'
        f"  <title>{_xml(title)}</title>\n"
        f"  <trackList>\n{tracks}  </trackList>\n"
        "</playlist>\n"
    )
    return text.encode()


def jspf(entries: Iterable[Entry], *, title: str) -> bytes:
    """Return a JSPF document."""
    tracks = [_known(_jspf_track(entry)) for entry in entries]
    document = {"playlist": {"title": _unicode(title), "track": tracks}}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()


def _xspf_track(entry: Entry) -> str:
    song = entry.song
    parts = {
        "location": _uri(entry.place),
        "identifier": _identifier(song),
        "title": song.title,
        "creator": song.tags.artist,
        "album": song.tags.album,
        "trackNum": _counted(song.tags.track),
        "duration": round(1_000 * song.duration),
    }
    inside = "".join(
        f"<{name}>{_xml(str(value))}</{name}>" for name, value in _known(parts).items()
    )
    return f"    <track>{inside}</track>\n"


def _jspf_track(entry: Entry) -> dict[str, Any]:
    song = entry.song
    identifier = _identifier(song)
    return {
        "location": [_uri(entry.place)],
        "identifier": None if identifier is None else [identifier],
        "title": _unicode(song.title),
        "creator": _unicode(song.tags.artist),
        "album": _unicode(song.tags.album),
        "trackNum": _counted(song.tags.track),
        "duration": round(1_000 * song.duration),
    }


def _known(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def _identifier(song: SongRecord) -> str | None:
    mbid = song.tags.recording_mbid
    return None if mbid is None else _MUSICBRAINZ + mbid


def _counted(track: int | None) -> int | None:
    # The formats count from 1.
    return track or None


def _uri(place: str) -> str:
    """Return an address as it is, and a path as a file: URI."""
    if not place.startswith("/"):
        return place
    return "file://" + quote_from_bytes(os.fsencode(place), safe="/")


def _line(text: str) -> bytes:
    return _LINE_ENDS.sub(" ", text).strip().encode("utf-8", "replace")


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _unicode(text: str | None) -> str | None:
    """Return a text without lone surrogates, which no encoding can write."""
    return None if text is None else text.encode("utf-8", "replace").decode()
