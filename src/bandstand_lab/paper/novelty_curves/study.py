"""Novelty curves as a chapter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bandstand.model.piecewise_linear import PAPER_BASIS
from bandstand_lab.paper.novelty_curves.chords import best_chords, gaps_between
from bandstand_lab.paper.novelty_curves.drawing import draw_curves, draw_errors
from bandstand_lab.report.study import Chapter, Drawing, Finding, Job, Table, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.report.study import Json, Plan

# From the fastest to the slowest recovery of the paper's simulation.
RECOVERY_TIMES: Final = (100.0, 300.0, 600.0, 1_000.0)
LAST_KNOT: Final = PAPER_BASIS.knots[-1]
_PIECES: Final = 4
# Of a curve that goes from 0 to 1; for a song of four stars 0.05 is a fifth of a star.
_CLOSE, _FAIR = 0.05, 0.1
_KEY: Final = "curves"
_INTRODUCTION: Final = (
    "A song just heard is worth nothing, and its worth comes back with time. The paper writes "
    "this as 1 − exp(−t/s), with a recovery time s of each listener's own, and says that a few "
    "straight pieces are close enough to it for its fast algorithm. How close?"
)
_METHOD: Final = (
    "Straight pieces have their ends on the curve, as in the paper's figure. Four pieces are laid "
    "such that the largest error is as small as it can be; all four then have the same. The "
    "paper's algorithm has fixed ends, 2⁻³ to 2¹¹ minutes, 0 and a month. Errors follow from a "
    "closed form. Recovery times are those of the paper's simulation, 100 to 1,000 minutes."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyCurves:
    """The paper's Figure 4."""

    name: str = "novelty_curves"
    title: str = "How novelty comes back, and straight lines instead of it"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return the one job; its size is always the same."""
        del plan
        return [
            Job(
                key=_KEY,
                function="bandstand_lab.paper.novelty_curves.study:measure_curves",
                arguments={"recovery_times": list(RECOVERY_TIMES), "pieces": _PIECES},
            )
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return how far the pieces are off."""
        del plan
        curves = results[_KEY]
        return Chapter(
            introduction=_INTRODUCTION,
            method=_METHOD,
            findings=(_four_pieces(curves), _paper_pieces(curves)),
            tables=(_table(curves),),
            drawings=_drawings(curves),
            data={"curves": curves},
        )


def measure_curves(*, recovery_times: Sequence[float], pieces: int) -> Json:
    """Return the ends and the errors of straight pieces for each recovery time, in minutes."""
    return [_measured(recovery_time, pieces) for recovery_time in recovery_times]


def _measured(recovery_time: float, pieces: int) -> dict[str, Any]:
    best = best_chords(LAST_KNOT / recovery_time, pieces)
    nodes = PAPER_BASIS.nodes
    gaps = gaps_between(nodes, recovery_time)
    return {
        "recovery_time": recovery_time,
        "four_pieces": {
            "ends": (best.places * recovery_time).tolist(),
            "largest_error": best.largest_gap,
        },
        "paper_pieces": {
            "ends": nodes.tolist(),
            "errors": gaps.tolist(),
            "largest_error_to_last_knot": float(gaps[:-1].max()),
            "largest_error_beyond": float(gaps[-1]),
        },
    }


def _four_pieces(curves: Sequence[Mapping[str, Any]]) -> Finding:
    errors = [curve["four_pieces"]["largest_error"] for curve in curves]
    return Finding(
        paper="The novelty curve can be approximated by a piecewise-linear one; the figure shows "
        "four segments.",
        place="Sections 3.1 and 4.2.1, Figure 4",
        measured=f"Up to 2¹¹ minutes the best four segments are off by at most {min(errors):.3f} "
        f"(s = {_slowest(curves):,g}) to {max(errors):.3f} (s = {_fastest(curves):,g}) of a curve "
        "that goes from 0 to 1.",
        verdict=_by_error(max(errors)),
        why=_rule("for every recovery time")
        + " Segments that need not touch the curve would halve the error.",
    )


def _paper_pieces(curves: Sequence[Mapping[str, Any]]) -> Finding:
    within = [curve["paper_pieces"]["largest_error_to_last_knot"] for curve in curves]
    beyond = [curve["paper_pieces"]["largest_error_beyond"] for curve in curves]
    verdict = _by_error(max(within))
    if verdict is Verdict.HOLDS and _by_error(max(beyond)) is not Verdict.HOLDS:
        verdict = Verdict.PARTLY
    return Finding(
        paper="With knots from 2⁻³ to 2¹¹ minutes the approximation is accurate.",
        place="Sections 4.2.1 and 5.3.3",
        measured=f"Up to the last knot the error is at most {max(within):.3f}. Between it and a "
        f"month, where unheard songs stand, one straight piece has to do: there it is "
        f"{min(beyond):.3f} (s = {_fastest(curves):,g}) to {max(beyond):.3f} "
        f"(s = {_slowest(curves):,g}).",
        verdict=verdict,
        why=_rule("up to the last knot and beyond")
        + " In sessions of a day nothing lies between 2¹¹ minutes and never; over weeks much "
        "does, which is why the radio's own knots go to 2¹⁶ minutes.",
    )


def _rule(where: str) -> str:
    return (
        f"It holds if the largest error is at most {_CLOSE:g} {where}, partly if only somewhere "
        f"or up to {_FAIR:g}."
    )


def _by_error(error: float) -> Verdict:
    if error <= _CLOSE:
        return Verdict.HOLDS
    return Verdict.PARTLY if error <= _FAIR else Verdict.FAILS


def _fastest(curves: Sequence[Mapping[str, Any]]) -> float:
    return min(float(curve["recovery_time"]) for curve in curves)


def _slowest(curves: Sequence[Mapping[str, Any]]) -> float:
    return max(float(curve["recovery_time"]) for curve in curves)


def _table(curves: Sequence[Mapping[str, Any]]) -> Table:
    return Table(
        title="Largest error of straight pieces",
        columns=(
            "recovery time s, minutes",
            "best four pieces end at, minutes",
            "four pieces, to 2¹¹ minutes",
            "the paper's, to 2¹¹ minutes",
            "the paper's, 2¹¹ minutes to a month",
        ),
        rows=tuple(
            (
                curve["recovery_time"],
                ", ".join(f"{end:,.0f}" for end in curve["four_pieces"]["ends"][1:]),
                round(curve["four_pieces"]["largest_error"], 4),
                round(curve["paper_pieces"]["largest_error_to_last_knot"], 4),
                round(curve["paper_pieces"]["largest_error_beyond"], 4),
            )
            for curve in curves
        ),
        note="The curve goes from 0 to 1. Pieces end on it and lie below it in between.",
    )


def _drawings(curves: Sequence[Mapping[str, Any]]) -> tuple[Drawing, ...]:
    four = max(curve["four_pieces"]["largest_error"] for curve in curves)
    worst = max(curves, key=lambda curve: float(curve["paper_pieces"]["largest_error_beyond"]))
    return (
        Drawing(
            name="novelty-curves",
            caption=f"Novelty of four listeners. Four straight pieces, laid as well as can be, "
            f"are nowhere more than {four:.3f} below the curve.",
            draw=partial(draw_curves, curves=curves),
        ),
        Drawing(
            name="novelty-curve-errors",
            caption="The paper's pieces are close to the curve up to their last knot; beyond it, "
            f"for s = {worst['recovery_time']:,g} minutes, the single piece to a month is up to "
            f"{worst['paper_pieces']['largest_error_beyond']:.2f} too low.",
            draw=partial(draw_errors, curves=curves),
        ),
    )


STUDY: Final = NoveltyCurves()
