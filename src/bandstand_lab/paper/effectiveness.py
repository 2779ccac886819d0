"""Regret of the paper's radios (Figure 7), at two scales and two noise levels.

The paper tells neither the scale of its features nor the noise of its listeners, so there are
four worlds: two scales with two levels of noise each. The ratings that an unheard song deserves
have a standard deviation of √p (9.5 for p = 91) at the scale "entries" and of 1 at "norm". A
fifth, quiet world has hardly any noise: there greedy and Bayes-UCB meet alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand._util.power_laws import second_half_slopes
from bandstand.types import frozen
from bandstand_lab.paper import _orders
from bandstand_lab.report.figures import draw_regret, look_of
from bandstand_lab.report.study import Job, Study, Verdict, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.statistics.summaries import MeanEstimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "effectiveness.toml")
EXACT, GREEDY, RANDOM, VARIATIONAL = "bayes-ucb-cn-x", "greedy-cn", "random", "bayes-ucb-cn-v"
MAP, THOMPSON, LINEAR = "greedy-cn-map", "thompson-cn-x", ("linucb-c", "linucb-cn")
# Those that take about as long as each other make one job; the variational one takes longer.
QUICK_ONES: Final = (RANDOM, *LINEAR, GREEDY, MAP, THOMPSON, EXACT)
ALGORITHMS: Final = (*QUICK_ONES, VARIATIONAL)
LONG_ONES: Final = (RANDOM, GREEDY, EXACT)  # followed for longer, in the first world
QUIET_ONES: Final = (GREEDY, EXACT)
# The findings that are orders, and the orders of the table: (lower, upper).
CLAIMS: Final = {
    "random": tuple((name, RANDOM) for name in ALGORITHMS if name != RANDOM),
    "linucb": tuple((GREEDY, name) for name in LINEAR),
    "exact": ((EXACT, GREEDY),),
    "variational": ((VARIATIONAL, GREEDY),),
    "map": ((EXACT, MAP),),
    "thompson": ((EXACT, THOMPSON),),
}
_ORDERS: Final = (
    *((EXACT, GREEDY), (VARIATIONAL, GREEDY), (EXACT, MAP), (EXACT, THOMPSON)),
    (VARIATIONAL, EXACT),
    *((GREEDY, name) for name in LINEAR),
    *((name, RANDOM) for name in LINEAR),
)
_CLOSE: Final = 0.10  # regrets that differ by less than this share count as equal
# A radio that learns nothing has slope 1; the mean of the control may be this far off by chance.
_CONTROL_TOLERANCE: Final = 0.02
_MAX_SLOPE: Final = 0.85
_MAX_SLOPE_BOUND: Final = 0.95


class GaussianPlace(NamedTuple):
    """One world, with a name for keys and one for people."""

    scale: str
    noise: float

    @property
    def key(self) -> str:
        """The name in keys of jobs."""
        return f"{self.scale}-{self.noise:g}"

    @property
    def label(self) -> str:
        """The name in words."""
        return f"{'norm 1' if self.scale == 'norm' else 'entries N(0, 1)'}, σ = {self.noise:g}"


PLACES: Final = tuple(
    GaussianPlace(scale, noise) for scale in ("entries", "norm") for noise in (1.0, 2.0)
)
LONG_PLACE: Final = PLACES[0]
QUIET_PLACE: Final = GaussianPlace("entries", 0.5)


def size_of(plan: Plan) -> dict[str, int]:
    """Return the size of the study; the full one is the paper's, with more listeners."""
    return plan.pick(
        quick={"songs": 1_000, "features": 20, "steps": 100, "long_steps": 200, "listeners": 5},
        full={"songs": 10_000, "features": 91, "steps": 200, "long_steps": 500, "listeners": 20},
    )


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield all jobs: listener by listener, so that a part of them already says something."""
    size = size_of(plan)

    def job(
        run: int, place: GaussianPlace, kind: str, algorithms: Sequence[str], steps: int
    ) -> Job:
        world = {"scale": place.scale, "noise_standard_deviation": place.noise}
        world |= {name: size[name] for name in ("songs", "features")}
        which = {"algorithms": list(algorithms), "steps": steps, "run": run, "seed": plan.seed}
        return Job.of(play, f"{place.key}-{run:02d}-{kind}", world=world, **which)

    for run in range(size["listeners"]):
        for place in PLACES:
            longer = LONG_ONES if place == LONG_PLACE else ()
            together = [name for name in QUICK_ONES if name not in longer]
            yield job(run, place, "main", together, size["steps"])
            yield job(run, place, "variational", [VARIATIONAL], size["steps"])
            if longer:
                yield job(run, place, "long", longer, size["long_steps"])
        yield job(run, QUIET_PLACE, "quiet", QUIET_ONES, size["steps"])


def play(
    *, world: Mapping[str, Json], algorithms: Sequence[str], run: int, seed: int, steps: int
) -> dict[str, list[float]]:
    """Return the regret after each step for each algorithm; a job.

    All radios of a run meet the same songs, listener and noise of the n-th answer.
    """
    here = GaussianWorld(**world)
    return {
        name: run_one(here, name, run=run, seed=seed, steps=steps).regret.tolist()
        for name in algorithms
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadioRegrets:
    """Regret after each song: (listeners, steps) by the keys of world and radio."""

    steps: int
    regrets: Mapping[tuple[str, str], Matrix]

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> RadioRegrets:
        """Return the results of the plan's jobs as matrices."""
        rows: dict[tuple[str, str], list[list[float]]] = {}
        for job in jobs(plan):
            world = job.arguments["world"]
            place = GaussianPlace(world["scale"], world["noise_standard_deviation"]).key
            for name, regret in results[job.key].items():
                rows.setdefault((place, name), []).append(regret)
        found = {key: frozen(np.array(each)) for key, each in rows.items()}
        return cls(steps=size_of(plan)["steps"], regrets=found)

    @property
    def looks(self) -> tuple[int, int]:
        """The numbers of songs after which the orders are tested."""
        return self.steps // 2, self.steps

    def curves(self, place: GaussianPlace, name: str) -> Matrix:
        """Return the regret of a radio up to the common number of songs: (listeners, steps)."""
        return self.regrets[place.key, name][:, : self.steps]

    def orders(self, pairs: Sequence[tuple[str, str]]) -> tuple[_orders.Order, ...]:
        """Test each (lower, upper) in all worlds that both played in, as one family of tests."""
        found = []
        for lower, upper in pairs:
            sides = f"{look_of(lower).label} against {look_of(upper).label}, "
            quiet = (QUIET_PLACE,) if {lower, upper} <= set(QUIET_ONES) else ()
            for place, look in product((*PLACES, *quiet), self.looks):
                label = f"{sides if len(pairs) > 1 else ''}{place.label}, n = {look}"
                one, other = (self.curves(place, name)[:, look - 1] for name in (lower, upper))
                found.append((label, one, other))
        return _orders.orders(found)


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the orders of regret with a verdict each."""
    found = RadioRegrets.of(plan, results)
    size = {**size_of(plan), "looks": found.looks, "world": LONG_PLACE.label}
    findings = {name: _order(found, name, pairs) for name, pairs in CLAIMS.items()}
    last = [findings.pop(name) for name in ("map", "thompson")]
    return TEXTS.chapter(
        method={"rule": _orders.TEXTS("rule"), **size},
        findings=(
            *findings.values(),
            _early_gap(found),
            _accuracy(found),
            *last,
            _growth(found, size_of(plan)["long_steps"]),
        ),
        tables=(
            TEXTS.table("regret", _regret_rows(found), **size),
            TEXTS.table("orders", _order_rows(found)),
        ),
        drawings=(
            TEXTS.drawing("regret", partial(_draw_regret, found), inches=(11.0, 8.0), **size),
        ),
    )


def _order(found: RadioRegrets, name: str, pairs: Sequence[tuple[str, str]]) -> Finding:
    tested = found.orders(pairs)
    words = {"seen": _orders.in_words(tested), "judged": _orders.TEXTS("judged")}
    return TEXTS.finding(name, _orders.verdict(tested), **words)


def _early_gap(found: RadioRegrets) -> Finding:
    """Judge whether the gap to greedy grows faster, per song, in the first quarter of the run."""
    early = found.steps // 4
    pairs = []
    for place in PLACES:
        gap = found.curves(place, GREEDY) - found.curves(place, EXACT)
        later = (gap[:, -1] - gap[:, early - 1]) / (gap.shape[1] - early)
        pairs.append((place.label, later, gap[:, early - 1] / early))
    cells = _orders.orders(pairs)
    judged = _orders.TEXTS("judged")
    return TEXTS.finding("early", _orders.verdict(cells), early=early, cells=cells, judged=judged)


def _accuracy(found: RadioRegrets) -> Finding:
    """Judge whether regret under the approximate model is within 10 % of the exact model's."""
    intervals = {}
    for place in PLACES:
        ours, exact = (found.curves(place, name)[:, -1] for name in (VARIATIONAL, EXACT))
        low, high = paired_difference(ours, exact).interval()
        intervals[place.label] = (low / exact.mean(), high / exact.mean())
    verdict = verdict_on(is_inside(each, -_CLOSE, _CLOSE) for each in intervals.values())
    return TEXTS.finding("accuracy", verdict, steps=found.steps, intervals=intervals)


def _growth(found: RadioRegrets, steps: int) -> Finding:
    """Judge whether regret grows more slowly than the number of songs under Bayes-UCB."""
    curves = {name: found.regrets[LONG_PLACE.key, name] for name in LONG_ONES}
    slopes = {name: mean_estimate(second_half_slopes(each)) for name, each in curves.items()}
    ends = {name: float(each[:, -1].mean()) for name, each in curves.items()}
    return TEXTS.finding(
        "growth",
        _growth_verdict(slopes),
        slopes={look_of(name).label: (each.mean, each.interval()) for name, each in slopes.items()},
        steps=steps,
        world=LONG_PLACE.label,
        of_random=ends[EXACT] / ends[RANDOM],
        of_greedy=ends[EXACT] / ends[GREEDY],
    )


def _growth_verdict(slopes: Mapping[str, MeanEstimate]) -> Verdict:
    interval = slopes[EXACT].interval()
    near_one = (1 - _CONTROL_TOLERANCE, 1 + _CONTROL_TOLERANCE)
    control = slopes[RANDOM].interval()
    if control is None or interval is None or is_inside(control, *near_one) is False:
        return Verdict.OPEN
    if slopes[EXACT].mean <= _MAX_SLOPE and interval[1] < _MAX_SLOPE_BOUND:
        return Verdict.HOLDS
    if interval[1] < 1:
        return Verdict.PARTLY
    return Verdict.FAILS if interval[0] >= 1 else Verdict.OPEN


def _regret_rows(found: RadioRegrets) -> Iterator[tuple[Cell, ...]]:
    for place, name in product(PLACES, ALGORITHMS):
        curves = found.curves(place, name)
        slope = float(second_half_slopes(curves).mean())
        yield (place.label, look_of(name).label, *_orders.regret_cells(curves, found.looks), slope)


def _order_rows(found: RadioRegrets) -> Iterator[tuple[Cell, ...]]:
    for lower, upper in _ORDERS:
        for order in found.orders([(lower, upper)]):
            sides = f"{look_of(lower).label} − {look_of(upper).label}"
            difference = order.difference
            numbers = (difference.mean, *difference.interval(), difference.p_value, order.corrected)
            yield (sides, order.place, *numbers)


def _draw_regret(found: RadioRegrets, figure: Figure) -> None:
    for axes, place in zip(figure.subplots(2, 2).ravel(), PLACES, strict=True):
        curves = {name: found.curves(place, name) for name in ALGORITHMS}
        draw_regret(axes, curves, place.label)


STUDY: Final = Study(
    name="effectiveness",
    title="Effectiveness: which radio has the least regret?",
    jobs=lambda plan: tuple(jobs(plan)),
    chapter=chapter,
)
