"""The columns that the model sees of a song, from its descriptors and its tags.

    curved likings | tags | sound | 1

The projection and the tags that have a column are fitted on the library, and stored together: so
that what a listener likes of a column stays true when songs come and go. A model that knows no
names takes the last columns alone: the sound, and the constant.

code             maths     meaning
`sound_square`   E|x|²     mean square of a song's sound, over the songs it was fitted on
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from bandstand._util.array_archive import packed, unpacked
from bandstand.core.model.curved_columns import COLUMNS, curved_columns
from bandstand.core.model.tag_columns import MOST_TAGS, frequent_tags, tag_columns
from bandstand.errors import InvalidInputError
from bandstand.music.audio.projection import Projection
from bandstand.music.catalogue.tags import tags_of
from bandstand.store.songs.songs import Described
from bandstand.types import AnyArray, Matrix, Vector


class Columns(NamedTuple):
    """What the columns are that a model sees: those of sound come last, before the constant."""

    projection: Projection | None = None  # of descriptors to sound
    curved: int = 0  # columns of curved likings, the first
    tags: tuple[str, ...] = ()  # of the columns after them
    averages: Vector | None = None  # of the songs there are, in the columns before the sound
    spellings: Mapping[str, str] | None = None  # of tags, as most songs write them

    @property
    def first_sound(self) -> int:
        """The number of columns before the sound."""
        return self.curved + len(self.tags)


# A change of what the columns mean makes every matrix again.
COLUMNS_VERSION: Final = 2
_MOST_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Fitted on one library; turns what is known of any song into columns."""

    projection: Projection
    tags: tuple[str, ...] = ()  # that have a column, the most frequent first
    tagged_songs: int = 0  # that these were counted in

    @property
    def meaning(self) -> Columns:
        """Return what the columns are."""
        return Columns(self.projection, COLUMNS, self.tags)

    @property
    def columns(self) -> int:
        """Return how many columns a song has, without the constant."""
        return self.meaning.first_sound + self.projection.columns

    @property
    def sound_square(self) -> float:
        """Return the mean square of a song's sound; 1 where all songs sound the same."""
        return float(self.projection.variances.sum()) or 1.0

    def rows(self, songs: Sequence[Described]) -> Matrix:
        """Return the columns of songs, without the constant: one row per song."""
        if not songs:
            return np.empty((0, self.columns))
        sound = self.projection.apply(np.stack([song.descriptors for song in songs]))
        names = tag_columns([tags_of(song.genre, song.year) for song in songs], self.tags)
        return np.hstack([curved_columns(sound / self.sound_square**0.5), names, sound])

    def with_tags(self, songs: Iterable[tuple[str | None, int | None]]) -> Design:
        """Return the design with columns for the most frequent tags, by genre and year."""
        tags = [tags_of(genre, year) for genre, year in songs]
        return Design(projection=self.projection, tags=frequent_tags(tags), tagged_songs=len(tags))

    def to_bytes(self) -> bytes:
        """Return the design as the bytes of an .npz file without pickle."""
        names = np.array(self.tags, dtype=np.str_) if self.tags else np.empty(0, dtype="U1")
        own = {"tags": names, "tagged_songs": np.asarray(self.tagged_songs)}
        return packed(self.projection.arrays() | own)

    @classmethod
    def from_bytes(cls, data: bytes) -> Design:
        """Return the design that `to_bytes` made bytes of, or a projection alone, without tags."""
        try:
            arrays = unpacked(data)
            tags, counted = _tags(arrays)
            return cls(projection=Projection.of(arrays), tags=tags, tagged_songs=counted)
        except Exception as problem:
            # Alien bytes make the parsers of zip and .npy raise anything; it means one thing.
            reason = f"{type(problem).__name__}: {problem}".splitlines()[0]
            msg = f"expected a stored projection and its tags, got {reason}"
            raise InvalidInputError(msg) from problem


def _tags(arrays: Mapping[str, AnyArray]) -> tuple[tuple[str, ...], int]:
    """Return the stored tags, and the number of songs they were counted in."""
    if "tags" not in arrays:
        return (), 0
    names, counted = arrays["tags"], arrays["tagged_songs"]
    tags = tuple(names.tolist())
    is_text = names.ndim == 1 and names.dtype.kind == "U"
    is_set = len({*tags}) == len(tags) <= MOST_TAGS
    if not is_text or not is_set or any(not 0 < len(tag) <= _MOST_CHARACTERS for tag in tags):
        msg = f"tags of type {names.dtype} and shape {names.shape}"
        raise InvalidInputError(msg)
    if counted.shape or counted.dtype.kind != "i" or counted < 0:
        msg = f"{counted} tagged songs"
        raise InvalidInputError(msg)
    return tags, int(counted)
