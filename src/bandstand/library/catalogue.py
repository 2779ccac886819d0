"""The songs that can be played, as one projected matrix beside the store.

    store: raw descriptors ─ projection (stored, versioned) ─ matrix file (can always be made again)

The projection is fitted once, on the library as it is then; new songs are projected with it, so
that what a listener's belief says of a direction stays true. Fitting it again is explicit
(`refit`), with one exception: as long as it stands on fewer than 100 songs it is provisional,
and is fitted again when there are twice as many as it knows.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.audio.descriptors import NAMES, VERSION
from bandstand.audio.feature_maps import Identity
from bandstand.audio.projection import Projection, fit
from bandstand.catalog.matrix import Catalogue, Chunks, open_latest, write
from bandstand.catalog.replacing import Replaced
from bandstand.errors import InvalidInputError, StoreError
from bandstand.store.songs import changes as song_changes
from bandstand.store.songs import files, projections, songs
from bandstand.store.songs.changes import claim, identity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from bandstand.arrays import Matrix
    from bandstand.store.database.connection import Store
    from bandstand.store.songs.projections import ProjectionRecord

_PROVISIONAL: Final = 100  # songs
_ENOUGH: Final = 50_000  # songs to fit on; the moments of 159 columns need no more
_CHUNK: Final = 256
_MANY: Final = 50_000  # changed songs; of more, reading all of them anew costs little more


def refreshed(
    store: Store, *, now: int, refit: bool = False, feature_map: str | None = None
) -> Catalogue | None:
    """Return the catalogue of all songs that are present, made again if it is stale.

    For the end of a scan: a projection is fitted where there is none, or none that can serve. A
    refit keeps the feature map it had, unless another is named. A stored projection that cannot
    be used is refused, unless by a refit. None where there is no song.
    """
    # Fitting takes a while, and listeners must be able to write meanwhile: so it only reads.
    with store.reading(limit=None) as connection:
        stored = projections.latest(connection)
        if not songs.count_present(connection, VERSION, enough=1):
            return None
        fitted = None
        if refit or stored is None or _must_be_fitted_again(connection, stored):
            fitted = fit(_sample(connection), feature_map=feature_map or _map_of(stored))
    if fitted is not None:
        _save(store, fitted, instead_of=stored, now=now)
    return current(store)


def current(store: Store) -> Catalogue | None:
    """Return the catalogue as the stored projection makes it, made again if it is stale.

    None where there is no song. The matrix follows from the store's content alone, so two
    processes that make it at once make the same.
    """
    with store.reading(limit=None) as connection:
        return current_at(connection, store.location.data_folder)


def current_at(connection: Connection, folder: Path) -> Catalogue | None:
    """Return the catalogue of the moment that a connection sees; see `current`."""
    stored = projections.latest(connection)
    if not songs.count_present(connection, VERSION, enough=1):
        return None
    if stored is None or stored.descriptor_version != VERSION:
        msg = "a projection must be fitted first, found none; `bandstand scan` ends with that"
        raise InvalidInputError(msg)
    version, projection = stored.version, _restored(stored)
    wanted = _stamp(connection, version)
    latest = open_latest(folder)
    if latest is not None and latest.stamp == wanted:
        return latest
    rows = _merged(connection, latest, projection, wanted)
    if rows is not None:
        with suppress(InvalidInputError):  # the file before is damaged
            return _written(folder, rows, projection.columns, wanted)
    return _written(folder, _projected(connection, projection), projection.columns, wanted)


def check_projection(store: Store) -> None:
    """Refuse a stored projection that cannot be used, before any work depends on it."""
    with store.reading() as connection:
        stored = projections.latest(connection)
    if stored is not None and stored.descriptor_version == VERSION:
        _restored(stored)


def _must_be_fitted_again(connection: Connection, stored: ProjectionRecord) -> bool:
    """Tell whether a projection cannot serve: of other descriptors, or of far too few songs."""
    if stored.descriptor_version != VERSION or stored.songs >= _PROVISIONAL:
        return stored.descriptor_version != VERSION
    return songs.count_present(connection, VERSION) >= 2 * stored.songs


def _restored(stored: ProjectionRecord) -> Projection:
    try:
        projection = Projection.from_bytes(stored.content)
        projection.check_fits(version=VERSION)
    except InvalidInputError as problem:
        msg = f"projection {stored.version} of the store cannot be used; scan --refit: {problem}"
        raise InvalidInputError(msg) from problem
    return projection


def _map_of(stored: ProjectionRecord | None) -> str:
    """Return the name of the feature map that a projection has, if that can be told."""
    if stored is not None:
        with suppress(InvalidInputError):
            return Projection.from_bytes(stored.content).feature_map.name
    return Identity.name


def _save(
    store: Store, fitted: Projection, *, instead_of: ProjectionRecord | None, now: int
) -> None:
    """Store a projection, unless somebody else has stored one since the fitting began."""
    with store.writing() as connection:
        claim(connection)
        latest = projections.latest(connection)
        if getattr(latest, "version", None) == getattr(instead_of, "version", None):
            projections.save(
                connection,
                descriptor_version=VERSION,
                songs=fitted.songs,
                columns=fitted.columns,
                content=fitted.to_bytes(),
                now=now,
            )


def _sample(connection: Connection) -> Matrix:
    """Return the descriptors of the songs, or of every k-th where there are very many.

    They come in the order of their ids, which are digests, so every k-th is a random sample.
    """
    count = songs.count_present(connection, VERSION)
    every = max(1, -(-count // _ENOUGH))
    rows = islice(songs.descriptors(connection, VERSION), 0, None, every)
    sample = np.empty((-(-count // every), len(NAMES)))  # filled in place: it is the largest thing
    for row, (_, vector) in enumerate(rows):
        sample[row] = vector
    return sample


def _written(folder: Path, rows: Chunks, columns: int, stamp: dict[str, Any]) -> Catalogue:
    try:
        return write(folder, rows, columns=columns, stamp=stamp)
    except OSError as problem:
        msg = f"the catalogue must be written to {folder}, got: {problem.strerror or problem}"
        raise StoreError(msg) from problem


def _stamp(connection: Connection, version: int) -> dict[str, Any]:
    """Return what the matrix depends on; another stamp, another matrix."""
    store = identity(connection)
    return {"store": store.id, "song_changes": store.song_changes, "projection": version}


def _merged(
    connection: Connection,
    before: Catalogue | None,
    projection: Projection,
    wanted: dict[str, Any],
) -> Chunks | None:
    """Return what comes of the catalogue before when only what has changed is projected.

    None where that would not be right, or not worth it.
    """
    if before is None or {**before.stamp, "song_changes": 0} != {**wanted, "song_changes": 0}:
        return None
    since = before.stamp["song_changes"]
    if not isinstance(since, int) or since > wanted["song_changes"]:
        return None
    later = song_changes.since_count(since)
    if song_changes.count_changed(connection, later) > min(_MANY, len(before)):
        return None
    gone = song_changes.changed(connection, later)
    new = list(songs.descriptors_of(connection, gone, VERSION, must_be_present=True))
    features = np.empty((len(new), projection.columns))
    for start in range(0, len(new), _CHUNK):
        some = slice(start, start + _CHUNK)
        features[some] = projection.apply(np.array([row for _, row in new[some]]))
    rows = Replaced.of(before, gone=gone, new=[song for song, _ in new], features=features)
    # The dear count is only needed while songs of several versions are there.
    if len(rows) != files.count_songs(connection) and len(rows) != songs.count_present(
        connection, VERSION
    ):
        return None
    return rows.chunks()


def _projected(
    connection: Connection, projection: Projection
) -> Iterator[tuple[list[str], Matrix]]:
    """Yield the ids and features of the songs in the order of their ids, some at a time."""
    rows = songs.descriptors(connection, VERSION)
    while chunk := list(islice(rows, _CHUNK)):
        yield [song for song, _ in chunk], projection.apply(np.array([row for _, row in chunk]))
