"""All songs that can be played now, as one value that all listeners share.

code                  shape     meaning
`ids`                 (S,)      the songs, rising
`named`, `sound`      (S, …)    the songs as models with and without names see them; None while
                                no song has features
`has_features`        (S,)      songs without are playable, but nothing can be predicted of them
`minutes`             (S,)      length of each song
`artist_codes`        (S,)      equal for songs by the same lead artist; −1 if unknown
`recording_codes`     (S,)      equal for versions of one recording

The features are the mapped file itself if every song has some, so that all processes of a machine
share them. Everything else is a few bytes per song (`columns`). When songs come or go, the whole
value is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection

from bandstand.core.model.history import FEATURE_LIMIT
from bandstand.errors import InvalidInputError
from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.music.audio.projection import Projection
from bandstand.music.catalogue import columns as columns_file
from bandstand.music.catalogue import refresh
from bandstand.music.catalogue.artists import ArtistIds
from bandstand.music.catalogue.columns import MAX_SECONDS, SongColumns
from bandstand.music.catalogue.design import Design
from bandstand.music.catalogue.design_view import DesignView, KnownSong, groups_of, known_songs
from bandstand.music.catalogue.matrix import FeatureMatrix, Features, SongIds, release_pages
from bandstand.music.catalogue.names import NOTHING, Spellings
from bandstand.music.catalogue.tags import spelled_tags, usual
from bandstand.store.database.connection import Store
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, songs
from bandstand.store.songs.changes import identity
from bandstand.store.songs.pages import genre_names, name_key
from bandstand.store.songs.songs import SongRecord
from bandstand.types import AnyArray, Indices, blocks, read_only

NO_ROWS: Final[Indices] = read_only(np.empty(0, dtype=np.intp))
# The length of a song of unknown or impossible length; longer ones are cut for planning.
_DEFAULT_MINUTES: Final = 4.0
_MIN_MINUTES, _MAX_MINUTES = 0.05, 1_440.0
# Reading this many songs takes a second, so their columns are saved …
_MIN_SAVED_SONGS: Final = 50_000
# … and read in full once more than a tenth of the songs has changed.
_MIN_SONGS_PER_CHANGE: Final = 10
_BLOCK_SONGS: Final = 16_384


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """All songs that can be played now."""

    columns: SongColumns
    named: DesignView | None
    has_features: AnyArray
    stamp: Mapping[str, Any]  # versions that the features depend on; empty while there are none
    design: Design | None = None  # of the features, from descriptors and tags
    store: Store | None = None

    @classmethod
    def of(
        cls,
        columns: SongColumns,
        matrix: FeatureMatrix | None,
        *,
        design: Design | None = None,
        store: Store | None = None,
    ) -> Catalogue:
        """Return the catalogue of songs with these columns, with features where `matrix` has any.

        Songs without features have zeros. If the matrix has exactly these songs, ids and features
        are those that are mapped, and nothing is copied.
        """
        none = read_only(np.zeros(len(columns), dtype=np.bool_))
        bare = cls(columns=columns, named=None, has_features=none, stamp={})
        if matrix is None or not len(columns) or not len(matrix):
            return bare
        # The song of a damaged row can be played, but not predicted.
        valid, table = _valid_rows(matrix.table), matrix.table
        if valid.all() and np.array_equal(columns.ids, matrix.ids):
            columns, known = replace(columns, ids=matrix.ids), valid
        else:
            places = np.minimum(np.searchsorted(matrix.ids, columns.ids), len(matrix) - 1)
            known = (matrix.ids[places] == columns.ids) & valid[places]
            table = _copied(matrix.table, places, known)
        if not known.any():
            return bare
        return cls(
            columns=columns,
            named=DesignView.of(table, groups_of(columns), design),
            has_features=read_only(known),
            stamp=dict(matrix.stamp),
            design=design,
            store=store,
        )

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def ids(self) -> SongIds:
        """The song of each row."""
        return SongIds(self.columns.ids)

    @property
    def changes(self) -> int:
        """The store's last note of song changes by then."""
        return self.columns.changes

    @cached_property
    def minutes(self) -> AnyArray:
        """The length of each song, within the range that planning accepts."""
        seconds = self.columns.seconds
        known = (seconds > 0) & (seconds < np.inf)
        minutes = np.where(known, seconds, np.float32(60 * _DEFAULT_MINUTES)) / np.float32(60)
        clipped: AnyArray = np.clip(minutes, _MIN_MINUTES, _MAX_MINUTES)
        return clipped

    @cached_property
    def artist_codes(self) -> AnyArray:
        """A number for the artist of each song, without guests."""
        columns = self.columns
        spelt = np.where(columns.artist == NOTHING, columns.album_artist, columns.artist)
        # `NOTHING` is −1, which finds the last entry: its own.
        codes: AnyArray = columns.names.artists.leads()[spelt]
        return codes

    @cached_property
    def recording_codes(self) -> AnyArray:
        """A number for the recording of each song, the same for all its versions."""
        return recording_codes(self.artist_codes, self.columns.title, self.columns.recording)

    @cached_property
    def tag_spellings(self) -> Mapping[str, str]:
        """The genres of all songs, as tags, each with the spelling that most songs have."""
        spellings: dict[str, Counter[str]] = {}
        codes, counts = np.unique(self.columns.genre, return_counts=True)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
            for tag, text in spelled_tags(self.columns.names.genres[code]).items():
                spellings.setdefault(tag, Counter())[text] += count
        return {tag: usual(each) for tag, each in spellings.items()}

    @cached_property
    def tally(self) -> Tally:
        """The amount of music."""
        return Tally.of(self.columns)

    @cached_property
    def sound(self) -> DesignView | None:
        """The songs as models without names see them."""
        return None if self.named is None else self.named.sound_alone()

    @property
    def projection(self) -> Projection | None:
        """The projection of descriptors to sound."""
        return None if self.design is None else self.design.projection

    @cached_property
    def _artist_ids(self) -> ArtistIds:
        return ArtistIds.of(self.columns)

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.columns)

    def rows_of(self, scope: str, target: str) -> Indices:
        """Return the rows that a ban or a station means: none if there are no such songs."""
        if scope == "song":
            row = self.ids.rows([target])
            return row[row >= 0]
        return self._index.rows(scope, name_key(target))

    def genres_of(self, row: int) -> tuple[str, ...]:
        """Return the genres of a song, as its tag writes them."""
        return genre_names(self.columns.names.genres[int(self.columns.genre[row])])

    def songs_of(self, ids: Sequence[str]) -> dict[str, KnownSong]:
        """Return the features and the names of those of the songs that have any, present or not.

        A listener may have rated songs whose files are gone: those ratings still count.
        """
        if self.design is None or self.store is None:
            return {}
        with self.store.reading() as connection:
            found = list(songs.described_of(connection, ids, VERSION))
            records = songs.many(connection, [song.id for song in found])
        # Rounded as in the matrix, so that a song counts the same when it is back.
        rounded = self.design.rows(found).astype(np.float32).astype(np.float64)
        columns = SongColumns.of(map(songs.facts_of, records))
        return known_songs(columns, rounded, self._artist_ids)

    def warmed(self) -> Catalogue:
        """Return this catalogue after computing what its first listener would wait for."""
        _ = self.recording_codes, self.minutes, self._index
        if self.named is not None:
            _ = self.named.table
        return self


def _valid_rows(table: Features) -> AnyArray:
    """Return which rows hold features, and a one at the end."""
    valid = np.empty(len(table), dtype=np.bool_)
    for some in blocks(len(table), _BLOCK_SONGS):
        block = table[some]
        valid[some] = np.all(np.abs(block) <= FEATURE_LIMIT, axis=1) & (block[:, -1] == 1)
    return valid


def _copied(rows: Features, places: Indices, known: AnyArray) -> Features:
    """Return the features in `places`, zeros for songs that are not `known`."""
    table: Features = np.zeros((len(places), rows.shape[1]), dtype=np.float32)
    for some in blocks(len(places), _BLOCK_SONGS):
        table[some][known[some]] = rows[places[some][known[some]]]
    return table


# ── Loading ─────────────────────────────────────────────────────────────────────────────


def load_catalogue(store: Store, before: Catalogue | None = None) -> Catalogue:
    """Return the songs of a store that can be played now.

    A catalogue of the same store that was loaded `before` saves reading what has not changed
    since; so do the columns that were saved for a large library.
    """
    with store.reading(limit=None) as connection:
        # One moment for all: a song is in the columns if and only if the matrix was made with it.
        try:
            found = refresh.current_at(connection, store.location.data_folder)
        except InvalidInputError:
            found = None  # no usable projection yet: the radio plays at random and says so
        columns = _columns(connection, store, None if before is None else before.columns)
    matrix, design = (None, None) if found is None else found
    stamp = {} if matrix is None else dict(matrix.stamp)
    if before is not None and columns is before.columns and stamp == before.stamp:
        return before  # so that listeners keep their shortlists
    if before is not None and before.named is not None:
        # Requests for the former catalogue find its pages again; both need not be in memory.
        release_pages(before.named.song_features.features)
    return Catalogue.of(columns, matrix, design=design, store=store).warmed()


def catalogue_of(records: Iterable[SongRecord], matrix: FeatureMatrix | None = None) -> Catalogue:
    """Return a catalogue of these songs, with their features where `matrix` has any."""
    found = sorted(map(songs.facts_of, records), key=lambda song: song[0])
    return Catalogue.of(SongColumns.of(found), matrix)


def _columns(connection: Connection, store: Store, before: SongColumns | None) -> SongColumns:
    """Return the columns of all songs, by way of those before if that is quicker."""
    folder = store.location.data_folder
    latest, store_id = song_changes.latest(connection), identity(connection).id
    earlier = columns_file.opened(folder) if before is None else before
    columns = None
    if earlier is not None and earlier.store == store_id and earlier.changes <= latest:
        columns = _followed(connection, earlier)
    if columns is None:
        columns = SongColumns.of(songs.facts(connection))
    elif columns is earlier:
        return columns
    columns = replace(columns, store=store_id, changes=latest)
    return columns_file.saved(folder, columns) if len(columns) >= _MIN_SAVED_SONGS else columns


def _followed(connection: Connection, before: SongColumns) -> SongColumns | None:
    """Return the columns with what has changed since; None if reading all is quicker."""
    later = song_changes.since_note(before.changes)
    if song_changes.count_changed(connection, later) > len(before) // _MIN_SONGS_PER_CHANGE:
        return None
    changed = song_changes.changed(connection, later)
    if changed:
        before = before.changed(changed, songs.facts_of_some(connection, changed))
    return before if len(before) == files.count_songs(connection) else None


# ── Rows by name ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsByCode:
    """The rows with each code: those with code c are `rows[starts[c]:starts[c + 1]]`."""

    rows: AnyArray  # int32; of one code, rising
    starts: AnyArray

    @classmethod
    def of(cls, codes: AnyArray, count: int) -> RowsByCode:
        """Return the rows with each of `count` codes; negative codes have none."""
        some = np.flatnonzero(codes >= 0).astype(np.int32)
        order = np.argsort(codes[some], kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes[some], minlength=count), out=starts[1:])
        return cls(rows=read_only(some[order]), starts=read_only(starts))

    def with_code(self, code: int) -> AnyArray:
        """Return the rows with a code; none for a code that is newer than the index."""
        if code + 1 >= len(self.starts):
            return NO_ROWS
        part: AnyArray = self.rows[self.starts[code] : self.starts[code + 1]]
        return part


class NameIndex:
    """The rows of the songs of each name in a library."""

    def __init__(self, columns: SongColumns) -> None:
        names = columns.names
        # Most songs have the same artist twice, and are found by the first.
        others = np.where(columns.album_artist == columns.artist, -1, columns.album_artist)
        parts: dict[str, tuple[Spellings, tuple[AnyArray, ...]]] = {
            "artist": (names.artists, (columns.artist, others)),
            "album": (names.albums, (columns.album,)),
            "genre": (names.genres, (columns.genre,)),
        }
        self._parts = {
            scope: (spellings, [RowsByCode.of(codes, len(spellings)) for codes in several])
            for scope, (spellings, several) in parts.items()
        }

    def rows(self, scope: str, key: str) -> Indices:
        """Return the rows of a folded name, rising; none if there are no such songs."""
        spellings, parts = self._parts[scope]
        found = [part.with_code(code) for code in spellings.known_as(key) for part in parts]
        if not found:
            return NO_ROWS
        rows: Indices = np.unique(np.concatenate(found)).astype(np.intp)
        return rows


# ── Counts ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Numbers of playable songs and of their names; spellings of one name are one."""

    songs: int
    artists: int
    albums: int  # two albums of one name by two artists are two
    genres: int
    duration: float  # of all songs, in seconds

    @classmethod
    def of(cls, columns: SongColumns) -> Tally:
        """Return the tally of these songs."""
        names = columns.names
        genres = _used(columns.genre, names.genres)
        return cls(
            songs=len(columns),
            artists=_distinct(_used(columns.artist, names.artists)),
            albums=_albums(columns),
            genres=_distinct(name for genre in genres for name in genre_names(genre)),
            duration=float(np.minimum(columns.seconds, MAX_SECONDS).sum(dtype=np.float64)),
        )


def _used(codes: AnyArray, spellings: Spellings) -> Iterable[str]:
    """Yield the texts that some song has."""
    for code in np.unique(codes).tolist():
        text = spellings[code]
        if text:
            yield text


def _distinct(texts: Iterable[str]) -> int:
    return len({name_key(text) for text in texts} - {""})


def _albums(columns: SongColumns) -> int:
    names = columns.names
    whose = np.where(columns.album_artist == NOTHING, columns.artist, columns.album_artist)
    on_album = columns.album != NOTHING
    pairs = np.unique(columns.album[on_album] * np.int64(2**32) + whose[on_album] + 1)
    albums = {
        (name_key(names.albums[album] or ""), name_key(names.artists[artist - 1] or ""))
        for album, artist in (divmod(pair, 2**32) for pair in pairs.tolist())
    }
    return len(albums)


# ── Versions of one recording ───────────────────────────────────────────────────────────

# An odd number with evenly spread bits, so that artist and title mix well.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def recording_codes(lead_artist: AnyArray, title: AnyArray, recording: AnyArray) -> AnyArray:
    """Return a number for each song, the same for all versions of one recording.

    Two songs are versions of one if they have the same MusicBrainz recording, or the same artist
    and the same title except for words such as "live" or "remastered 2011". MusicBrainz gives a
    live take a number of its own, so either alone would miss some.

    `lead_artist` has a number per song, −1 for none; the others have digests, 0 for none. Songs
    with too few tags have a number of their own.

    >>> alone, digests = np.array([0, 0, 1]), np.array([7, 7, 7], dtype=np.uint64)
    >>> recording_codes(alone, digests, np.zeros(3, dtype=np.uint64)).tolist()
    [0, 0, 1]
    """
    named = np.flatnonzero((lead_artist >= 0) & (title != 0))
    artists = (lead_artist[named].astype(np.uint64) + np.uint64(1)) * _SPREAD
    first = _first_with_the_same(len(title), named, title[named] ^ artists)
    numbered = np.flatnonzero(recording != 0)
    partner = _first_with_the_same(len(title), numbered, recording[numbered])
    differs = first != first[partner]
    joined = _joined(first[differs], first[partner][differs])
    if joined:
        first = first.copy()
        changed = np.isin(first, list(joined))
        first[changed] = [joined[row] for row in first[changed].tolist()]
    codes: AnyArray = read_only(np.unique(first, return_inverse=True)[1].astype(np.int32))
    return codes


def _first_with_the_same(count: int, rows: AnyArray, keys: AnyArray) -> AnyArray:
    """Return for each song the first one with its key: itself if it has none."""
    first = np.arange(count)
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    first[rows] = rows[places][inverse]
    return first


def _joined(ones: AnyArray, others: AnyArray) -> dict[int, int]:
    """Return the representative of each row that pairs of rows join: the smallest of them."""
    parents: dict[int, int] = {}
    for one, other in zip(ones.tolist(), others.tolist(), strict=True):
        low, high = sorted((_root(parents, one), _root(parents, other)))
        if low != high:
            parents[high] = low
    return {row: _root(parents, row) for row in parents}


def _root(parents: dict[int, int], row: int) -> int:
    while row in parents:
        above = parents[row]
        parents[row] = parents.get(above, above)  # shorter next time
        row = above
    return row
