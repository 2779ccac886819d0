"""The ratings and songs of a study, as the analysis reads them.

One record is one rating. An unfinished arm has fewer records, never gaps: the numbers
of an arm are 1, 2, 3 and so on. Moments are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from bandstand._util.array_archive import packed, unpacked
from bandstand.core.model.history import checked_features
from bandstand.errors import InvalidInputError, StoreError
from bandstand.study.design import Design
from bandstand.types import Matrix, frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One rating of one person in one arm."""

    participant: int  # the person's number in the study
    algorithm: str
    place: int  # of the arm in the person's own order, as the store counts it
    number: int  # of the rating in the arm, from 1
    song: str
    stars: int  # 1 to 5
    known: bool  # "I know this song"
    offered_at: int
    rated_at: int
    played_seconds: float | None
    choose_seconds: float | None  # what the algorithm took to choose the song


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """One person who agreed to take part."""

    number: int
    joined_at: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SongSnapshot:
    """The songs of a study as they were when it was opened: a row of features for each id."""

    ids: tuple[str, ...]
    features: Matrix

    @classmethod
    def of(cls, ids: Sequence[str], features: ArrayLike) -> SongSnapshot:
        """Return the songs; ids must differ, and features be one finite row for each."""
        rows = np.array(features, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != len(ids) or not np.isfinite(rows).all():
            msg = f"features must be {len(ids)} rows of finite numbers, got shape {rows.shape}"
            raise InvalidInputError(msg)
        if len(set(ids)) < len(ids):
            msg = f"ids of songs must differ, got {len(set(ids))} different of {len(ids)}"
            raise InvalidInputError(msg)
        return cls(ids=tuple(ids), features=frozen(rows))

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SongSnapshot):
            return NotImplemented
        return self.ids == other.ids and np.array_equal(self.features, other.features)

    def __hash__(self) -> int:
        return hash(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyData:
    """A whole study: its design, its songs, its participants and their ratings."""

    design: Design
    study: str  # its id
    catalogue: SongSnapshot
    records: tuple[Record, ...]
    participants: tuple[Participant, ...]
    simulated: bool
    remarks: tuple[str, ...] = ()  # sentences for the reader, such as the simulated model

    @property
    def people(self) -> tuple[int, ...]:
        """The numbers of all participants, also of those who have rated nothing yet."""
        return tuple(sorted(person.number for person in self.participants))

    def by_arm(self) -> dict[tuple[int, str], tuple[Record, ...]]:
        """Return the ratings of each person's arm that has any, in the order they were given."""
        arms: dict[tuple[int, str], list[Record]] = {}
        for record in self.records:
            arms.setdefault((record.participant, record.algorithm), []).append(record)
        return {
            key: tuple(sorted(arm, key=lambda record: record.number))
            for key, arm in sorted(arms.items())
        }


_PARTS: Final = {"ids", "features"}


def to_bytes(songs: SongSnapshot) -> bytes:
    """Return songs as bytes; features are kept in single precision, as they were analysed."""
    ids = np.array(songs.ids, dtype=np.str_)
    return packed({"ids": ids, "features": songs.features.astype(np.float32)})


def from_bytes(content: bytes) -> SongSnapshot:
    """Return the songs that `to_bytes` wrote; StoreError for anything else."""
    try:
        return _parsed(content)
    except Exception as problem:  # the parsers of zip files raise whatever they like
        msg = f"the songs of a study must be whole, got {len(content):,} bytes: {problem}"
        raise StoreError(msg) from problem


def _parsed(content: bytes) -> SongSnapshot:
    arrays = unpacked(content)
    if set(arrays) != _PARTS or arrays["features"].dtype != np.float32:
        msg = f"ids and features were expected, got {', '.join(arrays)}"
        raise ValueError(msg)
    ids = tuple(str(song) for song in np.atleast_1d(arrays["ids"]))
    return SongSnapshot.of(ids, checked_features(arrays["features"]))
