"""The songs of a library that other programs mean.

way        what is the same
`mbid`     the MusicBrainz recording
`name`     artist and title, but for case, accents and signs
`version`  artist and title without what names a version: "Heroes - 2017 Remaster" is "Heroes"

Of several songs that fit equally well, the one whose length is nearest, then one of the same album,
then the one with the smallest id. An artist is known by the album's artist too, and without guests.
"""

import math
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from bandstand.music.catalogue.tags import album_name, artist_name, title_names
from bandstand.store.songs.pages import name_key
from bandstand.store.songs.songs import Facts

Way: TypeAlias = Literal["mbid", "name", "version"]

NO_ARTIST: Final = "without the name of an artist"
NO_SUCH_ARTIST: Final = "by artists who are not in the library"
NO_SUCH_SONG: Final = "of songs that the library lacks, by artists whom it has"


class Wanted(NamedTuple):
    """A song as another program names it; empty or NaN is what it does not say."""

    artist: str
    title: str
    album: str = ""
    mbid: str = ""
    length: float = math.nan  # seconds

    @property
    def shown(self) -> str:
        """Its names in one line."""
        return f"{self.artist} – {self.title}" if self.artist else self.title


class Match(NamedTuple):
    """The song that is meant and how it was found, or why there is none."""

    song: str | None
    why: str  # a `Way`, or one of the reasons above


class _Song(NamedTuple):
    id: str
    title: str  # its plain name
    album: str | None
    length: float


class Library:
    """The songs that can be found.

    >>> facts = ("0" * 16, "First Light", "Ada", None, None, None, None, None, None, 180.0)
    >>> library = Library([facts])
    >>> library.find(Wanted("ADA feat. Bo", "First Light (Live)")).why
    'version'
    """

    def __init__(self, songs: Iterable[Facts]) -> None:
        self._by_mbid: dict[str, list[_Song]] = {}
        self._by_name: dict[tuple[str, str], list[_Song]] = {}
        self._artists = set[str]()
        self._found: dict[Wanted, Match] = {}
        for id_, title, artist, album_artist, album, _, _, mbid, _, length in songs:
            spelled, name_of_all = title_names(title or "")
            song = _Song(id_, spelled, album_name(album), length)
            if mbid is not None:
                self._by_mbid.setdefault(mbid, []).append(song)
            for name in {_artist(artist), _artist(album_artist)} - {""}:
                self._artists.add(name)
                if title is not None:
                    self._by_name.setdefault((name, name_of_all), []).append(song)

    def find(self, wanted: Wanted) -> Match:
        """Return the song that is meant."""
        found = self._found.get(wanted)
        if found is None:
            found = self._found[wanted] = self._search(wanted)
        return found

    def _search(self, wanted: Wanted) -> Match:
        recordings = self._by_mbid.get(wanted.mbid.lower(), []) if wanted.mbid else []
        if recordings:
            return Match(_nearest(recordings, wanted).id, "mbid")
        artist = _artist(wanted.artist)
        if not artist:
            return Match(None, NO_ARTIST)
        title, name_of_all = title_names(wanted.title)
        songs = self._by_name.get((artist, name_of_all), [])
        same = [song for song in songs if song.title == title]
        if same:
            return Match(_nearest(same, wanted).id, "name")
        if songs:
            return Match(_nearest(songs, wanted).id, "version")
        return Match(None, NO_SUCH_SONG if artist in self._artists else NO_SUCH_ARTIST)


def _nearest(songs: list[_Song], wanted: Wanted) -> _Song:
    album = album_name(wanted.album)
    is_known = not math.isnan(wanted.length)

    def key(song: _Song) -> tuple[float, bool, str]:
        # Programs round lengths, and cut silence.
        away = abs(song.length - wanted.length) // 3 if is_known else 0.0
        return away, album is None or song.album != album, song.id

    return min(songs, key=key)


def _artist(name: str | None) -> str:
    return artist_name(name) or name_key(name or "")
