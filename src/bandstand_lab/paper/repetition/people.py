"""Jobs: real histories, cut so that they can be compared with what an algorithm has played.

Two cuts. The first keeps so many plays in a row as the algorithms made: more plays mean more
repeats. The second also bounds the library, as it is bounded for the algorithms: of each
person only the plays of the songs this person has played most are kept before the cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.model.rank_frequency import plays_by_rank
from bandstand_lab.histories import read
from bandstand_lab.histories.collector import UNNAMED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.arrays import Indices, Vector
    from bandstand_lab.histories import Histories

# Of a long history so many stretches are looked at, evenly spread.
STRETCHES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody's plays in stretches of equal length: in each the plays by rank."""

    source: str  # the name of the file
    name: str
    plays: int  # in the whole history
    songs: int  # different ones in the whole history
    stretches: tuple[Vector, ...]
    in_library: tuple[Vector, ...]  # the same within the most played songs

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Person:
        """Return what a job has kept."""
        return cls(
            source=document["source"],
            name=document["name"],
            plays=document["plays"],
            songs=document["songs"],
            stretches=tuple(np.asarray(each, dtype=np.float64) for each in document["stretches"]),
            in_library=tuple(np.asarray(each, dtype=np.float64) for each in document["in_library"]),
        )


def people(files: list[str], plays: int, library: int) -> dict[str, Any]:
    """Return everybody with at least `plays` plays, and how many have fewer."""
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
    """Return what each file tells; files that do not say whose they are, are one person's."""
    apart = [(file, read([file])) for file in files]
    unnamed = [file for file, one in apart if [each.name for each in one] == [UNNAMED]]
    named = [(Path(file).name, one) for file, one in apart if file not in unnamed]
    if not unnamed:
        return named
    title = Path(unnamed[0]).name + (f" and {len(unnamed) - 1} more" if unnamed[1:] else "")
    return [*named, (title, read(unnamed))]


def stretches(items: Indices, plays: int) -> list[Indices]:
    """Return at most four stretches of so many plays in a row, none overlapping.

    >>> [each.tolist() for each in stretches(np.arange(7), 3)]
    [[0, 1, 2], [4, 5, 6]]
    """
    count = min(len(items) // plays, STRETCHES)
    starts = np.linspace(0, len(items) - plays, count).astype(np.intp) if count else ()
    return [items[start : start + plays] for start in starts]


def most_played(items: Indices, library: int) -> Indices:
    """Return only the plays of the songs that are played most, so many as the library has.

    >>> most_played(np.array([3, 5, 3, 4, 5, 3]), 2).tolist()
    [3, 5, 3, 5, 3]
    """
    songs, counts = np.unique(items, return_counts=True)
    kept = songs[np.argsort(-counts, kind="stable")[:library]]
    return items[np.isin(items, kept)]


def _ranked(parts: Sequence[Indices]) -> list[list[int]]:
    return [plays_by_rank(part).astype(int).tolist() for part in parts]
