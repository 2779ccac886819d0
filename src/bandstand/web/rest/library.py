"""Artists and albums of a catalogue, with ids that clients may keep for ever.

id        what it is            follows from
`tr-`     a song                its id in the store
`al-`     an album              the names of the album and of whose it is, whatever their spelling
`ar-`     an artist             the name, whatever its spelling
`pl-`     a playlist            its id in the store, or the name of a list of the radio

An album belongs to its album artist, or else to the artist of the song. Songs without either
belong to "Unknown Artist", songs without an album to "Unknown Album" of their artist. An album is
spelt as its first song spells it.

All of it follows from the columns of a catalogue and is made once for each catalogue, in
arrays: a page of a list costs what is on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, select

from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.music.catalogue.columns import MAX_SECONDS
from bandstand.music.catalogue.names import NOTHING
from bandstand.store.database.schema import FILE, SONG
from bandstand.store.songs.files import PRESENT
from bandstand.store.songs.pages import genre_names, name_key
from bandstand.types import AnyArray, Indices

UNKNOWN_ARTIST: Final = "Unknown Artist"
UNKNOWN_ALBUM: Final = "Unknown Album"
_NO_YEAR: Final = 32_767
_ADDED: Final = (
    select(SONG.c.id, SONG.c.added_at).join(FILE, FILE.c.song_id == SONG.c.id).where(PRESENT)
)


def song_id(song: str) -> str:
    """Return how clients know a song of the store."""
    return f"tr-{song}"


def artist_id(name: str | None) -> str:
    """Return the id of an artist.

    >>> artist_id("BJÖRK ") == artist_id("Björk"), artist_id(None) == artist_id(UNKNOWN_ARTIST)
    (True, True)
    """
    return f"ar-{_digest(name_key(name or UNKNOWN_ARTIST))}"


def album_id(name: str | None, artist: str | None) -> str:
    """Return the id of an album."""
    return f"al-{_digest(_album_key(name, artist))}"


def _album_key(name: str | None, artist: str | None) -> str:
    # No name has a line feed in its key.
    return f"{name_key(name or UNKNOWN_ALBUM)}\n{name_key(artist or UNKNOWN_ARTIST)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Artist:
    """An artist, and how many albums there are of theirs."""

    id: str
    name: str
    albums: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Album:
    """An album without its songs."""

    id: str
    number: int
    name: str
    artist: str
    songs: int
    seconds: float
    year: int | None
    genre: str | None
    created: int  # when its first song was added: UTC, in milliseconds


@dataclass(frozen=True, kw_only=True, eq=False)
class Library:
    """The artists and albums of one catalogue; numbers are places in its lists."""

    catalogue: Catalogue
    added: AnyArray  # of each row: UTC, in milliseconds
    rows: AnyArray  # all rows, album by album
    starts: AnyArray  # album n has rows[starts[n]:starts[n + 1]]
    albums: dict[str, int]  # by id
    keys: list[str] = field(repr=False)  # of the albums, what their spellings have in common

    @classmethod
    def of(cls, catalogue: Catalogue, connection: Connection) -> Library:
        """Return the artists and albums of a catalogue."""
        columns = catalogue.columns
        whose = np.where(columns.album_artist == NOTHING, columns.artist, columns.album_artist)
        pairs = (columns.album.astype(np.int64) + 1) << 32 | (whose.astype(np.int64) + 1)
        spelt, of_row = np.unique(pairs, return_inverse=True)
        names = columns.names
        keys = [
            _album_key(names.albums[(pair >> 32) - 1], names.artists[(pair & 0xFFFFFFFF) - 1])
            for pair in spelt.tolist()
        ]
        order = {key: number for number, key in enumerate(sorted(set(keys)))}
        numbers = np.array([order[key] for key in keys], dtype=np.int64)[of_row]
        counts = np.bincount(numbers, minlength=len(order))
        return cls(
            catalogue=catalogue,
            added=_added(connection, catalogue),
            rows=np.argsort(numbers, kind="stable"),
            starts=np.concatenate([[0], np.cumsum(counts)]),
            albums={f"al-{_digest(key)}": number for number, key in enumerate(order)},
            keys=list(order),
        )

    # ── Albums ───────────────────────────────────────────────────────────────────────────

    def album(self, number: int) -> Album:
        """Return an album by its number."""
        rows = self.album_rows(number)
        columns, row = self.catalogue.columns, int(rows[0])
        name, genre = columns.names.albums[columns.album[row]], columns.genre[row]
        year = int(self.years[number])
        return Album(
            id=f"al-{_digest(self.keys[number])}",
            number=number,
            name=name or UNKNOWN_ALBUM,
            artist=self._whose(row) or UNKNOWN_ARTIST,
            songs=len(rows),
            seconds=float(np.minimum(columns.seconds[rows], MAX_SECONDS).sum(dtype=np.float64)),
            year=None if year == _NO_YEAR else year,
            genre=next(iter(genre_names(columns.names.genres[genre])), None),
            created=int(self.added[rows].min()),
        )

    def album_rows(self, number: int) -> AnyArray:
        """Return the rows of an album's songs."""
        part: AnyArray = self.rows[self.starts[number] : self.starts[number + 1]]
        return part

    def song_ids(self, rows: Iterable[int] | AnyArray) -> list[str]:
        """Return the store's ids of the songs in some rows."""
        wanted = np.asarray(rows, dtype=np.intp)
        return [song.decode() for song in self.catalogue.columns.ids[wanted].tolist()]

    @cached_property
    def album_of_row(self) -> AnyArray:
        """The number of the album of each row."""
        numbers = np.empty(len(self.rows), dtype=np.int64)
        numbers[self.rows] = np.repeat(np.arange(len(self.keys)), np.diff(self.starts))
        return numbers

    @cached_property
    def years(self) -> AnyArray:
        """The first known year of each album."""
        years = self.catalogue.columns.year[self.rows]
        return self._of_albums(np.minimum, np.where(years < 0, _NO_YEAR, years))

    @cached_property
    def newest(self) -> AnyArray:
        """The albums, the one with the newest song first."""
        added = self._of_albums(np.maximum, self.added[self.rows])
        return np.argsort(-added, kind="stable")

    @cached_property
    def by_artist(self) -> AnyArray:
        """The albums in the order of their artists."""
        keys = [tuple(reversed(key.split("\n"))) for key in self.keys]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)

    def albums_of(self, rows: Indices | AnyArray) -> AnyArray:
        """Return the albums that some rows are on, in the order of their names."""
        found: AnyArray = np.unique(self.album_of_row[rows])
        return found

    def albums_of_songs(self, songs: Iterable[str]) -> dict[int, list[str]]:
        """Return the albums that some songs of the store are on, each with these songs."""
        wanted = list(songs)
        found: dict[int, list[str]] = {}
        for song, row in zip(wanted, self.catalogue.ids.rows(wanted).tolist(), strict=True):
            if row >= 0:
                found.setdefault(int(self.album_of_row[row]), []).append(song)
        return found

    def albums_targeted(self, targets: Iterable[str]) -> list[int]:
        """Return the albums whose name begins a target such as "homogenic · björk"."""
        # A name may have the sign in it too.
        parts = (target.split(" · ") for target in targets)
        wanted = {" · ".join(it[:end]) for it in parts for end in range(1, len(it) + 1)}
        return [at for at, key in enumerate(self.keys) if key.partition("\n")[0] in wanted]

    def _of_albums(self, operation: np.ufunc, values: AnyArray) -> AnyArray:
        if not len(values):
            return values
        found: AnyArray = operation.reduceat(values, self.starts[:-1])
        return found

    def _whose(self, row: int) -> str | None:
        columns = self.catalogue.columns
        code = columns.album_artist[row]
        return columns.names.artists[columns.artist[row] if code == NOTHING else code]

    # ── Artists ──────────────────────────────────────────────────────────────────────────

    @cached_property
    def artists(self) -> dict[str, Artist]:
        """The artists with albums of their own, by id, in the order of their names."""
        own = Counter(key.partition("\n")[2] for key in self.keys)
        spelt: dict[str, str] = {}
        for number, key in enumerate(self.keys):
            row = int(self.rows[self.starts[number]])
            spelt.setdefault(key.partition("\n")[2], self._whose(row) or UNKNOWN_ARTIST)
        made = ((f"ar-{_digest(key)}", spelt[key], own[key]) for key in sorted(own))
        return {who: Artist(id=who, name=name, albums=count) for who, name, count in made}

    @cached_property
    def _others(self) -> dict[str, str]:
        """The names of all artists of songs, by id."""
        columns = self.catalogue.columns
        codes = np.unique(np.concatenate([columns.artist, columns.album_artist])).tolist()
        names = [name for code in codes if (name := columns.names.artists[code]) is not None]
        return {artist_id(name): name for name in names}

    def artist(self, wanted: str) -> Artist | None:
        """Return an artist by id, also one who is only on albums of others."""
        found = self.artists.get(wanted)
        if found is None and wanted in self._others:
            return Artist(id=wanted, name=self._others[wanted], albums=0)
        return found

    def artist_called(self, name: str) -> Artist | None:
        """Return an artist by name, however it is spelt."""
        return self.artist(artist_id(name))

    def artist_rows(self, artist: Artist) -> Indices:
        """Return the rows of an artist's songs."""
        if artist.id == artist_id(None):
            albums = self.albums_by(artist)
            return np.sort(np.concatenate([self.album_rows(number) for number in albums]))
        return self.catalogue.rows_of("artist", artist.name)

    def albums_by(self, artist: Artist) -> list[int]:
        """Return the albums of an artist, or those that have songs by one who has none."""
        own = self._albums_of_artists.get(name_key(artist.name))
        return own or self.albums_of(self.catalogue.rows_of("artist", artist.name)).tolist()

    @cached_property
    def _albums_of_artists(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            found.setdefault(key.partition("\n")[2], []).append(number)
        return found

    # ── Genres and words ─────────────────────────────────────────────────────────────────

    @cached_property
    def genres(self) -> dict[str, tuple[int, int]]:
        """The genres by name, each with its numbers of songs and albums."""
        names = self.catalogue.columns.names.genres
        spelt: dict[str, str] = {}
        for code in np.unique(self.catalogue.columns.genre).tolist():
            for name in genre_names(names[code]):
                spelt.setdefault(name_key(name), name)
        found = {spelt[key]: self.catalogue.rows_of("genre", key) for key in sorted(spelt)}
        return {name: (len(it), len(self.albums_of(it))) for name, it in found.items() if len(it)}

    def albums_with(self, words: Sequence[str]) -> list[int]:
        """Return the albums with all words in their name or that of their artist."""
        return [at for at, key in enumerate(self.keys) if all(word in key for word in words)]

    def artists_with(self, words: Sequence[str]) -> list[Artist]:
        """Return the artists with all words in their name."""
        if not words:
            return list(self.artists.values())
        return [
            it for it in self.artists.values() if all(word in name_key(it.name) for word in words)
        ]


def _added(connection: Connection, catalogue: Catalogue) -> AnyArray:
    """Return when each row was added; 0 for a song that has just left."""
    found: Any = connection.execute(_ADDED).all()
    at = {row[0].encode(): row[1] for row in found}
    ids = catalogue.columns.ids.tolist()
    return np.array([at.get(song, 0) for song in ids], dtype=np.int64)
