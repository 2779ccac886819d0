"""The catalogue of a store: its songs as one projected matrix, made again when it is stale.

    store: descriptors, tags ─ design (stored, versioned) ─ matrix file (can always be made again)

The projection is fitted once, on the library as it is then; new songs are projected with it, so
that a listener's belief about a direction stays true. Fitting it again is explicit (`refit`), with
one exception: as long as it stands on fewer than 100 songs it is provisional, and is fitted again
when there are twice as many as it knows. Which tags have a column is chosen again whenever the
library has doubled.

If few songs have changed, the rows of all others are taken as they are: to project a million
songs takes half a minute, to copy their rows less than a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError, StoreError
from bandstand.music.audio.descriptors.definition import NAMES, VERSION
from bandstand.music.audio.projection import fit
from bandstand.music.catalogue.design import COLUMNS_VERSION, Design
from bandstand.music.catalogue.matrix import (
    ID_LENGTH,
    Chunks,
    FeatureMatrix,
    Ids,
    SongIds,
    open_latest,
    release_pages,
    write,
)
from bandstand.store.database.connection import Store
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, projections, songs
from bandstand.store.songs.changes import claim, identity
from bandstand.store.songs.projections import ProjectionRecord
from bandstand.types import AnyArray, Indices, Matrix, blocks

# ── Some songs replaced ─────────────────────────────────────────────────────────────────

_BLOCK_SONGS: Final = 8_192  # songs in memory at a time
_BLOCKS_PER_RELEASE: Final = 8  # blocks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replaced:
    """A catalogue as it will be: some rows of the one before, and new ones between them."""

    before: FeatureMatrix
    staying: Indices  # rows of the one before
    new: Ids
    features: Matrix  # of the new ones
    places: Indices  # how many of those that stay come before each new one

    @classmethod
    def of(
        cls, before: FeatureMatrix, *, gone: Sequence[str], new: Sequence[str], features: Matrix
    ) -> Replaced:
        """Return `before` without the songs `gone`, and with the songs `new`, which rise.

        A song that has changed is gone and new.
        """
        rows = SongIds(before.ids).rows(gone)
        staying = np.delete(np.arange(len(before)), rows[rows >= 0])
        keys = np.array([song.encode("ascii") for song in new], dtype=f"|S{ID_LENGTH}")
        return cls(
            before=before,
            staying=staying,
            new=keys,
            features=features,
            places=np.searchsorted(before.ids[staying], keys),
        )

    def __len__(self) -> int:
        return len(self.staying) + len(self.new)

    def chunks(self) -> Iterator[tuple[Ids, AnyArray]]:
        """Yield the ids and features of all songs in their order, some at a time."""
        count = len(self.staying)
        for start in range(0, max(count, 1), _BLOCK_SONGS):
            stop = start + _BLOCK_SONGS
            rows = self.staying[start:stop]
            # The last block also takes those that come after all others.
            here = (self.places >= start) & ((self.places < stop) | (stop >= count))
            places = self.places[here] - start
            ids: Ids = np.insert(self.before.ids[rows], places, self.new[here])
            yield ids, np.insert(self.before.features[rows], places, self.features[here], axis=0)
            if start // _BLOCK_SONGS % _BLOCKS_PER_RELEASE == 0:
                release_pages(self.before.table)  # copied rows are not needed again


# ── The catalogue of a store ────────────────────────────────────────────────────────────

_MIN_SETTLED_SONGS: Final = 100
_MAX_FITTED_SONGS: Final = 50_000  # the moments of 159 columns need no more
_CHUNK_SONGS: Final = 256
_MAX_CHANGED_SONGS: Final = 50_000  # with more, reading all songs again costs little more


def refreshed(store: Store, *, now: int, refit: bool = False) -> FeatureMatrix | None:
    """Return the catalogue of all songs that are present, made again if it is stale.

    For the end of a scan: a design is fitted where there is none, or none that can serve. A stored
    design that cannot be used is refused, unless by a refit. None where there is no song.
    """
    # Fitting takes a while and listeners must be able to write meanwhile: so it only reads.
    with store.reading(limit=None) as connection:
        stored = projections.latest(connection)
        if not songs.count_present(connection, VERSION, enough=1):
            return None
        fitted = _fitted(connection, stored, refit=refit)
    if fitted is not None:
        _save(store, fitted, instead_of=stored, now=now)
    return current(store)


def current(store: Store) -> FeatureMatrix | None:
    """Return the catalogue as the stored design makes it, made again if it is stale.

    None where there is no song. The matrix follows from the store's content alone, so two
    processes that make it at once make the same.
    """
    with store.reading(limit=None) as connection:
        found = current_at(connection, store.location.data_folder)
    return None if found is None else found[0]


def current_at(connection: Connection, folder: Path) -> tuple[FeatureMatrix, Design] | None:
    """Return the matrix of the moment that a connection sees, and its design; see `current`."""
    stored = projections.latest(connection)
    if not songs.count_present(connection, VERSION, enough=1):
        return None
    if stored is None or stored.descriptor_version != VERSION:
        msg = "a projection must be fitted first, found none; `bandstand scan` ends with that"
        raise InvalidInputError(msg)
    design = _restored(stored)
    wanted = _stamp(connection, stored.version)
    latest = open_latest(folder)
    if latest is not None and latest.stamp == wanted:
        return latest, design
    rows = _merged(connection, latest, design, wanted)
    if rows is not None:
        with suppress(InvalidInputError):  # the file before is damaged
            return _written(folder, rows, design, wanted), design
    return _written(folder, _designed(connection, design), design, wanted), design


def check_projection(store: Store) -> None:
    """Refuse a stored projection that cannot be used, before any work depends on it."""
    with store.reading() as connection:
        stored = projections.latest(connection)
    if stored is not None and stored.descriptor_version == VERSION:
        _restored(stored)


def _fitted(
    connection: Connection, stored: ProjectionRecord | None, *, refit: bool
) -> Design | None:
    """Return a new design; None where the stored one serves."""
    if refit or stored is None or _must_be_fitted_again(connection, stored):
        design = Design(projection=fit(_sample(connection)))
    else:
        design = _restored(stored)
        if songs.count_present(connection, VERSION) < max(2 * design.tagged_songs, 1):
            return None
    tagged = ((song.genre, song.year) for song in songs.described(connection, VERSION))
    return design.with_tags(tagged)


def _must_be_fitted_again(connection: Connection, stored: ProjectionRecord) -> bool:
    """Return whether a projection is of other descriptors, or of far too few songs."""
    if stored.descriptor_version != VERSION or stored.songs >= _MIN_SETTLED_SONGS:
        return stored.descriptor_version != VERSION
    return songs.count_present(connection, VERSION) >= 2 * stored.songs


def _restored(stored: ProjectionRecord) -> Design:
    try:
        design = Design.from_bytes(stored.content)
        design.projection.check_fits(version=VERSION)
    except InvalidInputError as problem:
        msg = f"projection {stored.version} of the store cannot be used; scan --refit: {problem}"
        raise InvalidInputError(msg) from problem
    return design


def _save(store: Store, fitted: Design, *, instead_of: ProjectionRecord | None, now: int) -> None:
    """Store a design, unless another process has stored one since the fitting began."""
    with store.writing() as connection:
        claim(connection)
        latest = projections.latest(connection)
        if getattr(latest, "version", None) == getattr(instead_of, "version", None):
            projections.save(
                connection,
                descriptor_version=VERSION,
                songs=fitted.projection.songs,
                columns=fitted.columns,
                content=fitted.to_bytes(),
                now=now,
            )


def _sample(connection: Connection) -> Matrix:
    """Return the descriptors of the songs, or of every k-th where there are very many.

    They come in the order of their ids, which are digests, so every k-th is a random sample.
    """
    count = songs.count_present(connection, VERSION)
    every = max(1, -(-count // _MAX_FITTED_SONGS))
    rows = islice(songs.described(connection, VERSION), 0, None, every)
    sample = np.empty((-(-count // every), len(NAMES)))  # filled in place: it is the largest thing
    for row, song in enumerate(rows):
        sample[row] = song.descriptors
    return sample


def _written(folder: Path, rows: Chunks, design: Design, stamp: dict[str, Any]) -> FeatureMatrix:
    try:
        first = design.meaning.first_sound
        return write(folder, rows, columns=design.columns, first_sound=first, stamp=stamp)
    except OSError as problem:
        msg = f"the catalogue must be written to {folder}, got: {problem.strerror or problem}"
        raise StoreError(msg) from problem


def _stamp(connection: Connection, version: int) -> dict[str, Any]:
    """Return what the matrix depends on; another stamp, another matrix."""
    store = identity(connection)
    return {
        "store": store.id,
        "song_changes": store.song_changes,
        "projection": version,
        "columns": COLUMNS_VERSION,
    }


def _merged(
    connection: Connection,
    before: FeatureMatrix | None,
    design: Design,
    wanted: dict[str, Any],
) -> Chunks | None:
    """Return the former catalogue with new rows for the changed songs only.

    None where that would be wrong, or not worth it.
    """
    if before is None or {**before.stamp, "song_changes": 0} != {**wanted, "song_changes": 0}:
        return None
    since = before.stamp["song_changes"]
    if not isinstance(since, int) or since > wanted["song_changes"]:
        return None
    later = song_changes.since_count(since)
    if song_changes.count_changed(connection, later) > min(_MAX_CHANGED_SONGS, len(before)):
        return None
    gone = song_changes.changed(connection, later)
    new = list(songs.described_of(connection, gone, VERSION, must_be_present=True))
    features = np.empty((len(new), design.columns))
    for some in blocks(len(new), _CHUNK_SONGS):
        features[some] = design.rows(new[some])
    rows = Replaced.of(before, gone=gone, new=[song.id for song in new], features=features)
    # The expensive count is only needed while there are songs of several versions.
    if len(rows) != files.count_songs(connection) and len(rows) != songs.count_present(
        connection, VERSION
    ):
        return None
    return rows.chunks()


def _designed(connection: Connection, design: Design) -> Iterator[tuple[list[str], Matrix]]:
    """Yield the ids and columns of the songs in the order of their ids, some at a time."""
    rows = songs.described(connection, VERSION)
    while chunk := list(islice(rows, _CHUNK_SONGS)):
        yield [song.id for song in chunk], design.rows(chunk)
