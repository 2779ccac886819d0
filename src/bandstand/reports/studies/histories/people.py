"""Jobs: what one file of listening histories says of everybody in it.

Results keep how many songs were played how often, from which every curve of ranks can be drawn;
names of songs and of listeners are not kept, so that a report can be shown around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.arrays import frozen
from bandstand.histories import examine, read
from bandstand.histories.recovery import Recovery
from bandstand.reports.history_json import recovery_json
from bandstand.statistics.rank_laws import compare_laws
from bandstand.units import Minutes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.arrays import Vector
    from bandstand.histories import ListenerFindings

# Laws are compared where there are plays enough for them to differ.
_FEWEST_FOR_LAWS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One listener of a file."""

    plays: int
    days: float
    repeat_share: float
    plays_by_rank: Vector
    law: str | None  # the likeliest of three laws; None for too few plays
    median_gap: float | None  # seconds
    skip_share: float | None
    recovery: Recovery | None

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
            median_gap=document["median_gap_seconds"],
            skip_share=document["skip_share"],
            recovery=recovery_of(document["recovery"]),
        )

    @property
    def songs(self) -> int:
        """Return the number of different songs."""
        return len(self.plays_by_rank)

    @property
    def share_of_favourites(self) -> float:
        """Return the share of plays that the most played fifth of the songs has."""
        favourites = max(1, round(self.songs / 5))
        return float(self.plays_by_rank[:favourites].sum()) / self.plays


def people(file: str) -> dict[str, Any]:
    """Return what a file says of each of its listeners, and of all together."""
    found = read([file])
    findings = examine(found)
    return {
        "people": [_person(each) for each in findings.listeners],
        "recovery": recovery_json(findings.recovery),
        "plays": found.plays,
        "left_out": sum(each.count for source in found.sources for each in source.left_out),
        "duplicates": found.duplicates,
        "formats": sorted({source.format for source in found.sources}),
    }


def _person(each: ListenerFindings) -> dict[str, Any]:
    plays, songs = np.unique(each.plays_by_rank.astype(int), return_counts=True)
    enough = each.plays >= _FEWEST_FOR_LAWS and each.songs > 1
    laws = compare_laws(each.plays_by_rank, library=each.songs) if enough else None
    return {
        "plays": each.plays,
        "days": each.days,
        "repeat_share": each.repeat_share,
        "songs_by_plays": np.column_stack([plays, songs])[::-1].tolist(),
        "law": None if laws is None else laws.likeliest,
        "median_gap_seconds": None if each.gaps is None else each.gaps.median,
        "skip_share": None if each.skips is None else each.skips.share,
        "recovery": recovery_json(each.recovery),
    }


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
