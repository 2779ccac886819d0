"""The findings of listening histories as JSON, and as text and tables on a screen."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bandstand_lab.histories.files import printable
from bandstand_lab.histories.findings import LEVELS

if TYPE_CHECKING:
    from bandstand._util.power_laws import Zipf
    from bandstand.types import Vector
    from bandstand_lab.histories.findings import (
        Findings,
        GapSummary,
        ListenerFindings,
        Recovery,
        SkipRates,
    )
    from bandstand_lab.histories.plays import Histories, Source

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
            "zipf": _law_json(findings.zipf),
            "rank_frequency": rank_points(findings.plays_by_rank),
            "gaps": _gaps_json(findings.gaps),
            "skips": _skips_json(findings.skips),
            "recovery": recovery_json(findings.recovery),
        },
        "listeners": [_listener_json(each) for each in findings.listeners],
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


def _listener_json(each: ListenerFindings) -> dict[str, Any]:
    return {
        "name": each.name,
        "plays": each.plays,
        "songs": each.songs,
        "days": each.days,
        "repeat_share": each.repeat_share,
        "zipf": _law_json(each.zipf),
        "gaps": _gaps_json(each.gaps),
        "skips": _skips_json(each.skips),
        "recovery": recovery_json(each.recovery),
    }


def _law_json(law: Zipf | None) -> dict[str, float] | None:
    return None if law is None else asdict(law)


def _quantiles(values: Vector, levels: tuple[float, ...]) -> dict[str, float]:
    return {f"{level:g}": float(np.quantile(values, level)) for level in levels}


def _gaps_json(gaps: GapSummary | None) -> dict[str, Any] | None:
    if gaps is None:
        return None
    quantiles = dict(zip(map(str, LEVELS), gaps.quantiles.tolist(), strict=True))
    return {
        "count": gaps.count,
        "quantiles_seconds": quantiles,
        "histogram": {"edges_seconds": gaps.edges.tolist(), "counts": gaps.counts.tolist()},
    }


def _skips_json(skips: SkipRates | None) -> dict[str, Any] | None:
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


# ── Text and tables ──────────────────────────────────────────────────────────────────────


_UNITS: Final = (("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("days", 86_400.0))
# The longest recovery of the fit; songs go out of rotation in as long a time.
_LONGEST_RECOVERY: Final = 43_200.0  # minutes
_FILE_WIDTH: Final = 120  # columns, where the output is not a terminal
_MAX_ROWS: Final = 20
_MAX_NAMES: Final = 5
_LEGEND: Final = (
    "Novelty's recovery: s of 1 − exp(−t/s) with its 95 % interval; < t: no rest longer than t is "
    "seen; ?: minutes or weeks are possible; –: too few repeats."
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


def summary(findings: Findings) -> dict[str, str]:
    """Return the findings of all listeners together, each by its name."""
    return {
        "repeats": _repeats(findings),
        "plays by rank": _ranks(findings),
        "until a song comes back": _gaps(findings),
        "skips": _skips(findings),
        "novelty's recovery": _recoveries(findings),
    }


def _repeats(findings: Findings) -> str:
    shares = findings.repeat_shares
    low, middle, high = map(percent, np.quantile(shares, [0.25, 0.5, 0.75]))
    counted = f"listeners counted: {len(shares)} of {len(findings.listeners)}"
    return f"{middle} of a listener's plays (median; quartiles {low} and {high}; {counted})"


def _ranks(findings: Findings) -> str:
    """Return the fitted line: its slope holds for the ranks of the fit, not from the first song."""
    law, ranked = findings.zipf, findings.plays_by_rank
    if law is None:
        return "no line: too few songs, or all played equally often"
    return (
        f"slope {_slope(law.exponent)} of log plays over log rank, fitted to ranks 1 to "
        f"{len(ranked):,} (R² {law.r_squared:.2f}; Zipf's law: −1); at rank 1 the line has "
        f"{law.first:,.1f} plays, the song {ranked[0]:,.0f}"
    )


def _slope(exponent: float) -> str:
    return f"{-exponent:.2f}".replace("-", "−")


def _gaps(findings: Findings) -> str:
    if findings.gaps is None:
        return "no song was played twice"
    low, middle, high = (duration(float(findings.gaps.quantiles[place])) for place in (1, 2, 3))
    return f"{middle} (median; quartiles {low} and {high})"


def _skips(findings: Findings) -> str:
    if findings.skips is None:
        return "not known: the files do not say how long plays lasted"
    rates = [
        f"{rate.after} {percent(rate.share)}"
        for rate in findings.skips.by_gap
        if rate.share is not None
    ]
    return f"{percent(findings.skips.share)} of plays; by the song's last play: {', '.join(rates)}"


def _recoveries(findings: Findings) -> str:
    own = [each.recovery for each in findings.listeners if each.recovery is not None]
    seen = sum(each.recovery_time is not None for each in own)
    alone = f"listeners with enough repeats who show a rest: {seen} of {len(own)}"
    return f"{recovery_cell(findings.recovery)}; {alone}"


def recovery_words(suggested: Recovery | None) -> str:
    """Return the recovery time that the gaps suggest, as a sentence with its legend."""
    return f"Recovery here: {recovery_cell(suggested)}. {_LEGEND}"


def recovery_cell(suggested: Recovery | None) -> str:
    """Return the recovery time that the gaps suggest, for a column of a table."""
    if suggested is None:
        return "–"
    low, high = suggested.interval
    if suggested.recovery_time is not None:
        longest = "more than a month" if high >= _LONGEST_RECOVERY else duration(60 * high)
        return f"{duration(60 * suggested.recovery_time)} ({duration(60 * low)}–{longest})"
    return "?" if high >= _LONGEST_RECOVERY else f"< {duration(60 * high)}"


def print_tables(histories: Histories, findings: Findings, console: Console | None = None) -> None:
    """Print all tables; of many files or listeners the first."""
    screen = console or Console(highlight=False)
    if not screen.is_terminal:
        screen.width = max(screen.width, _FILE_WIDTH)
    screen.print(_sources_table(histories))
    for line in _notes(histories):
        screen.print(line, soft_wrap=True)
    screen.print(_listeners_table(findings))
    screen.print(_summary_table(findings))
    screen.print(_LEGEND, soft_wrap=True)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def _sources_table(histories: Histories) -> Table:
    table = _table("What was read")
    table.add_column("file", overflow="fold")
    table.add_column("format")
    table.add_column("plays", justify="right")
    table.add_column("left out")
    for source in histories.sources[:_MAX_ROWS]:
        table.add_row(
            escape(printable(source.name)), source.format, f"{source.plays:,}", _left_out(source)
        )
    rest = histories.sources[_MAX_ROWS:]
    if rest:
        plays = sum(source.plays for source in rest)
        lost = sum(reason.count for source in rest for reason in source.left_out)
        table.add_row(f"and {len(rest)} more", "", f"{plays:,}", f"{lost:,}" if lost else "")
    return table


def _left_out(source: Source) -> str:
    return "\n".join(
        f"{each.count:,} {each.reason} (first: {each.first})" for each in source.left_out
    )


def _notes(histories: Histories) -> list[str]:
    lines = []
    if histories.duplicates:
        lines.append(f"{histories.duplicates:,} plays are in more than one file: counted once.")
    if histories.ignored:
        names = ", ".join(name.rsplit(":", 1)[-1] for name in histories.ignored[:_MAX_NAMES])
        more = " …" if len(histories.ignored) > _MAX_NAMES else ""
        lines.append(
            f"{len(histories.ignored)} files of the archives are no histories: "
            f"{escape(names)}{more}"
        )
    return [*lines, *(escape(printable(note)) for note in histories.notes)]


def _listeners_table(findings: Findings) -> Table:
    table = _table("Listeners")
    table.add_column("listener", overflow="fold")
    for name in ("plays", "songs", "days", "repeats", "slope", "R²"):
        table.add_column(name, justify="right")
    table.add_column("median gap", justify="right")
    table.add_column("skips", justify="right")
    table.add_column("novelty's recovery")
    for each in findings.listeners[:_MAX_ROWS]:
        table.add_row(*_cells(each))
    others = len(findings.listeners) - _MAX_ROWS
    if others > 0:
        table.add_row(f"and {others} more", *[""] * 9)
    return table


def _summary_table(findings: Findings) -> Table:
    table = _table("All listeners together")
    table.add_column("finding")
    table.add_column("value", overflow="fold")
    for name, value in summary(findings).items():
        table.add_row(name, value)
    return table


def _cells(each: ListenerFindings) -> list[str]:
    return [
        escape(printable(each.name)),
        f"{each.plays:,}",
        f"{each.songs:,}",
        f"{each.days:,.0f}",
        percent(each.repeat_share),
        "–" if each.zipf is None else _slope(each.zipf.exponent),
        "–" if each.zipf is None else f"{each.zipf.r_squared:.2f}",
        "–" if each.gaps is None else duration(each.gaps.median),
        "–" if each.skips is None else percent(each.skips.share),
        recovery_cell(each.recovery),
    ]
