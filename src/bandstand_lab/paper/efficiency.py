"""The paper's Figure 8: training times of all methods, and how they grow with the ratings.

A job is one listener: every method learns from the same answers, one after the other. The
claims are those of `bandstand bench`, too.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.power_laws import straight_line
from bandstand_lab.report.figures import draw_curve, label_ends, look_of, plain
from bandstand_lab.report.study import Job, Study, Verdict, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.speed.timing import number, span
from bandstand_lab.speed.training import (
    ITERATIONS,
    LABELS,
    LARGE,
    PAPER,
    REFERENCE_STEPS,
    TrainingRun,
    study_of,
    train,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from bandstand._util.power_laws import Line
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.speed.timing import Estimate
    from bandstand_lab.speed.training import TrainingStudy

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "efficiency.toml")
_COLUMNS: Final = 91
_VARIATIONAL: Final = "variational-2"
_SAMPLERS: Final = ("metropolis", "mcmc")
_COMPARED: Final = (
    ("metropolis", _VARIATIONAL),
    ("mcmc", _VARIATIONAL),
    ("least-squares", _VARIATIONAL),
    ("least-squares-map", _VARIATIONAL),
    ("least-squares-differences", _VARIATIONAL),
    ("variational-3", _VARIATIONAL),
    (_VARIATIONAL, "exact"),
    (_VARIATIONAL, "ridge"),
)
_TIMES_FASTER: Final = 100.0
# "Only slightly slows down" is read as: at most half as long again.
_SLIGHTLY: Final = 1.5
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
    common = {"seed": plan.seed, "columns": columns, "sampler_steps": _sampler_steps(plan)}
    return [
        Job.timed(train, _key(size, turn), ratings=size, turn=turn, **common)
        for turn in range(_rounds(plan))
        for size in _sizes(plan)
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return times, growth and ratios, and the verdict on each claim."""
    study = _study(plan, results)
    last = study.sizes[-1]
    order = sorted(study.methods, key=lambda method: study.seconds(method, last).median)
    return TEXTS.chapter(
        method={
            "listeners": _rounds(plan),
            "columns": _COLUMNS,
            "steps": REFERENCE_STEPS,
            "measured_steps": _sampler_steps(plan),
        },
        findings=efficiency_findings(study),
        tables=(
            TEXTS.table("times", _time_rows(study), sizes=study.sizes, large=LARGE),
            TEXTS.table("ratios", _ratio_rows(study), sizes=study.sizes),
        ),
        drawings=(
            TEXTS.drawing(
                "training-times",
                lambda figure: training_panel(figure.subplots(), study),
                inches=(9.0, 5.2),
                last=last,
                order=[LABELS[method] for method in order],
                over=study.ratios("metropolis", _VARIATIONAL)[last].shown(),
            ),
        ),
        data=_data(study),
    )


def _sizes(plan: Plan) -> tuple[int, ...]:
    return plan.pick(
        quick=(100, 200, 400, 1_000, 2_000), full=(100, 200, 400, 700, 1_000, 2_000, 3_000)
    )


def _rounds(plan: Plan) -> int:
    return plan.pick(quick=3, full=8)


def _sampler_steps(plan: Plan) -> int:
    return plan.pick(quick=1_000, full=REFERENCE_STEPS)


def _key(ratings: int, turn: int) -> str:
    return f"ratings-{ratings}-listener-{turn}"


def _study(plan: Plan, results: Mapping[str, Json]) -> TrainingStudy:
    runs: dict[tuple[str, int], list[TrainingRun]] = defaultdict(list)
    for turn in range(_rounds(plan)):
        for size in _sizes(plan):
            for method, run in results[_key(size, turn)].items():
                runs[method, size].append(TrainingRun(**run))
    return study_of(PAPER.name, runs, sampler_steps=_sampler_steps(plan))


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
        TEXTS.finding(
            "third_factor",
            verdict_on(each.below(_SLIGHTLY) for each in over["variational-3"]),
            slightly=_SLIGHTLY,
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
        "labels": LABELS,
        "iterations": {method: study.iterations(method, last) for method in study.methods},
        "each_ms": {
            method: number(1_000 * study.seconds_each(method, last)) for method in study.methods
        },
    }


def _linear(study: TrainingStudy, method: str, what: str) -> Finding:
    exponent, slope = study.power(method, LARGE), study.exponent(method, LARGE)
    line = line_through(study, method)
    each = [study.seconds_each(method, size) for size in study.sizes]
    each_line = straight_line(np.log(study.sizes), np.log(each))
    falls = slope is not None and slope.above(0.0) is False
    return TEXTS.finding(
        "linear",
        Verdict.FAILS if falls else linear_verdict(exponent, line),
        what=what,
        label=LABELS[method],
        large=LARGE,
        exponent=_shown(exponent),
        slope=_shown(slope),
        r_squared="–" if line is None else f"{100 * line.r_squared:.1f} %",
        not_linear=_NOT_LINEAR,
        min_r_squared=_MIN_R_SQUARED,
        max_exponent=_MAX_EXPONENT,
        unit=ITERATIONS[method],
        sizes=(study.sizes[0], study.sizes[-1]),
        iterations=[study.iterations(method, study.sizes[end]) for end in (0, -1)],
        each_slope="–" if each_line is None else f"{each_line.slope:.2f}",
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
        slowest=f"{number(1_000 * max(slowest))} ms" if slowest else "–",
        last=study.sizes[-1],
        last_ms=number(1_000 * study.seconds(_VARIATIONAL, study.sizes[-1]).median),
    )


def _shown(estimate: Estimate | None) -> str:
    return "–" if estimate is None else estimate.shown()


# ── Tables and figure ────────────────────────────────────────────────────────────────────


def _time_rows(study: TrainingStudy) -> list[tuple[Cell, ...]]:
    return [
        (
            LABELS[method],
            *(1_000 * study.seconds(method, size).median for size in study.sizes),
            _shown(study.exponent(method, LARGE)),
            _iterations(study, method),
        )
        for method in study.methods
    ]


def _iterations(study: TrainingStudy, method: str) -> str:
    if method not in ITERATIONS:
        return ""
    first, last = (study.iterations(method, study.sizes[end]) for end in (0, -1))
    return f"{first:,.0f} to {last:,.0f} {ITERATIONS[method]}"


def _ratio_rows(study: TrainingStudy) -> list[tuple[Cell, ...]]:
    return [
        (LABELS[one], LABELS[other], *(each.shown() for each in study.ratios(one, other).values()))
        for one, other in _COMPARED
    ]


def training_panel(axes: Axes, study: TrainingStudy) -> None:
    """Draw the time of each method over the number of ratings."""
    sizes = study.sizes
    axes.set(xscale="log", yscale="log")
    for method in study.methods:
        spreads = [study.seconds(method, size) for size in sizes]
        look = look_of(method)
        low, high = [each.lower for each in spreads], [each.upper for each in spreads]
        axes.fill_between(sizes, low, high, color=look.colour, alpha=0.15, linewidth=0)
        draw_curve(axes, sizes, [each.median for each in spreads], look)
    axes.set_title("Time to learn from N ratings, one thread")
    axes.set(xlabel="ratings N", ylabel="processor time (median, quartiles shaded)")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.yaxis.set_major_formatter(lambda value, place: f"{plain(value, place)} s")
    axes.minorticks_off()
    axes.grid()
    label_ends(axes, {method: study.seconds(method, sizes[-1]).median for method in study.methods})


def _data(study: TrainingStudy) -> dict[str, Any]:
    return {
        "training": [time.as_json() for time in study.times],
        "growth": {
            method: estimate.as_json()
            for method in study.methods
            if (estimate := study.exponent(method, LARGE)) is not None
        },
        "ratios": [
            {"above": above, "below": below, "ratings": size, **estimate.as_json()}
            for above, below in _COMPARED
            for size, estimate in study.ratios(above, below).items()
        ],
    }


STUDY: Final = Study(
    name="efficiency", title="Efficiency: how long it takes to learn", jobs=jobs, chapter=chapter
)
