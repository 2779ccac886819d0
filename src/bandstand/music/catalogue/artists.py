"""The artist of each song as the model sees it: by MusicBrainz where files have that, or by name.

    one name, one MusicBrainz id in the library     one artist, also of its files without an id
    one name, several ids                           namesakes: those with an id by their id
    several names, one id                           one artist
    no name                                         none, whatever the id: that of "Various Artists"

Most libraries have ids in some files only, so an id alone would divide an artist in two. What a
name's id is may change when songs come or go; then listeners are loaded again.

code      shape  meaning
`names`   (n,)   the identities of the names with one MusicBrainz id, rising
`ids`     (n,)   the identity that takes the place of each
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bandstand.core.model.song_groups import UNKNOWN
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.tags import artist_name, identities
from bandstand.types import AnyArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArtistIds:
    """The MusicBrainz ids that names have in one library."""

    names: AnyArray
    ids: AnyArray

    @classmethod
    def of(cls, columns: SongColumns) -> ArtistIds:
        """Return the ids of the names that have one and no other."""
        names, ids = _names_and_ids(columns)
        rows = np.flatnonzero(ids != UNKNOWN)
        order = rows[np.lexsort((ids[rows], names[rows]))]
        names, ids = names[order], ids[order]
        is_new = np.append(True, (names[1:] != names[:-1]) | (ids[1:] != ids[:-1]))[: len(order)]
        each, first, counts = np.unique(names[is_new], return_index=True, return_counts=True)
        return cls(names=each[counts == 1], ids=ids[is_new][first[counts == 1]])


def artists_of(columns: SongColumns, known: ArtistIds) -> AnyArray:
    """Return the artist of each song; one without a name is by the artist of its album."""
    names, ids = _names_and_ids(columns)
    found = np.where(ids == UNKNOWN, names, ids)
    if not len(known.names):
        return found
    places = np.minimum(np.searchsorted(known.names, names), len(known.names) - 1)
    return np.where(known.names[places] == names, known.ids[places], found)


def _names_and_ids(columns: SongColumns) -> tuple[AnyArray, AnyArray]:
    """Return the identity of each song's artist by name, and by MusicBrainz if it has both."""
    named = identities(columns.names.artists, artist_name)
    own, of_album, digests = named[columns.artist], named[columns.album_artist], columns.artist_mbid
    has_id = (own != UNKNOWN) & (digests != 0)
    ids = np.where(has_id, (digests >> np.uint64(1)).astype(np.int64), UNKNOWN)
    return np.where(own == UNKNOWN, of_album, own), ids
