"""The songs of a catalogue as a model sees them: with names and curved likings, or sound alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from bandstand.core.engines.song_table import SongTable
from bandstand.core.model.history import SongFeatures
from bandstand.core.model.priors import ListenerPrior, people_prior, radio_prior
from bandstand.core.model.song_groups import SongGroups, mixed
from bandstand.music.catalogue.artists import ArtistIds, artists_of
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.design import Columns, Design
from bandstand.music.catalogue.matrix import Features, Ids
from bandstand.music.catalogue.tags import album_name, identities
from bandstand.types import AnyArray, Matrix, Vector, frozen, read_only

_ID_BYTES: Final = 16
_AVERAGED_SONGS: Final = 16_384  # evenly spread ones


class KnownSong(NamedTuple):
    """A song that need not be in the catalogue: its features without the constant, and groups."""

    features: Vector
    groups: SongGroups  # of this one song


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignView:
    """Some of the columns of all songs; another view has the same memory."""

    song_features: SongFeatures
    columns: Columns
    sound_square: float  # mean square of a song's sound
    has_constant: bool = True  # in the last column

    @classmethod
    def of(cls, table: Features, groups: SongGroups, design: Design | None) -> DesignView:
        """Return all columns of a table; without a design they are standardised sound."""
        return cls(
            song_features=SongFeatures.of(table, groups=groups),
            columns=Columns() if design is None else design.meaning,
            sound_square=max(table.shape[1] - 1, 1) if design is None else design.sound_square,
        )

    def __len__(self) -> int:
        return len(self.song_features)

    @cached_property
    def table(self) -> SongTable:
        """The features as the exact engine streams through them: once for all listeners."""
        return SongTable.of(self.song_features.features)

    @cached_property
    def averages(self) -> Vector:
        """The mean of each column before the sound, over songs that have features."""
        songs = self.song_features
        some = slice(None, None, -(-len(songs) // _AVERAGED_SONGS) or 1)
        rows = songs.features[some, : self.columns.first_sound]
        count = np.count_nonzero(songs.squared_norms[some])
        means: Vector = frozen(rows.sum(axis=0, dtype=np.float64) / max(count, 1))
        return means

    @cached_property
    def without_constant(self) -> DesignView:
        """The view without the column of ones, for models without an intercept."""
        return self._narrowed(slice(None, -1), has_constant=False)

    def sound_alone(self) -> DesignView:
        """Return the view of sound and constant, in which no song has to do with another."""
        first = self.columns.first_sound
        found = self._narrowed(slice(first, None), has_constant=self.has_constant)
        bare = replace(found.song_features, groups=None)
        return replace(found, song_features=bare, columns=Columns(self.columns.projection))

    def prior(self, *, has_effects: bool) -> ListenerPrior:
        """Return the prior of a listener for these columns, with or without effects of names."""
        columns = max(self.song_features.features.shape[1], 1)
        if not has_effects:
            return radio_prior(columns, sound_square=self.sound_square, intercept=self.has_constant)
        return people_prior(
            columns,
            curved=self.columns.curved,
            tags=len(self.columns.tags),
            sound_square=self.sound_square,
            intercept=self.has_constant,
        )

    def _narrowed(self, columns: slice, *, has_constant: bool) -> DesignView:
        songs = self.song_features
        features = read_only(songs.features[:, columns])
        with np.errstate(under="ignore"):
            norms = np.einsum("sp,sp->s", features, features, dtype=np.float64)
        narrowed = replace(songs, features=features, squared_norms=frozen(norms))
        return replace(self, song_features=narrowed, has_constant=has_constant)


# ── Songs, albums and artists as identities ─────────────────────────────────────────────


def groups_of(columns: SongColumns, artist_ids: ArtistIds | None = None) -> SongGroups:
    """Return the song, album and artist of each row.

    `artist_ids` are those of the catalogue, by default of these songs.
    """
    known = ArtistIds.of(columns) if artist_ids is None else artist_ids
    return SongGroups.of(
        song=song_identities(columns.ids),
        album=identities(columns.names.albums, album_name)[columns.album],
        artist=artists_of(columns, known),
    )


def song_identities(ids: Ids) -> AnyArray:
    """Return a number for each song: the same everywhere and always."""
    halves = np.ascontiguousarray(ids.astype(f"|S{_ID_BYTES}")).view(np.int64)
    return mixed(halves[::2], halves[1::2])


def known_songs(
    columns: SongColumns, features: Matrix, artist_ids: ArtistIds | None = None
) -> dict[str, KnownSong]:
    """Return songs by id, from their columns and their features."""
    groups = groups_of(columns, artist_ids)
    return {
        song.decode(): KnownSong(features[row], groups.take([row]))
        for row, song in enumerate(columns.ids.tolist())
    }
