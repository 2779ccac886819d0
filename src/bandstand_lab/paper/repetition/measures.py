"""What is said of one sequence of plays, and of all listeners of one algorithm."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from bandstand.model.rank_frequency import zipf
from bandstand_lab.statistics.concentration import effective_songs, profile_distance
from bandstand_lab.statistics.rank_laws import Ranking, Shape, compare_laws
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.types import Vector
    from bandstand_lab.paper.repetition.people import Person
    from bandstand_lab.statistics.summaries import MeanEstimate

# With fewer repeats than this share of all plays there is nothing to rank.
FEWEST_REPEATS: Final = 0.05

Cut: TypeAlias = Literal["stretches", "in_library"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """How songs come back in one sequence of plays."""

    plays_by_rank: Vector
    repeat_share: float
    effective_songs: float
    slope: float | None  # of the line through log plays over log rank
    r_squared: float | None
    curvature: float | None  # of (log rank)²: 0 on a line, negative where it bends down
    laws: Ranking

    @property
    def shape(self) -> Shape:
        """Whether the plays are nearest to Zipf's law; open where hardly any song has come back."""
        return Shape.OPEN if self.repeat_share < FEWEST_REPEATS else self.laws.shape

    @property
    def songs(self) -> int:
        """How many different songs were played."""
        return len(self.plays_by_rank)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain numbers; what has no bound is None."""
        against = self.laws.against_exponential
        return {
            "plays_by_rank": self.plays_by_rank.astype(int).tolist(),
            "songs": self.songs,
            "repeat_share": self.repeat_share,
            "effective_songs": self.effective_songs,
            "slope": self.slope,
            "r_squared": self.r_squared,
            "curvature": self.curvature,
            "zipf_exponent": self.laws.zipf.parameter,
            "zipf_against_exponential_z": against if math.isfinite(against) else None,
            "zipf_against_equal_log_likelihood": self.laws.against_equal,
            "likeliest_law": self.laws.likeliest,
            "shape": str(self.shape),
        }


def measured(plays_by_rank: Vector, *, library: int) -> Measures:
    """Return the measures of plays in a library of so many songs."""
    line = zipf(plays_by_rank)
    return Measures(
        plays_by_rank=plays_by_rank,
        repeat_share=1 - len(plays_by_rank) / float(plays_by_rank.sum()),
        effective_songs=effective_songs(plays_by_rank),
        slope=None if line is None else -line.exponent,
        r_squared=None if line is None else line.r_squared,
        curvature=None if line is None else curvature(plays_by_rank),
        laws=compare_laws(plays_by_rank, library=library),
    )


def curvature(plays_by_rank: Vector) -> float:
    """Return how log plays bend over log rank: the coefficient of (log rank)².

    >>> abs(curvature(60 / np.arange(1.0, 31.0))) < 1e-9
    True
    """
    across = np.log(np.arange(1.0, len(plays_by_rank) + 1))
    centred = across - across.mean()
    return float(np.polyfit(centred, np.log(plays_by_rank), 2)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What one algorithm did for each of its listeners, in the order of their numbers."""

    algorithm: str
    runs: tuple[Measures, ...]
    # To the people of each source, one for each listener; the second within as many songs.
    distances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    distances_in_library: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def mean(self, name: str) -> MeanEstimate | None:
        """Return the mean of one measure over the listeners; None where it does not exist."""
        values = [getattr(run, name) for run in self.runs]
        return None if None in values else mean_estimate(values)

    @property
    def exponent(self) -> MeanEstimate:
        """The exponent of Zipf's law under which the plays are likeliest."""
        return mean_estimate([run.laws.zipf.parameter for run in self.runs])

    @property
    def shapes(self) -> Counter[Shape]:
        """How many listeners' plays have which shape."""
        return Counter(run.shape for run in self.runs)

    @property
    def shape(self) -> Shape:
        """The shape that more than half of the listeners' plays have; open if there is none."""
        most, count = self.shapes.most_common(1)[0]
        return most if 2 * count > len(self.runs) else Shape.OPEN


def distance_to_person(plays_by_rank: Vector, person: Person, cut: Cut) -> float | None:
    """Return the mean distance to the person's stretches; None where there are none."""
    parts: tuple[Vector, ...] = getattr(person, cut)
    if not parts:
        return None
    return float(np.mean([profile_distance(plays_by_rank, part) for part in parts]))


def distance_to_people(
    plays_by_rank: Vector, people: Sequence[Person], cut: Cut = "stretches"
) -> float | None:
    """Return the mean distance to all people; None where there are none."""
    distances = [distance_to_person(plays_by_rank, person, cut) for person in people]
    known = [distance for distance in distances if distance is not None]
    return float(np.mean(known)) if known else None


def by_source(people: Sequence[Person]) -> dict[str, list[Person]]:
    """Return the people of each source, in the order of the sources."""
    return {
        source: [person for person in people if person.source == source]
        for source in dict.fromkeys(person.source for person in people)
    }


def between_people(people: Sequence[Person]) -> list[float]:
    """Return the mean distance of each person to all others: what differs among people anyway."""
    if len(people) < 2:
        return []
    return [
        float(np.mean([distance_to_people(part, others) or 0.0 for part in person.stretches]))
        for place, person in enumerate(people)
        for others in [[*people[:place], *people[place + 1 :]]]
    ]
