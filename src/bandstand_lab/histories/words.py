"""The findings of listening histories as JSON, and as rows and lines for a screen."""

from dataclasses import asdict
from typing import Any, Final

import numpy as np

from bandstand._util.words import printable
from bandstand.types import Vector
from bandstand_lab.histories.findings import LEVELS, AllFindings, Findings, GapSummary, Recovery
from bandstand_lab.histories.plays import Histories, Source

_MAX_RANKS: Final = 300


def document(histories: Histories, found: AllFindings) -> dict[str, Any]:
    """Return the sources and the findings."""
    shares = found.repeat_shares
    return {
        "sources": [asdict(source) for source in histories.sources],
        "ignored_files": list(histories.ignored),
        "duplicates": histories.duplicates,
        "notes": list(histories.notes),
        "plays": histories.plays,
        "all": {
            **_findings_json(found.together),
            "listeners": len(found.listeners),
            "compared_listeners": len(shares),
            "repeat_share_quantiles": {
                f"{level:g}": float(np.quantile(shares, level)) for level in (0, 0.25, 0.5, 0.75, 1)
            },
            "rank_frequency": rank_points(found.together.plays_by_rank),
        },
        "listeners": [_findings_json(each) for each in found.listeners],
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


def _findings_json(each: Findings) -> dict[str, Any]:
    return {
        "name": each.name,
        "plays": each.plays,
        "songs": each.songs,
        "days": each.days,
        "repeat_share": each.repeat_share,
        "zipf": None if each.zipf is None else asdict(each.zipf),
        "gaps": _gaps_json(each.gaps),
        "skips": None if each.skips is None else asdict(each.skips),
        "skip_forecast": None if each.skip_forecast is None else asdict(each.skip_forecast),
        "recovery": recovery_json(each.recovery),
    }


def _gaps_json(gaps: GapSummary | None) -> dict[str, Any] | None:
    if gaps is None:
        return None
    return {
        "count": gaps.count,
        "quantiles_seconds": dict(zip(map(str, LEVELS), gaps.quantiles.tolist(), strict=True)),
    }


def recovery_json(suggested: Recovery | None) -> dict[str, Any] | None:
    """Return the recovery time that the gaps suggest, with the curve behind it."""
    if suggested is None:
        return None
    return {
        "recovery_time_minutes": suggested.recovery_time,
        "interval_minutes": list(suggested.interval),
        "pairs": suggested.pairs,
        "curve": {
            "minutes": suggested.lags.tolist(),
            "times_chance": suggested.closeness.tolist(),
            "fitted": suggested.fitted.tolist(),
        },
    }


# ── Rows and lines ───────────────────────────────────────────────────────────────────────


_UNITS: Final = (("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("days", 86_400.0))
# The longest recovery of the fit; songs go out of rotation in as long a time.
_LONGEST_RECOVERY: Final = 43_200.0  # minutes
_MAX_NAMES: Final = 5
SOURCE_COLUMNS: Final = ("file", "format", "plays")
LISTENER_COLUMNS: Final = (
    *("listener", "novelty's recovery", "plays", "songs", "days"),
    *("repeats", "slope", "R²", "median gap", "skips"),
)
LEGEND: Final = (
    "Novelty's recovery: s of 1 − exp(−t/s) with its 95 % interval; < t: no rest longer than t is "
    "seen; ?: minutes or weeks are possible; –: too few repeats."
)
FORECAST_COLUMNS: Final = ("listener", "plays", "novelty", "song", "sitting", "all")
FORECAST_LEGEND: Final = (
    "Skips of the second half, foretold by the first: nats per 1,000 plays more than by the base "
    "rate. Song: its own earlier skips; sitting: skips right before; all: all three."
)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(x) for x in (12.0, 90.0, 5_400.0, 100_000.0, 864_000.0)]
    ['12 s', '1.5 min', '1.5 h', '28 h', '10 days']
    """
    unit, length = _UNITS[0]
    for name, each in _UNITS[1:]:
        if seconds >= (2 if name == "days" else 1) * each:
            unit, length = name, each
    count = seconds / length
    return f"{count:.0f} {unit}" if count >= 10 else f"{count:.2g} {unit}"


def percent(share: float) -> str:
    """Return a share in per cent.

    >>> percent(0.683), percent(0.004)
    ('68 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or not share else f"{100 * share:.1f} %"


def source_row(source: Source) -> tuple[str, ...]:
    """Return what was read from a file, as a row of a table."""
    return printable(source.name), source.format, f"{source.plays:,}"


def source_lines(histories: Histories) -> list[str]:
    """Return what was left out of each file, counted once, passed over or taken for granted."""
    lines = [
        f"{source.name}: left out {each.count:,} {each.reason} (first: {each.first})"
        for source in histories.sources
        for each in source.left_out
    ]
    if histories.duplicates:
        lines.append(f"{histories.duplicates:,} plays are in more than one file: counted once.")
    if histories.ignored:
        names = ", ".join(name.rsplit(":", 1)[-1] for name in histories.ignored[:_MAX_NAMES])
        more = " …" if len(histories.ignored) > _MAX_NAMES else ""
        count = len(histories.ignored)
        lines.append(f"Files of the archives that are no histories: {count} ({names}{more})")
    return [printable(line) for line in (*lines, *histories.notes)]


def listener_row(each: Findings) -> tuple[str, ...]:
    """Return the findings of a listener, or of all together, as a row of a table."""
    return (
        printable(each.name),
        recovery_cell(each.recovery),
        f"{each.plays:,}",
        f"{each.songs:,}",
        f"{each.days:,.0f}",
        percent(each.repeat_share),
        "–" if each.zipf is None else _signed(-each.zipf.exponent),
        "–" if each.zipf is None else f"{each.zipf.r_squared:.2f}",
        "–" if each.gaps is None else duration(each.gaps.median),
        "–" if each.skips is None else percent(each.skips.share),
    )


def forecast_rows(found: AllFindings) -> list[tuple[str, ...]]:
    """Return what foretells the skips of each listener of whom enough are known."""
    rows = []
    for each in found.listeners:
        forecast = each.skip_forecast
        if forecast is not None:
            gains = (forecast.novelty, forecast.song, forecast.sitting, forecast.all)
            shown = [_signed(gain, digits=1) for gain in gains]
            rows.append((printable(each.name), f"{forecast.plays:,}", *shown))
    return rows


def _signed(value: float, *, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


def recovery_words(suggested: Recovery | None) -> str:
    """Return the recovery time that the gaps suggest, as a sentence with its legend."""
    return f"Recovery here: {recovery_cell(suggested)}. {LEGEND}"


def recovery_cell(suggested: Recovery | None) -> str:
    """Return the recovery time that the gaps suggest, for a column of a table."""
    if suggested is None:
        return "–"
    low, high = suggested.interval
    if suggested.recovery_time is not None:
        longest = "more than a month" if high >= _LONGEST_RECOVERY else duration(60 * high)
        return f"{duration(60 * suggested.recovery_time)} ({duration(60 * low)}–{longest})"
    return "?" if high >= _LONGEST_RECOVERY else f"< {duration(60 * high)}"
