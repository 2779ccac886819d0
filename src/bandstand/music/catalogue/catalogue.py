"""The songs that can be played now, as one value that all listeners share.

code                  shape     meaning
`ids`                 (S,)      the songs, rising
`catalogue`           (S, p+1)  features and a last column of ones; None while there are none
`has_features`        (S,)      songs without are playable, but nothing can be predicted of them
`minutes`             (S,)      how long each song lasts
`artist_codes`        (S,)      songs by the same artist, whoever the guests; −1 if not known
`recording_codes`     (S,)      versions of one recording have the same number

The features are the mapped file itself wherever every song has some, so that all processes of a
machine share them. Everything else is a few bytes per song (`song_columns`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.song_table import SongTable
from bandstand.errors import InvalidInputError
from bandstand.music.catalogue import columns_file, names, refresh
from bandstand.music.catalogue.array_file import release_pages
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.columns_file import KnownSongs
from bandstand.music.catalogue.counts import Tally, tally_of
from bandstand.music.catalogue.features import features_for
from bandstand.music.catalogue.name_index import NO_ROWS, NameIndex
from bandstand.music.catalogue.recordings import recording_codes
from bandstand.music.catalogue.song_ids import RowsBySong, SongIds
from bandstand.music.catalogue.spellings import NOTHING, SpeltGenres
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, songs
from bandstand.store.songs.changes import identity
from bandstand.types import frozen, read_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from bandstand.core.play_times import SongFeatures
    from bandstand.music.catalogue.matrix import FeatureMatrix
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.songs import SongRecord
    from bandstand.types import AnyArray, Indices

# What a song of unknown or impossible length counts as; longer ones are cut for planning.
_USUAL_MINUTES: Final = 4.0
_SHORTEST, _LONGEST = 0.05, 1_440.0
NOBODY: Final = NOTHING
# A library of so many songs takes a second to read, and is saved as it was read …
_WORTH_SAVING: Final = 50_000
# … and read anew once more than one in so many songs has changed.
_WORTH_READING: Final = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """All songs that can be played now."""

    columns: SongColumns
    catalogue: SongFeatures | None
    has_features: AnyArray
    stamp: Mapping[str, Any]  # what the features depend on; empty while there are none
    store: str = ""  # which one they are from, …
    changes: int = 0  # … and the last note of changes of its songs by then

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def ids(self) -> SongIds:
        """The song of each row."""
        return SongIds(self.columns.ids)

    @cached_property
    def row_of(self) -> RowsBySong:
        """The row of each song."""
        return RowsBySong(self.columns.ids)

    @cached_property
    def minutes(self) -> AnyArray:
        """How long each song lasts, within what can be planned with."""
        seconds = self.columns.seconds
        known = (seconds > 0) & (seconds < np.inf)
        clipped = np.clip(np.where(known, seconds, 1.0) / np.float32(60), _SHORTEST, _LONGEST)
        minutes: AnyArray = np.where(known, clipped, np.float32(_USUAL_MINUTES))
        return minutes

    @cached_property
    def artist_codes(self) -> AnyArray:
        """A number for the artist of each song, guests left out."""
        columns = self.columns
        spelt = np.where(columns.artist == NOTHING, columns.album_artist, columns.artist)
        # Nothing is −1, which finds the last entry: that of nothing.
        codes: AnyArray = columns.names.artists.leads()[spelt]
        return codes

    @property
    def genre_names(self) -> Sequence[tuple[str, ...]]:
        """The genres of each song, as its tag writes them."""
        return SpeltGenres(self.columns.genre, self.columns.names.genres)

    @cached_property
    def recording_codes(self) -> AnyArray:
        """A number for the recording of each song, the same for all its versions."""
        return recording_codes(self.artist_codes, self.columns.title, self.columns.recording)

    @cached_property
    def tally(self) -> Tally:
        """How much music there is."""
        return tally_of(self.columns)

    @cached_property
    def table(self) -> SongTable | None:
        """The features as the exact engine streams through them: once for all listeners."""
        return None if self.catalogue is None else SongTable.of(self.catalogue.features)

    @cached_property
    def bare(self) -> tuple[SongFeatures, SongTable] | None:
        """The catalogue and table without the column of ones, for those who want none."""
        if self.catalogue is None or self.table is None:
            return None
        # The ones are the last term of every squared norm, but for songs without features.
        norms = self.catalogue.squared_norms - self.has_features
        features = read_only(self.catalogue.features[:, :-1])
        catalogue = replace(self.catalogue, features=features, squared_norms=frozen(norms))
        return catalogue, self.table.without_last_column()

    @cached_property
    def _index(self) -> NameIndex:
        return NameIndex(self.columns)

    def rows_of(self, scope: str, target: str) -> Indices:
        """Return the rows that a ban or a wish means: none if there are no such songs."""
        if scope == "song":
            row = self.row_of.get(target)
            return NO_ROWS if row is None else np.array([row])
        return self._index.rows(scope, names.name_key(target))

    def warmed(self) -> Catalogue:
        """Return this shelf after making what its first listener would have to wait for."""
        _ = self.recording_codes, self.minutes, self.table, self._index
        return self


def load_shelf(store: Store, before: Catalogue | None = None) -> Catalogue:
    """Return the songs of a store that can be played now.

    A shelf of the same store that was loaded before saves reading what has not changed since; so
    do the columns that were saved for a large library.
    """
    folder = store.location.data_folder
    with store.reading(limit=None) as connection:
        # One moment for both: a song is on the shelf if and only if the matrix was made with it.
        matrix = _matrix(connection, folder)
        known = _known_songs(connection, folder, before)
    if before is not None and known.columns is before.columns and _stamp(matrix) == before.stamp:
        return before  # so that listeners keep their shortlists
    if before is not None and before.catalogue is not None:
        # Who still asks the shelf before finds its pages again; both at once need not be here.
        release_pages(before.catalogue.features)
    shelf = shelf_from(known.columns, matrix, store=known.store, changes=known.changes)
    return shelf.warmed()


def _known_songs(connection: Connection, folder: Path, before: Catalogue | None) -> KnownSongs:
    """Return what is known of all songs, by way of what was known before if that is quicker."""
    store, latest = identity(connection).id, song_changes.latest(connection)
    earlier = columns_file.opened(folder) if before is None else before
    columns = None if earlier is None else _followed(connection, store, latest, earlier)
    if columns is None:
        columns = SongColumns.of(songs.facts(connection))
    known = KnownSongs(columns=columns, store=store, changes=latest)
    has_changed = earlier is None or columns is not earlier.columns
    return columns_file.saved(folder, known) if has_changed and _is_large(columns) else known


def _is_large(columns: SongColumns) -> bool:
    return len(columns) >= _WORTH_SAVING


def _followed(
    connection: Connection, store: str, latest: int, before: Catalogue | KnownSongs
) -> SongColumns | None:
    """Return the columns with what has changed since; None where that is not worth it."""
    if before.store != store or before.changes > latest:
        return None
    later = song_changes.since_note(before.changes)
    if song_changes.count_changed(connection, later) > len(before) // _WORTH_READING:
        return None
    changed = song_changes.changed(connection, later)
    columns = before.columns
    if changed:
        columns = columns.changed(changed, songs.facts_of_some(connection, changed))
    return columns if len(columns) == files.count_songs(connection) else None


def _stamp(matrix: FeatureMatrix | None) -> Mapping[str, Any]:
    return {} if matrix is None else dict(matrix.stamp)


def _matrix(connection: Connection, folder: Path) -> FeatureMatrix | None:
    try:
        return refresh.current_at(connection, folder)
    except InvalidInputError:
        # No projection yet, or none that serves: the radio plays at random and says so.
        return None


def shelf_of(records: Iterable[SongRecord], matrix: FeatureMatrix | None = None) -> Catalogue:
    """Return a shelf of these songs, with their features where `matrix` has any."""
    found = sorted(map(songs.facts_of, records), key=lambda song: song[0])
    return shelf_from(SongColumns.of(found), matrix)


def shelf_from(
    columns: SongColumns, matrix: FeatureMatrix | None, *, store: str = "", changes: int = 0
) -> Catalogue:
    """Return a shelf of songs that are known as columns."""
    ids, catalogue, has_features = features_for(columns.ids, matrix)
    return Catalogue(
        columns=replace(columns, ids=ids),
        catalogue=catalogue,
        has_features=has_features,
        stamp={} if catalogue is None else _stamp(matrix),
        store=store,
        changes=changes,
    )
