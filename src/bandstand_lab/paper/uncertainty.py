"""The paper's Figure 11: the uncertainty about all songs along what each algorithm plays.

    uncertainty(n) = 1/S Σ_k SD[p(U_k | D_n)]        (Section 5.3.1)

The posterior is always that of the exact model, whatever chose the songs, and U_k is that of the
moment: a song just heard has little novelty and so little uncertainty.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.report.figures import draw_means, in_order, label_ends, look_of, plain, spoken
from bandstand_lab.report.study import Job, Study, Verdict, grouped, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import PAPER_CLOCK, radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import clear_signs, log_difference
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.simulation.session import Clock, Trace
    from bandstand_lab.simulation.worlds import Meeting
    from bandstand_lab.statistics.paired import PairedDifference

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "uncertainty.toml")
SONGS: Final = 2_000
FEATURES: Final = 91
EXACT: Final = "bayes-ucb-cn-x"
GREEDY: Final = "greedy-cn"
VARIATIONAL: Final = "bayes-ucb-cn-v"  # ten times as slow as the others: fewer listeners
# From the third rating on the standard deviation exists and means something (2A > 2).
_QUICK_MOMENTS: Final = (5, 10, 20, 30, 50, 75, 100)
_FULL_MOMENTS: Final = (*_QUICK_MOMENTS, 150, 200)
_QUICK: Final = ("random", "linucb-cn", GREEDY, VARIATIONAL, EXACT)
_FULL: Final = ("linucb-c", "greedy-cn-map", "thompson-cn-x", *_QUICK)
# The paper calls the first 100 recommendations the cold start; small n is its first half.
_SMALL_N: Final = 50
_FIRST_N: Final = 10  # falling is judged from here on: before, the noise is hardly known
_COMPARABLE: Final = 0.1  # relative difference
_SIGNIFICANT: Final = 0.05


def jobs(plan: Plan) -> list[Job]:
    """Return one job for each algorithm and listener."""
    size = {"songs": SONGS, "features": FEATURES, "moments": list(_moments(plan))}
    return [
        Job.of(
            *(uncertainties, f"{algorithm}-{run:02}"),
            **{"algorithm": algorithm, "run": run, "seed": plan.seed, **size},
        )
        for algorithm in plan.pick(quick=_QUICK, full=_FULL)
        for run in range(_listeners(plan, algorithm))
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the curves, and the verdict on each claim."""
    moments = _moments(plan)
    of_each = grouped(jobs(plan), results, "algorithm")
    curves: dict[str, Matrix] = {name: np.array(of_each[name]) for name in in_order(of_each)}
    pairs, small = ((EXACT, GREEDY), (VARIATIONAL, GREEDY)), moments.index(_SMALL_N)
    return TEXTS.chapter(
        method={
            "steps": moments[-1],
            "songs": SONGS,
            "features": FEATURES,
            "listeners": _listeners(plan, EXACT),
            "variational_listeners": _listeners(plan, VARIATIONAL),
        },
        findings=(
            falling_finding(curves, moments),
            *(faster_finding(curves, moments, ours=one, theirs=other) for one, other in pairs),
            *(later_finding(curves, moments, ours=one, theirs=other) for one, other in pairs),
        ),
        tables=(TEXTS.table("uncertainty", _rows(curves, moments), moments=moments),),
        drawings=(
            TEXTS.drawing(
                "uncertainty",
                lambda figure: _draw(figure, curves, moments),
                inches=(8.6, 4.5),
                ratings=_SMALL_N,
                change=_change(_apart(curves, EXACT, GREEDY, small)),
            ),
        ),
    )


def _listeners(plan: Plan, algorithm: str) -> int:
    """Return how many simulated listeners an algorithm meets: the first ones."""
    if algorithm == VARIATIONAL:
        return plan.pick(quick=2, full=5)
    return plan.pick(quick=6, full=16)


def _moments(plan: Plan) -> tuple[int, ...]:
    return plan.pick(quick=_QUICK_MOMENTS, full=_FULL_MOMENTS)


# ── The measure ──────────────────────────────────────────────────────────────────────────


def uncertainties(
    algorithm: str, run: int, seed: int, songs: int, features: int, moments: list[int]
) -> list[float]:
    """Return the uncertainty after each number of ratings in `moments`, in rating units; a job."""
    world = GaussianWorld(songs=songs, features=features, scale="entries")
    trace = run_one(world, algorithm, run=run, seed=seed, steps=max(moments), clock=PAPER_CLOCK)
    meeting = world.meeting(run, seed)
    return along(meeting, trace, moments, clock=PAPER_CLOCK, seed=radio_seed(seed, run))


def along(
    meeting: Meeting, trace: Trace, moments: list[int], *, clock: Clock, seed: int
) -> list[float]:
    """Return the uncertainty of the exact model that learns from the plays of `trace`."""
    radio = meeting.radio(EXACT, seed=seed)
    found: dict[int, float] = {}
    for step, (row, rating) in enumerate(zip(trace.rows, trace.ratings, strict=True), start=1):
        radio.update(radio.ids[int(row)], rating=float(rating), time=clock.moment(step))
        if step in moments:
            spread: Any = radio.predict(at=clock.moment(step + 1)).standard_deviation()
            found[step] = float(spread.mean())
    return [found[moment] for moment in moments]


def _apart(curves: Mapping[str, Matrix], ours: str, theirs: str, place: int) -> PairedDifference:
    """Return the logarithm of the ratio at one moment, over the listeners that both have met."""
    both = min(len(curves[ours]), len(curves[theirs]))
    return log_difference(curves[ours][:both, place], curves[theirs][:both, place])


def _change(test: PairedDifference) -> float:
    return float(np.expm1(test.mean))


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def falling_finding(curves: Mapping[str, Matrix], moments: Sequence[int]) -> Finding:
    """Return the verdict on: uncertainty falls as ratings come in."""
    first = next((place for place, moment in enumerate(moments) if moment >= _FIRST_N), 0)
    tests = {name: log_difference(each[:, -1], each[:, first]) for name, each in curves.items()}
    signs = clear_signs(list(tests.values()))
    falls, rises = signs.count(-1), signs.count(1)
    return TEXTS.finding(
        "falling",
        verdict_on({-1: True, 1: False}.get(sign) for sign in signs),
        first=moments[first],
        last=moments[-1],
        changes={spoken(name): _change(test) for name, test in tests.items()},
        falls=falls,
        rises=rises,
        level=_SIGNIFICANT,
    )


def faster_finding(
    curves: Mapping[str, Matrix], moments: Sequence[int], *, ours: str, theirs: str
) -> Finding:
    """Return the verdict on: it falls faster under Bayes-UCB than under greedy at small n."""
    small = [place for place, moment in enumerate(moments) if moment <= _SMALL_N]
    tests = [_apart(curves, ours, theirs, place) for place in small]
    signs = clear_signs(tests)
    lower, higher = (
        [moments[place] for place, found in zip(small, signs, strict=True) if found == sign]
        for sign in (-1, 1)
    )
    return TEXTS.finding(
        "faster",
        faster_verdict(len(lower), len(higher), len(small)),
        ours=spoken(ours),
        theirs=spoken(theirs),
        listeners=tests[0].degrees_of_freedom + 1,
        changes={moments[place]: _change(test) for place, test in zip(small, tests, strict=True)},
        small=_SMALL_N,
        lower=lower,
        higher=higher,
        level=_SIGNIFICANT,
    )


def faster_verdict(lower: int, higher: int, of: int) -> Verdict:
    """Return the verdict from the numbers of moments with clearly lower and higher values."""
    if higher:
        return Verdict.FAILS
    if lower == of:
        return Verdict.HOLDS
    return Verdict.PARTLY if lower else Verdict.OPEN


def later_finding(
    curves: Mapping[str, Matrix], moments: Sequence[int], *, ours: str, theirs: str
) -> Finding:
    """Return the verdict on: later both are comparable."""
    test = _apart(curves, ours, theirs, -1)
    low, high = (float(np.expm1(end)) for end in test.interval())
    return TEXTS.finding(
        "later",
        verdict_on([is_inside((low, high), -_COMPARABLE, _COMPARABLE)]),
        ours=spoken(ours),
        theirs=spoken(theirs),
        last=moments[-1],
        change=_change(test),
        low=low,
        high=high,
        comparable=_COMPARABLE,
    )


# ── Table and figure ─────────────────────────────────────────────────────────────────────


def _rows(curves: Mapping[str, Matrix], moments: Sequence[int]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for name, each in curves.items():
        estimates = [mean_estimate(each[:, place]) for place in range(len(moments))]
        cells = (f"{one.mean:.3g} ± {one.standard_error or 0.0:.2g}" for one in estimates)
        rows.append((look_of(name).label, len(each), *cells))
    return rows


def _draw(figure: Figure, curves: Mapping[str, Matrix], moments: Sequence[int]) -> None:
    axes = figure.subplots()
    axes.set(xscale="log", yscale="log")
    draw_means(axes, curves, moments)
    axes.set(xlabel="ratings n", ylabel="mean standard deviation of U, in units of a rating")
    axes.set_xticks(list(moments), [str(moment) for moment in moments])
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain)
    axes.tick_params(axis="x", which="minor", length=0)
    axes.grid()
    label_ends(axes, {name: float(each[:, -1].mean()) for name, each in curves.items()})


STUDY: Final = Study(
    name="uncertainty",
    title="What is still unknown: uncertainty over the first songs",
    jobs=jobs,
    chapter=chapter,
)
