"""How fast regret grows in the end: the slope of its second half on two logarithmic axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.model.slopes import second_half_slopes
from bandstand_lab.paper.effectiveness.design import (
    ALGORITHMS,
    EXACT,
    GREEDY,
    LONG_ONES,
    LONG_PLACE,
    PLACES,
)
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Finding, Table, Verdict
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from bandstand_lab.paper.effectiveness.outcome import Outcome
    from bandstand_lab.report.study import Cell, Json
    from bandstand_lab.statistics.summaries import MeanEstimate

# A radio that learns nothing has slope 1; its own mean may be this far off by chance.
_CONTROL: Final = 0.02
_STEEPEST: Final = 0.85
_STEEPEST_UPPER: Final = 0.95


def long_slopes(outcome: Outcome) -> dict[str, MeanEstimate]:
    """Return the slope of the second half of the long runs, over listeners."""
    return {
        name: mean_estimate(second_half_slopes(outcome.long_curves(name))) for name in LONG_ONES
    }


def finding(outcome: Outcome) -> Finding:
    """Return whether regret grows more slowly than the number of songs under Bayes-UCB."""
    slopes = long_slopes(outcome)
    ends = {name: float(outcome.long_curves(name)[:, -1].mean()) for name in LONG_ONES}
    steps = outcome.design.long_steps
    return Finding(
        paper="Bayes-UCB is chosen since it is known to explore no more than needed: its regret "
        "has to grow more slowly than the number of songs.",
        place="Sections 2.2 and 3.2, on Bayes-UCB",
        measured=(
            f"Slopes between {steps // 2} and {steps} songs ({LONG_PLACE.label}): "
            f"{'; '.join(f'{look_of(name).label} {_words(slopes[name])}' for name in LONG_ONES)}. "
            f"Regret in the end: {100 * ends[EXACT] / ends['random']:.0f} % of random's, "
            f"{100 * ends[EXACT] / ends[GREEDY]:.0f} % of greedy's."
        ),
        verdict=_verdict(slopes),
        why=(
            "Rule: the interval of the control, random, must reach 1.00 ± 0.02, or nothing can be "
            "told. It holds where Bayes-UCB is at most at 0.85 with its 95 % interval below 0.95; "
            "partly where that interval is below 1."
        ),
    )


def table(outcome: Outcome) -> Table:
    """Return the slopes of all radios in all worlds, at the common length."""
    steps = outcome.design.steps
    rows: list[tuple[Cell, ...]] = []
    for place in PLACES:
        for name in ALGORITHMS:
            slope = mean_estimate(second_half_slopes(outcome.curves(place, name)))
            low, high = slope.interval() or (None, None)
            rows.append((place.label, look_of(name).label, slope.mean, low, high))
    return Table(
        title=f"How fast regret grows between {steps // 2} and {steps} songs: slope on two "
        "logarithmic axes",
        columns=("world", "radio", "slope", "95 % from", "to"),
        rows=tuple(rows),
        note="1 is a radio that learns nothing; each listener has a slope of their own.",
    )


def as_json(outcome: Outcome) -> dict[str, Json]:
    """Return the slopes of the long runs."""
    return {
        name: {"mean": slope.mean, "interval_95": slope.interval(), "listeners": slope.count}
        for name, slope in long_slopes(outcome).items()
    }


def _verdict(slopes: dict[str, MeanEstimate]) -> Verdict:
    control, ours = slopes["random"], slopes[EXACT]
    interval = ours.interval()
    checked = control.interval()
    if interval is None or checked is None or not _may_be_one(checked):
        return Verdict.OPEN
    upper = interval[1]
    if ours.mean <= _STEEPEST and upper < _STEEPEST_UPPER:
        return Verdict.HOLDS
    if upper < 1:
        return Verdict.PARTLY
    return Verdict.FAILS if interval[0] >= 1 else Verdict.OPEN


def _may_be_one(interval: tuple[float, float]) -> bool:
    """Return whether the slope of the control may be 1, give or take what is allowed."""
    return interval[0] <= 1 + _CONTROL and interval[1] >= 1 - _CONTROL


def _words(slope: MeanEstimate) -> str:
    interval = slope.interval()
    return f"{slope.mean:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")
