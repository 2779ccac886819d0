"""The paper's Figure 8: training times of all methods, and how they grow with the ratings.

A job is one listener: every method learns from the same answers, one after the other.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand._util.power_laws import straight_line
from bandstand._util.words import figure as shown
from bandstand_lab.report.figures import draw_curve, label_ends, look_of, plain
from bandstand_lab.report.study import Job, Study, Verdict, grouped, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.speed.timing import span
from bandstand_lab.speed.training import (
    LARGE,
    REFERENCE_STEPS,
    TrainingStudy,
    train,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from bandstand._util.power_laws import Line
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.speed.timing import Estimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "efficiency.toml")
_COLUMNS: Final = 91
_VARIATIONAL: Final = "variational"
_SAMPLERS: Final = ("metropolis", "mcmc")
_TIMES_FASTER: Final = 100.0
_MANY_RATINGS: Final = 1_000
_MAX_SECONDS: Final = 2.0
# An exponent above 1 up to this is nearly linear: what it adds from 400 to 3,000 ratings is at
# most a third.
_MAX_EXPONENT: Final = 1.15
# Times that are called linear must differ from those that grow like these powers of N.
_NOT_LINEAR: Final = (0.5, 1.5)
# A straight line through all sizes has to explain this share of the variance of the times.
_MIN_R_SQUARED: Final = 0.95


def jobs(plan: Plan, columns: int = _COLUMNS) -> list[Job]:
    """Return one job for each listener and number of ratings."""
    size = _size(plan)
    common = {"seed": plan.seed, "columns": columns, "sampler_steps": size["sampler_steps"]}
    return [
        Job.timed(
            *(train, f"ratings-{ratings}-listener-{turn}"),
            **{"ratings": ratings, "turn": turn, **common},
        )
        for turn in range(size["rounds"])
        for ratings in size["ratings"]
    ]


def _size(plan: Plan) -> dict[str, Any]:
    sizes = (100, 200, 400, 700, 1_000, 2_000, 3_000)
    quick = {"rounds": 3, "ratings": (100, 200, 400, 1_000, 2_000), "sampler_steps": 1_000}
    full = {"rounds": 8, "ratings": sizes, "sampler_steps": REFERENCE_STEPS}
    return plan.pick(quick=quick, full=full)


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return times and growth, and the verdict on each claim."""
    size = _size(plan)
    runs = {
        (method, ratings): [each[method] for each in found]
        for ratings, found in grouped(jobs(plan), results, "ratings").items()
        for method in found[0]
    }
    study = TrainingStudy(runs=runs)
    last = study.sizes[-1]
    order = sorted(study.methods, key=lambda method: study.seconds(method, last).median)
    return TEXTS.chapter(
        method={"columns": _COLUMNS, "steps": REFERENCE_STEPS, **size},
        findings=efficiency_findings(study),
        tables=(TEXTS.table("times", _time_rows(study), sizes=study.sizes, large=LARGE),),
        drawings=(
            TEXTS.drawing(
                "training-times",
                partial(_draw, study),
                inches=(9.0, 5.2),
                last=last,
                order=[look_of(method).label for method in order],
                over=study.ratios("metropolis", _VARIATIONAL)[last].shown(),
            ),
        ),
    )


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def efficiency_findings(study: TrainingStudy) -> tuple[Finding, ...]:
    """Return the verdict on each claim of the paper about training times."""
    numbers = _numbers(study)
    over = {method: list(study.ratios(method, _VARIATIONAL).values()) for method in study.methods}
    over_ridge = [
        each
        for method in study.methods
        if method != "ridge"
        for each in study.ratios(method, "ridge").values()
    ]
    without_gradient = verdict_on(each.above(1.0) for each in over["least-squares-differences"])
    needed = REFERENCE_STEPS * _TIMES_FASTER / over["metropolis"][-1].value
    return (
        _linear(study, _SAMPLERS[0], "MCMC"),
        _linear(study, _VARIATIONAL, "variational inference"),
        TEXTS.finding(
            "times_faster",
            verdict_on(each.above(_TIMES_FASTER) for name in _SAMPLERS for each in over[name]),
            needed=needed,
            **numbers,
        ),
        TEXTS.finding(
            "descent",
            verdict_on(each.above(1.0) for each in over["least-squares"]),
            without_gradient=without_gradient,
            **numbers,
        ),
        _in_seconds(study),
        TEXTS.finding("linucb", verdict_on(each.above(1.0) for each in over_ridge), **numbers),
    )


def _numbers(study: TrainingStudy) -> dict[str, Any]:
    """Return the numbers of the texts: spans of ratios over all sizes, costs at the last size."""
    last = study.sizes[-1]
    return {
        "last": last,
        **{
            f"over_{below}": {
                method: span(list(study.ratios(method, name).values())) for method in study.methods
            }
            for below, name in (("variational", _VARIATIONAL), ("ridge", "ridge"))
        },
        "labels": {method: look_of(method).label for method in study.methods},
    }


def _linear(study: TrainingStudy, method: str, what: str) -> Finding:
    exponent, slope = study.power(method, LARGE), study.exponent(method, LARGE)
    line = line_through(study, method)
    falls = slope is not None and slope.above(0.0) is False
    return TEXTS.finding(
        "linear",
        Verdict.FAILS if falls else linear_verdict(exponent, line),
        what=what,
        label=look_of(method).label,
        large=LARGE,
        exponent=_shown(exponent),
        slope=_shown(slope),
        r_squared="–" if line is None else f"{100 * line.r_squared:.1f} %",
        not_linear=_NOT_LINEAR,
        min_r_squared=_MIN_R_SQUARED,
        max_exponent=_MAX_EXPONENT,
    )


def linear_verdict(exponent: Estimate | None, line: Line | None) -> Verdict:
    """Return the verdict from the exponent's interval and the line through all sizes."""
    if exponent is None or line is None or exponent.low is None or exponent.high is None:
        return Verdict.OPEN
    if exponent.low > _MAX_EXPONENT:
        return Verdict.FAILS
    if not exponent.low <= 1 <= exponent.high:
        return Verdict.PARTLY
    if exponent.low <= _NOT_LINEAR[0] or exponent.high >= _NOT_LINEAR[1]:
        return Verdict.OPEN
    straight = line.slope > 0 and line.r_squared >= _MIN_R_SQUARED
    return Verdict.HOLDS if straight else Verdict.PARTLY


def line_through(study: TrainingStudy, method: str) -> Line | None:
    """Return the straight line through the median times; None from fewer than three sizes."""
    if len(study.sizes) < 3:
        return None
    return straight_line(study.sizes, [study.seconds(method, size).median for size in study.sizes])


def _in_seconds(study: TrainingStudy) -> Finding:
    runs = [study.seconds(_VARIATIONAL, size).runs for size in study.sizes if size <= _MANY_RATINGS]
    slowest = [max(each) for each in runs]
    return TEXTS.finding(
        "in_seconds",
        verdict_on(each < _MAX_SECONDS for each in slowest),
        runs=sum(map(len, runs)),
        many=_MANY_RATINGS,
        slowest=f"{shown(1_000 * max(slowest))} ms" if slowest else "–",
        last=study.sizes[-1],
        last_ms=shown(1_000 * study.seconds(_VARIATIONAL, study.sizes[-1]).median),
    )


def _shown(estimate: Estimate | None) -> str:
    return "–" if estimate is None else estimate.shown()


# ── Table and figure ─────────────────────────────────────────────────────────────────────


def _time_rows(study: TrainingStudy) -> list[tuple[Cell, ...]]:
    return [
        (
            look_of(method).label,
            *(1_000 * study.seconds(method, size).median for size in study.sizes),
            _shown(study.exponent(method, LARGE)),
        )
        for method in study.methods
    ]


def _draw(study: TrainingStudy, figure: Figure) -> None:
    """Draw the time of each method over the number of ratings."""
    axes, sizes = figure.subplots(), study.sizes
    axes.set(xscale="log", yscale="log")
    for method in study.methods:
        spreads, look = [study.seconds(method, size) for size in sizes], look_of(method)
        low, high = zip(*(each.quartiles for each in spreads), strict=True)
        axes.fill_between(sizes, low, high, color=look.colour, alpha=0.15, linewidth=0)
        draw_curve(axes, sizes, [each.median for each in spreads], look)
    axes.set_title("Time to learn from N ratings, one thread")
    axes.set(xlabel="ratings N", ylabel="processor time, s (median, quartiles shaded)")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(plain)
    axes.minorticks_off()
    axes.grid()
    label_ends(axes, {method: study.seconds(method, sizes[-1]).median for method in study.methods})


STUDY: Final = Study(
    name="efficiency", title="Efficiency: how long it takes to learn", jobs=jobs, chapter=chapter
)
