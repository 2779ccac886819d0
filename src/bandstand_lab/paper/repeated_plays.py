"""Measures of how songs come back in plays, of algorithms and of people.

Histories of people are cut so that they can be compared with what an algorithm has played. The
first cut keeps as many plays in a row as the algorithms made: more plays mean more repeats. The
second also bounds the library, as it is bounded for the algorithms: of each person only the plays
of the songs this person has played most are kept before the cut.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from bandstand._util.power_laws import plays_by_rank, zipf
from bandstand_lab.histories import read
from bandstand_lab.histories.collector import UNNAMED
from bandstand_lab.statistics.concentration import effective_songs, profile_distance
from bandstand_lab.statistics.rank_laws import Ranking, Shape, compare_laws
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.types import Indices, Vector
    from bandstand_lab.histories import Histories
    from bandstand_lab.statistics.summaries import MeanEstimate

# With fewer repeats than this share of all plays there is nothing to rank.
FEWEST_REPEATS: Final = 0.05
_MAX_STRETCHES: Final = 4  # of one history, evenly spread

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
        """The number of different songs."""
        return len(self.plays_by_rank)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain numbers; a value without bound is None."""
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
    """Return the measures of plays in a library of `library` songs."""
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
    return float(np.polyfit(across - across.mean(), np.log(plays_by_rank), 2)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The plays of one algorithm for each of its listeners, in the order of their numbers."""

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
        """The number of listeners by the shape of their plays."""
        return Counter(run.shape for run in self.runs)

    @property
    def shape(self) -> Shape:
        """The shape that more than half of the listeners' plays have; open if there is none."""
        most, count = self.shapes.most_common(1)[0]
        return most if 2 * count > len(self.runs) else Shape.OPEN

    @property
    def usual_law(self) -> str:
        """The law that is likeliest for most listeners."""
        laws = [run.laws.likeliest for run in self.runs]
        return max(sorted(set(laws)), key=laws.count)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain numbers."""
        return {
            "listeners": [run.as_json() for run in self.runs],
            "shape": str(self.shape),
            "distances_to_people": dict(self.distances),
            "distances_to_people_in_library": dict(self.distances_in_library),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person's plays in stretches of equal length: in each the plays by rank."""

    source: str  # the name of the file
    name: str
    plays: int  # in the whole history
    songs: int  # different ones in the whole history
    stretches: tuple[Vector, ...]
    in_library: tuple[Vector, ...]  # the same within the most played songs

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Person:
        """Return the person that a job has kept."""
        cuts = {
            cut: tuple(np.asarray(each, dtype=np.float64) for each in document[cut])
            for cut in ("stretches", "in_library")
        }
        return cls(**{**document, **cuts})

    def as_json(self) -> dict[str, Any]:
        """Return the plays within all songs."""
        kept = {name: getattr(self, name) for name in ("source", "name", "plays", "songs")}
        return {**kept, "stretches": [part.astype(int).tolist() for part in self.stretches]}


def people(files: list[str], plays: int, library: int) -> dict[str, Any]:
    """Return the people with at least `plays` plays, and the number of those with fewer."""
    found = []
    shorter = 0
    for source, histories in _sources(files):
        for history in histories:
            if len(history) < plays:
                shorter += 1
                continue
            found.append(
                {
                    "source": source,
                    "name": history.name,
                    "plays": len(history),
                    "songs": len(np.unique(history.items)),
                    "stretches": _ranked(stretches(history.items, plays)),
                    "in_library": _ranked(stretches(most_played(history.items, library), plays)),
                }
            )
    return {"people": found, "shorter": shorter}


def _sources(files: Sequence[str]) -> list[tuple[str, Histories]]:
    """Return the histories by file; files that do not say whose they are, are one person's."""
    apart = [(file, read([file])) for file in files]
    unnamed = [file for file, one in apart if [each.name for each in one] == [UNNAMED]]
    named = [(Path(file).name, one) for file, one in apart if file not in unnamed]
    if not unnamed:
        return named
    title = Path(unnamed[0]).name + (f" and {len(unnamed) - 1} more" if unnamed[1:] else "")
    return [*named, (title, read(unnamed))]


def stretches(items: Indices, plays: int) -> list[Indices]:
    """Return at most four stretches of `plays` plays in a row, none overlapping.

    >>> [each.tolist() for each in stretches(np.arange(7), 3)]
    [[0, 1, 2], [4, 5, 6]]
    """
    count = min(len(items) // plays, _MAX_STRETCHES)
    starts = np.linspace(0, len(items) - plays, count).astype(np.intp) if count else ()
    return [items[start : start + plays] for start in starts]


def most_played(items: Indices, library: int) -> Indices:
    """Return only the plays of the `library` songs that are played most.

    >>> most_played(np.array([3, 5, 3, 4, 5, 3]), 2).tolist()
    [3, 5, 3, 5, 3]
    """
    songs, counts = np.unique(items, return_counts=True)
    kept = songs[np.argsort(-counts, kind="stable")[:library]]
    return items[np.isin(items, kept)]


def _ranked(parts: Sequence[Indices]) -> list[list[int]]:
    return [plays_by_rank(part).astype(int).tolist() for part in parts]


def by_source(people: Sequence[Person]) -> dict[str, list[Person]]:
    """Return the people of each source, in the order of the sources."""
    return {
        source: [person for person in people if person.source == source]
        for source in dict.fromkeys(person.source for person in people)
    }


def distance_to_people(
    plays_by_rank: Vector, people: Sequence[Person], cut: Cut = "stretches"
) -> float | None:
    """Return the mean over people of the mean distance to their stretches; None without any."""
    cuts: list[tuple[Vector, ...]] = [getattr(person, cut) for person in people]
    means = [
        np.mean([profile_distance(plays_by_rank, one) for one in some]) for some in cuts if some
    ]
    return float(np.mean(means)) if means else None


def between_people(people: Sequence[Person]) -> list[float]:
    """Return the mean distance of each person to all others: what differs among people anyway."""
    if len(people) < 2:
        return []
    return [
        float(np.mean([distance_to_people(part, others) or 0.0 for part in person.stretches]))
        for place, person in enumerate(people)
        for others in [[*people[:place], *people[place + 1 :]]]
    ]
