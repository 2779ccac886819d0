"""The songs that can be played now, as one value that all listeners share.

code                  shape     meaning
`ids`                 (S,)      the songs, rising
`catalogue`           (S, p+1)  features and a last column of ones; None while there are none
`has_features`        (S,)      songs without are playable, but nothing can be predicted of them
`minutes`             (S,)      how long each song lasts
`artist_codes`        (S,)      songs by the same artist, whoever the guests; −1 if not known
`recording_codes`     (S,)      versions of one recording have the same number
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.algorithms.situation import Catalogue
from bandstand.arrays import frozen
from bandstand.domain import FEATURE_LIMIT
from bandstand.errors import InvalidInputError
from bandstand.inference.song_table import SongTable
from bandstand.library import catalogue as library_catalogue
from bandstand.radio.choice import names
from bandstand.radio.choice.recordings import recording_codes
from bandstand.radio.choice.tally import Tally, tally_of
from bandstand.store import songs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bandstand.arrays import AnyArray, Indices, Matrix, Vector
    from bandstand.catalog.matrix import Catalogue as StoredCatalogue
    from bandstand.store.connection import Store
    from bandstand.store.songs import SongRecord

# What a song of unknown or impossible length counts as; longer ones are cut for planning.
_USUAL_MINUTES: Final = 4.0
_SHORTEST, _LONGEST = 0.05, 1_440.0
NOBODY: Final = -1
_NO_ROWS: Final = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shelf:
    """All songs that can be played now."""

    ids: tuple[str, ...]
    catalogue: Catalogue | None
    has_features: AnyArray
    minutes: Vector
    artist_codes: Indices
    artist_names: tuple[str | None, ...]  # of each song, as its tag writes it
    genre_names: tuple[tuple[str, ...], ...]  # of each song, as its tag writes them
    recording_codes: Indices
    rows_by_name: Mapping[str, Mapping[str, Indices]]  # by scope, then by folded name
    tally: Tally
    stamp: Mapping[str, Any]  # what the features depend on; empty while there are none

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """The row of each song."""
        return {song: row for row, song in enumerate(self.ids)}

    @cached_property
    def table(self) -> SongTable | None:
        """The features as the exact engine streams through them: once for all listeners."""
        return None if self.catalogue is None else SongTable.of(self.catalogue.features)

    @cached_property
    def bare(self) -> tuple[Catalogue, SongTable] | None:
        """The catalogue and table without the column of ones, for those who want none."""
        if self.catalogue is None or self.table is None:
            return None
        table = self.table.without_last_column()
        # The ones are the last term of every squared norm, but for songs without features.
        norms = self.catalogue.squared_norms - self.has_features
        catalogue = replace(
            self.catalogue, features=frozen(table.features), squared_norms=frozen(norms)
        )
        return catalogue, table

    def rows_of(self, scope: str, target: str) -> Indices:
        """Return the rows that a ban or a wish means: none if there are no such songs."""
        if scope == "song":
            row = self.row_of.get(target)
            return _NO_ROWS if row is None else np.array([row])
        return self.rows_by_name[scope].get(names.name_key(target), _NO_ROWS)


def load_shelf(store: Store) -> Shelf:
    """Return the songs of a store that can be played now."""
    matrix = _matrix(store)
    with store.reading() as connection:
        return shelf_of(songs.present(connection), matrix)


def shelf_of(records: Iterable[SongRecord], matrix: StoredCatalogue | None = None) -> Shelf:
    """Return a shelf of these songs, with their features where `matrix` has any."""
    found = sorted(records, key=lambda record: record.id)
    ids = tuple(record.id for record in found)
    catalogue, has_features = _features(ids, matrix)
    return Shelf(
        ids=ids,
        catalogue=catalogue,
        has_features=has_features,
        minutes=frozen([_minutes(record.duration) for record in found]),
        artist_codes=_artist_codes(found),
        artist_names=tuple(record.tags.artist for record in found),
        genre_names=tuple(names.genre_names(record.tags.genre) for record in found),
        recording_codes=recording_codes([record.tags for record in found]),
        rows_by_name=_rows_by_name(found),
        tally=tally_of(found),
        stamp={} if catalogue is None or matrix is None else dict(matrix.stamp),
    )


def _matrix(store: Store) -> StoredCatalogue | None:
    try:
        return library_catalogue.current(store)
    except InvalidInputError:
        # No projection yet, or none that serves: the radio plays at random and says so.
        return None


def _features(
    ids: Sequence[str], matrix: StoredCatalogue | None
) -> tuple[Catalogue | None, AnyArray]:
    """Return the catalogue of all songs, zeros for those without features, and which have some."""
    if matrix is None or not ids or not len(matrix):
        return None, _fixed(np.zeros(len(ids), dtype=np.bool_))
    keys = np.array([song.encode() for song in ids], dtype="S")
    places = np.minimum(np.searchsorted(matrix.ids, keys), len(matrix) - 1)
    known = matrix.ids[places] == keys
    # A damaged row is as good as none: the song can be played, nothing can be said of it.
    sound = np.all(np.abs(matrix.features) <= FEATURE_LIMIT, axis=1)
    known &= np.asarray(sound)[places]
    if not known.any():
        return None, _fixed(known)
    table: Matrix = np.zeros((len(ids), matrix.features.shape[1] + 1))
    table[known, :-1] = matrix.features[places[known]]
    table[known, -1] = 1.0
    # What is typical is judged by those that have features.
    typical = Catalogue.of(table[known]).typical_distance
    return replace(Catalogue.of(table), typical_distance=typical), _fixed(known)


def _minutes(seconds: float) -> float:
    if not 0 < seconds < np.inf:
        return _USUAL_MINUTES
    return float(np.clip(seconds / 60, _SHORTEST, _LONGEST))


def _artist_codes(records: Sequence[SongRecord]) -> Indices:
    """Return a number for the artist of each song, guests left out."""
    codes: dict[str, int] = {}
    rows = np.full(len(records), NOBODY, dtype=np.intp)
    for row, record in enumerate(records):
        name = record.tags.artist or record.tags.album_artist
        if name is not None:
            rows[row] = codes.setdefault(names.lead_artist(name), len(codes))
    fixed: Indices = _fixed(rows)
    return fixed


def _rows_by_name(records: Sequence[SongRecord]) -> Mapping[str, Mapping[str, Indices]]:
    found: dict[str, dict[str, list[int]]] = {"artist": {}, "album": {}, "genre": {}}
    for row, record in enumerate(records):
        tags = record.tags
        album = {names.name_key(tags.album)} - {""} if tags.album else frozenset()
        keys = {
            "artist": names.artist_keys(tags.artist, tags.album_artist),
            "album": album,
            "genre": names.genre_keys(tags.genre),
        }
        for scope, some in keys.items():
            for key in some:
                found[scope].setdefault(key, []).append(row)
    return {
        scope: {key: _fixed(np.array(rows, dtype=np.intp)) for key, rows in by_key.items()}
        for scope, by_key in found.items()
    }


def _fixed(array: AnyArray) -> Any:
    array.flags.writeable = False
    return array
