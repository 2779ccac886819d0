"""What people said in a study, as the analysis reads it: values alone, wherever they come from.

One record is one rating. Whoever has not finished an arm has fewer records there, never gaps:
the numbers of an arm are 1, 2, 3 and so on. Moments are milliseconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from bandstand.study.design import Design
    from bandstand.types import Matrix


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
class FrozenSongs:
    """The songs of a study as they were when it was opened: a row of features for each id."""

    ids: tuple[str, ...]
    features: Matrix

    @classmethod
    def of(cls, ids: Sequence[str], features: ArrayLike) -> FrozenSongs:
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
        if not isinstance(other, FrozenSongs):
            return NotImplemented
        return self.ids == other.ids and np.array_equal(self.features, other.features)

    def __hash__(self) -> int:
        return hash(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyData:
    """A whole study: how it was designed, its songs, its people, and what they said."""

    design: Design
    study: str  # its id
    catalogue: FrozenSongs
    records: tuple[Record, ...]
    participants: tuple[Participant, ...]
    simulated: bool
    remarks: tuple[str, ...] = ()  # sentences for the reader, such as how people were simulated

    @property
    def people(self) -> tuple[int, ...]:
        """The numbers of all who take part, also of those who have rated nothing yet."""
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
