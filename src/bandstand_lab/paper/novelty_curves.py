"""The paper's Figure 4: straight pieces on the novelty curve, with the error of the fit.

In units of the recovery time the curve is f(x) = 1 − exp(−x). A chord from a to a + h has
the slope m·exp(−a), m = (1 − exp(−h))/h, and the curve is above it. The gap is widest where
both have the same slope, and there it is

    exp(−a) · g(h)        g(h) = 1 − m + m·ln m

so errors are known without a search over t. The largest error of a fixed number of pieces is
least when all pieces have the same: each starts where the one before ended, and is as long as
that error lets it be. Lines that need not touch the curve can halve it, by moving up half
of the gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import brentq

from bandstand.core.model.novelty import PAPER_BASIS, novelty
from bandstand.errors import InvalidInputError
from bandstand.types import frozen
from bandstand_lab.report.figures import CYCLE, plain
from bandstand_lab.report.study import Job, Study, Verdict
from bandstand_lab.report.texts import Texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Vector
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "novelty_curves.toml")
# From the fastest to the slowest recovery of the paper's simulation, in minutes.
RECOVERY_TIMES: Final = (100.0, 300.0, 600.0, 1_000.0)
_LAST_KNOT: Final = PAPER_BASIS.knots[-1]
_PIECES: Final = 4
# Of a curve that goes from 0 to 1; for a song of four stars 0.05 is a fifth of a star.
_CLOSE, _FAIR = 0.05, 0.1
_KEY: Final = "curves"


def jobs(plan: Plan) -> Sequence[Job]:
    """Return the one job; its size is always the same."""
    del plan
    return [Job.of(measure_curves, _KEY, recovery_times=list(RECOVERY_TIMES), pieces=_PIECES)]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return how far the pieces are off."""
    del plan
    curves = results[_KEY]
    draw = partial(_draw_curves, curves)
    return TEXTS.chapter(
        findings=_findings(curves),
        tables=(TEXTS.table("errors", _rows(curves)),),
        drawings=(TEXTS.drawing("novelty-curves", draw, error=max(_errors(curves)[0])),),
    )


# ── Chords ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Chords:
    """Pieces between neighbouring `places`, which are in units of the recovery time."""

    places: Vector
    largest_gap: float


def widest_gap(start: float, length: float) -> float:
    """Return the largest distance of f above its chord from `start` to `start` + `length`.

    >>> round(widest_gap(0.0, 1.0), 4)
    0.0779
    """
    if length < 1e-3:  # by its series, where the closed form has no digits left
        return math.exp(-start) * length**2 / 8 * (1 - length / 2)
    slope = -math.expm1(-length) / length
    return math.exp(-start) * (1 - slope + slope * math.log(slope))


def best_chords(end: float, pieces: int) -> Chords:
    """Return the pieces from 0 to `end` whose largest gap is least.

    >>> best_chords(3.0, 2).places.round(3).tolist()
    [0.0, 0.99, 3.0]
    """
    if pieces < 1 or not 0 < end < math.inf:
        msg = f"there must be pieces of a length, got {pieces} to {end}"
        raise InvalidInputError(msg)
    if pieces == 1:
        return Chords(places=frozen([0.0, end]), largest_gap=widest_gap(0.0, end))

    def surplus(log_gap: float) -> float:
        return min(_places(math.exp(log_gap), pieces, end)[-1], 2 * end) - end

    lowest = math.log(widest_gap(0.0, end / pieces)) - 2 * end - 2
    log_gap = brentq(surplus, lowest, math.log(widest_gap(0.0, end)), xtol=1e-14)
    places = _places(math.exp(log_gap), pieces, end)
    return Chords(places=frozen([*places[:-1], end]), largest_gap=math.exp(log_gap))


def gaps_between(nodes: Vector, recovery_time: float) -> Vector:
    """Return the widest gap of each piece between neighbouring nodes, in minutes both."""
    places = nodes / recovery_time
    return np.array(
        [
            0.0 if start > 700 else widest_gap(start, length)
            for start, length in zip(places[:-1], np.diff(places), strict=True)
        ]
    )


def _places(gap: float, pieces: int, end: float) -> list[float]:
    """Return where pieces of that gap end, one after the other; beyond `end` they may be long."""
    places = [0.0]
    for _ in range(pieces):
        places.append(places[-1] + _length(gap * math.exp(min(places[-1], 700.0)), 2 * end))
        if places[-1] >= 2 * end:
            break
    return places


def _length(gap: float, longest: float) -> float:
    """Return the length of a chord from 0 with that gap, at most `longest`."""
    if widest_gap(0.0, longest) <= gap:
        return longest
    return float(brentq(lambda length: widest_gap(0.0, length) - gap, 0.0, longest, xtol=1e-15))


def measure_curves(*, recovery_times: Sequence[float], pieces: int) -> Json:
    """Return the ends and the errors of straight pieces for each recovery time; the job."""
    return [_measured(recovery_time, pieces) for recovery_time in recovery_times]


def _measured(recovery_time: float, pieces: int) -> dict[str, Any]:
    best = best_chords(_LAST_KNOT / recovery_time, pieces)
    gaps = gaps_between(PAPER_BASIS.nodes, recovery_time)
    return {
        "recovery_time": recovery_time,
        "ends": (best.places * recovery_time).tolist(),
        "error": best.largest_gap,
        # Of the paper's pieces: up to the last knot, and from there to a month.
        "paper_errors": [float(gaps[:-1].max()), float(gaps[-1])],
    }


# ── Claims, table and figures ────────────────────────────────────────────────────────────


def _findings(curves: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    four, within, beyond = _errors(curves)
    paper = _by_error(max(within))
    if paper is Verdict.HOLDS and _by_error(max(beyond)) is not Verdict.HOLDS:
        paper = Verdict.PARTLY
    times = [curve["recovery_time"] for curve in curves]
    numbers = {"close": _CLOSE, "fair": _FAIR, "fastest": min(times), "slowest": max(times)}
    return (
        TEXTS.finding("four_pieces", _by_error(max(four)), errors=four, **numbers),
        TEXTS.finding("paper_pieces", paper, within=within, beyond=beyond, **numbers),
    )


def _errors(curves: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float], list[float]]:
    """Return the largest errors: of four pieces, of the paper's to the last knot, and beyond."""
    within, beyond = zip(*(curve["paper_errors"] for curve in curves), strict=True)
    return [curve["error"] for curve in curves], list(within), list(beyond)


def _by_error(error: float) -> Verdict:
    if error <= _CLOSE:
        return Verdict.HOLDS
    return Verdict.PARTLY if error <= _FAIR else Verdict.FAILS


def _rows(curves: Sequence[Mapping[str, Any]]) -> list[tuple[Cell, ...]]:
    return [
        (
            curve["recovery_time"],
            ", ".join(f"{end:,.0f}" for end in curve["ends"][1:]),
            *(round(error, 4) for error in errors),
        )
        for curve, *errors in zip(curves, *_errors(curves), strict=True)
    ]


def _draw_curves(curves: Sequence[Mapping[str, Any]], figure: Figure) -> None:
    """Draw 1 − exp(−t/s) for each s, with the best four pieces as circles joined by lines."""
    axes = figure.subplots()
    minutes = np.linspace(0, _LAST_KNOT, 800)
    for curve, colour in zip(curves, CYCLE, strict=False):
        recovery_time, ends = curve["recovery_time"], np.array(curve["ends"])
        label = f"s = {recovery_time:,g} minutes"
        axes.plot(minutes, novelty(minutes, recovery_time), color=colour, alpha=0.35, linewidth=4)
        axes.plot(ends, novelty(ends, recovery_time), "o-", color=colour, mfc="white", label=label)
    axes.set(xlabel="minutes since the song was heard", ylabel="novelty Un = 1 − exp(−t/s)")
    axes.set(xlim=(0, 1.015 * _LAST_KNOT), ylim=(0, 1.03))
    axes.xaxis.set_major_formatter(plain)
    axes.set_title("Four straight pieces (circles) on novelty curves (wide lines)")
    axes.legend(loc="lower right")
    axes.grid()


STUDY: Final = Study(
    name="novelty_curves",
    title="How novelty comes back, and straight lines instead of it",
    jobs=jobs,
    chapter=chapter,
)
