"""Jobs: what one file of listening histories says of everybody in it.

Results keep how many songs were played how often, from which every curve of ranks can be drawn;
names of songs and of listeners are not kept, so that a report can be shown around.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.types import Minutes, frozen
from bandstand_lab.histories import examine, read
from bandstand_lab.histories.document import recovery_json
from bandstand_lab.histories.recovery import Recovery, pair_counts, recovery
from bandstand_lab.histories.skips import is_heard
from bandstand_lab.paper.repeated_plays import FEWEST_REPEATS
from bandstand_lab.statistics.concentration import share_if_equal, share_of_most_played
from bandstand_lab.statistics.rank_laws import Shape, compare_laws

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.types import Vector
    from bandstand_lab.histories import History, ListenerFindings
    from bandstand_lab.statistics.rank_laws import Ranking

# Laws are compared where there are plays enough for them to differ.
_FEWEST_FOR_LAWS: Final = 100
# How many songs somebody could have played is not known: as many as were played, and twice that.
LIBRARIES: Final = (1, 2)
# How often the plays of each day are shuffled, to see how often chance shows a rest.
SHUFFLES: Final = 5
_SEED: Final = 20_260_311
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One listener of a file."""

    plays: int
    days: float
    repeat_share: float
    plays_by_rank: Vector
    law: str | None  # the likeliest of three laws; None for too few plays
    shapes: tuple[Shape, ...]  # in a library of the songs played, and of twice as many
    median_gap: float | None  # seconds
    skip_share: float | None
    recovery: Recovery | None
    rests_by_chance: tuple[int, int]  # of so many shuffles within days: (rests, shuffles)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Person:
        """Return what a job has kept."""
        plays, songs = (
            np.array(column) for column in zip(*document["songs_by_plays"], strict=True)
        )
        return cls(
            plays=document["plays"],
            days=document["days"],
            repeat_share=document["repeat_share"],
            plays_by_rank=frozen(np.repeat(plays, songs)),
            law=document["law"],
            shapes=tuple(Shape(shape) for shape in document["shapes"]),
            median_gap=document["median_gap_seconds"],
            skip_share=document["skip_share"],
            recovery=recovery_of(document["recovery"]),
            rests_by_chance=(document["rests_when_shuffled"], document["shuffles"]),
        )

    @property
    def songs(self) -> int:
        """Return the number of different songs."""
        return len(self.plays_by_rank)

    @property
    def share_of_favourites(self) -> float:
        """Return the share of plays that the most played fifth of the songs has."""
        return share_of_most_played(self.plays_by_rank)

    @property
    def share_if_equal(self) -> float:
        """Return the same if no song were preferred, with as many plays and repeats."""
        return share_if_equal(self.plays, self.songs)


def people(file: str, shuffles: int) -> dict[str, Any]:
    """Return what a file says of each of its listeners, and of all together."""
    found = read([file])
    findings = examine(found)
    return {
        "people": [
            {**_person(each), **_shuffled(history, shuffles, number)}
            for number, (each, history) in enumerate(zip(findings.listeners, found, strict=True))
        ],
        "recovery": recovery_json(findings.recovery),
        "plays": found.plays,
        "left_out": sum(each.count for source in found.sources for each in source.left_out),
        "duplicates": found.duplicates,
        "formats": sorted({source.format for source in found.sources}),
    }


def _person(each: ListenerFindings) -> dict[str, Any]:
    plays, songs = np.unique(each.plays_by_rank.astype(int), return_counts=True)
    enough = each.plays >= _FEWEST_FOR_LAWS and each.songs > 1
    laws = [
        compare_laws(each.plays_by_rank, library=times * each.songs)
        for times in (LIBRARIES if enough else ())
    ]
    return {
        "plays": each.plays,
        "days": each.days,
        "repeat_share": each.repeat_share,
        "songs_by_plays": np.column_stack([plays, songs])[::-1].tolist(),
        "law": laws[0].likeliest if laws else None,
        "shapes": [str(_shape(ranking, each.repeat_share)) for ranking in laws],
        "median_gap_seconds": None if each.gaps is None else each.gaps.median,
        "skip_share": None if each.skips is None else each.skips.share,
        "recovery": recovery_json(each.recovery),
    }


def _shape(laws: Ranking, repeat_share: float) -> Shape:
    """Return what the plays are nearer to, by the rule for what a radio has played."""
    return Shape.OPEN if repeat_share < FEWEST_REPEATS else laws.shape


def _shuffled(history: History, shuffles: int, number: int) -> dict[str, int]:
    """Return how often the plays of each day in another order show a rest after a play."""
    rng = np.random.default_rng([_SEED, number])
    suggested = [
        recovery([pair_counts(shuffled_within_days(history, rng))], rng) for _ in range(shuffles)
    ]
    known = [each for each in suggested if each is not None]
    rests = sum(each.recovery_time is not None for each in known)
    return {"rests_when_shuffled": rests, "shuffles": len(known)}


def shuffled_within_days(history: History, rng: np.random.Generator) -> History:
    """Return the same plays, those of each day that were heard in any order.

    Which songs are played on which day stays, so they go in and out of rotation as before.
    """
    heard = np.flatnonzero(is_heard(history))
    days = np.floor(history.times[heard] / _DAY)
    items = history.items.copy()
    items[heard] = history.items[heard[np.lexsort((rng.random(len(heard)), days))]]
    items.setflags(write=False)
    return replace(history, items=items)


def recovery_of(document: Mapping[str, Any] | None) -> Recovery | None:
    """Return the recovery time that was written as JSON."""
    if document is None:
        return None
    low, high = document["interval_minutes"]
    told = document["recovery_time_minutes"]
    curve = document["curve"]
    return Recovery(
        recovery_time=None if told is None else Minutes(told),
        interval=(Minutes(low), Minutes(high)),
        pairs=document["pairs"],
        lags=frozen(curve["minutes"]),
        closeness=frozen(curve["times_chance"]),
        fitted=frozen(curve["fitted"]),
    )
