"""What a file says of itself: PyAV's view of its tags, and tinytag's where that lacks something."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from tinytag import TinyTag

from bandstand.errors import UnreadableAudioError
from bandstand.music.audio.containers import opened
from bandstand.music.audio.cover import embedded_cover, pictures
from bandstand.music.audio.id3 import recording_identifier
from bandstand.music.audio.picture_size import checked_picture
from bandstand.music.audio.source import Source
from bandstand.music.audio.tag_values import (
    gain_of,
    genre_of,
    identifier_of,
    peak_of,
    position_of,
    r128_gain_of,
    year_of,
)
from bandstand.music.audio.text import clean
from bandstand.tracks import Tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from av.container import InputContainer

# Tags are small; what tinytag reads beyond this is damage.
_TINYTAG_BYTES: Final = 1 << 26
_TINYTAG_CALLS: Final = 1 << 16
# Worth a second look if PyAV did not find it. Identifiers and gains are not: most files have
# none, and where they are PyAV has them all; tinytag, once asked, is listened to for these too.
_WANTED: Final = (
    ("title",),
    ("artist",),
    ("album", "product"),
    ("albumartist",),
    ("genre",),
    ("date", "year"),
    ("track", "tracknumber"),
)


class _Found:
    """Texts by name; names differ between formats in case, spaces and underscores only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep what was not there before."""
        for name, text in pairs:
            if text.strip("\0 \t\r\n"):
                self._texts.setdefault(_plain(name), text)

    def get(self, *names: str) -> str | None:
        """Return the text of the first of these names that is there."""
        return next((self._texts[name] for name in names if name in self._texts), None)


def read_tags(file: BinaryIO) -> Tags:
    """Return the tags of a file that can be opened; tags that are damaged are just missing."""
    found = _Found()
    with opened(Source(file)) as container:
        for metadata in _places(container):
            found.add(metadata.items())
        has_picture = bool(pictures(container))
    if any(found.get(*names) is None for names in _WANTED):
        found.add(_by_tinytag(file))
    identifier = recording_identifier(Source(file))
    found.add([("musicbrainztrackid", identifier)] if identifier else [])
    return _tags(found, cover=_cover(file) if has_picture else None)


def _tags(found: _Found, *, cover: str | None) -> Tags:
    get = found.get
    return Tags(
        title=clean(get("title")),
        artist=clean(get("artist", "author")),
        album=clean(get("album", "product")),
        album_artist=clean(get("albumartist")),
        genre=genre_of(get("genre")),
        year=year_of(get("date")) or year_of(get("year")),
        track=position_of(get("track", "tracknumber")),
        disc=position_of(get("disc", "discnumber")),
        recording_mbid=identifier_of(get("musicbrainztrackid", "musicbrainzrecordingid")),
        release_mbid=identifier_of(get("musicbrainzalbumid", "musicbrainzreleaseid")),
        artist_mbid=identifier_of(get("musicbrainzartistid")),
        track_gain=_gain(found, "track"),
        track_peak=peak_of(get("replaygaintrackpeak")),
        album_gain=_gain(found, "album"),
        album_peak=peak_of(get("replaygainalbumpeak")),
        cover=cover,
    )


def _cover(file: BinaryIO) -> str | None:
    with suppress(UnreadableAudioError):  # a damaged picture is no reason to lose a song
        found = embedded_cover(file)
        return checked_picture(found[1]) if found else None
    return None


def _gain(found: _Found, kind: str) -> float | None:
    gain = gain_of(found.get(f"replaygain{kind}gain"))
    return r128_gain_of(found.get(f"r128{kind}gain")) if gain is None else gain


def _places(container: InputContainer) -> Iterator[Mapping[str, str]]:
    """Yield the container's tags; in Ogg, which has none, those of its sound.

    Elsewhere a stream's title is not the song's: "Stereo", "Commentary".
    """
    yield container.metadata
    if container.format.name == "ogg":
        for stream in container.streams.audio:
            yield stream.metadata


def _by_tinytag(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield what tinytag finds in the file."""
    source = Source(file, limit=_TINYTAG_BYTES, calls=_TINYTAG_CALLS)
    source.seek(0)
    try:
        tag = TinyTag.get(file_obj=cast("BinaryIO", source), duration=False)
    except Exception:  # noqa: BLE001 - damaged tags raise anything, and are no reason to lose a song
        return
    for name, texts in tag.as_dict().items():
        if isinstance(texts, list):  # the others are properties of the sound
            yield name, ";".join(texts)


def _plain(name: str) -> str:
    """Return a name as letters and digits: MUSICBRAINZ_TRACKID is "MusicBrainz Track Id"."""
    return "".join(character for character in name.lower() if character.isalnum())
