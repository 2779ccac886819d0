"""The findings of listening histories as JSON, with every number of the figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.histories.findings import LEVELS
from bandstand_lab.histories.words import summary

if TYPE_CHECKING:
    from bandstand._util.power_laws import Zipf
    from bandstand.types import Vector
    from bandstand_lab.histories.findings import Findings, GapSummary, ListenerFindings
    from bandstand_lab.histories.recovery import Recovery
    from bandstand_lab.histories.skips import SkipRates
    from bandstand_lab.histories.values import Histories

_MAX_RANKS: Final = 300


def document(histories: Histories, findings: Findings) -> dict[str, Any]:
    """Return the sources and the findings."""
    shares = findings.repeat_shares
    return {
        "sources": [asdict(source) for source in histories.sources],
        "ignored_files": list(histories.ignored),
        "duplicates": histories.duplicates,
        "notes": list(histories.notes),
        "plays": histories.plays,
        "words": [f"{name}: {value}." for name, value in summary(findings).items()],
        "all": {
            "listeners": len(findings.listeners),
            "compared_listeners": len(findings.compared),
            "repeat_share_quantiles": _quantiles(shares, (0.0, 0.25, 0.5, 0.75, 1.0)),
            "zipf": _law(findings.zipf),
            "rank_frequency": rank_points(findings.plays_by_rank),
            "gaps": _gaps(findings.gaps),
            "skips": _skips(findings.skips),
            "recovery": recovery_json(findings.recovery),
        },
        "listeners": [_listener(each) for each in findings.listeners],
    }


def rank_points(plays_by_rank: Vector) -> list[list[int]]:
    """Return rank and plays, at up to 300 ranks evenly spread on a logarithmic axis.

    >>> rank_points(np.array([5.0, 2.0, 1.0]))
    [[1, 5], [2, 2], [3, 1]]
    """
    last = len(plays_by_rank)
    ranks = np.unique(np.geomspace(1, last, min(last, _MAX_RANKS)).round().astype(int))
    if last <= _MAX_RANKS:
        ranks = np.arange(1, last + 1)
    return [[int(rank), int(plays_by_rank[rank - 1])] for rank in ranks]


def _listener(each: ListenerFindings) -> dict[str, Any]:
    return {
        "name": each.name,
        "plays": each.plays,
        "songs": each.songs,
        "days": each.days,
        "repeat_share": each.repeat_share,
        "zipf": _law(each.zipf),
        "gaps": _gaps(each.gaps),
        "skips": _skips(each.skips),
        "recovery": recovery_json(each.recovery),
    }


def _law(law: Zipf | None) -> dict[str, float] | None:
    return None if law is None else asdict(law)


def _quantiles(values: Vector, levels: tuple[float, ...]) -> dict[str, float]:
    return {f"{level:g}": float(np.quantile(values, level)) for level in levels}


def _gaps(gaps: GapSummary | None) -> dict[str, Any] | None:
    if gaps is None:
        return None
    quantiles = dict(zip(map(str, LEVELS), gaps.quantiles.tolist(), strict=True))
    return {
        "count": gaps.count,
        "quantiles_seconds": quantiles,
        "histogram": {"edges_seconds": gaps.edges.tolist(), "counts": gaps.counts.tolist()},
    }


def _skips(skips: SkipRates | None) -> dict[str, Any] | None:
    return None if skips is None else asdict(skips)


def recovery_json(suggested: Recovery | None) -> dict[str, Any] | None:
    """Return the recovery time that the gaps suggest, with the curve behind it."""
    if suggested is None:
        return None
    low, high = suggested.interval
    return {
        "recovery_time_minutes": suggested.recovery_time,
        "interval_minutes": [low, high],
        "pairs": suggested.pairs,
        "curve": {
            "minutes": suggested.lags.tolist(),
            "times_chance": suggested.closeness.tolist(),
            "fitted": suggested.fitted.tolist(),
        },
    }
