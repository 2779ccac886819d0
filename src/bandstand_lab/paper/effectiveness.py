"""Which radio has the least regret: the paper's Figure 7, at two scales and two noise levels.

The paper tells neither the scale of its features nor the noise of its listeners, so there are
four worlds: two scales with two levels of noise each. The ratings that an unheard song deserves
have a standard deviation of √p (9.5 for p = 91) at the scale "entries" and of 1 at "norm". A
fifth, quiet world has hardly any noise: there greedy and Bayes-UCB meet alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand._util.power_laws import second_half_slopes
from bandstand.types import frozen
from bandstand_lab.paper import _orders
from bandstand_lab.paper import variational_variants as variants
from bandstand_lab.paper.variational_variants import SUSPECTS, VARIANTS
from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Job, Study, Verdict, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.experiment import followed
from bandstand_lab.simulation.session import radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Cell, Chapter, Finding, Json, Plan
    from bandstand_lab.statistics.summaries import MeanEstimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "effectiveness.toml")
EXACT, GREEDY, RANDOM = "bayes-ucb-cn-x", "greedy-cn", "random"
VARIATIONAL: Final = variants.BASE
MAP, THOMPSON, LINEAR = "greedy-cn-map", "thompson-cn-x", ("linucb-c", "linucb-cn")
# Those that take about as long as each other make one job; the variational one takes longer.
QUICK_ONES: Final = (RANDOM, *LINEAR, GREEDY, MAP, THOMPSON, EXACT)
ALGORITHMS: Final = (*QUICK_ONES, VARIATIONAL)
LONG_ONES: Final = (RANDOM, GREEDY, EXACT)  # followed for longer, in the first world
QUIET_ONES: Final = (GREEDY, EXACT)
# The findings that are orders, and the orders of the table: (lower, upper).
CLAIMS: Final = (
    ("random", tuple((name, RANDOM) for name in ALGORITHMS if name != RANDOM)),
    ("linucb", tuple((GREEDY, name) for name in LINEAR)),
    ("exact", ((EXACT, GREEDY),)),
    ("variational", ((VARIATIONAL, GREEDY),)),
    ("map", ((EXACT, MAP),)),
    ("thompson", ((EXACT, THOMPSON),)),
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectivenessSize:
    """The size of the study; the full one is the paper's, with more listeners."""

    songs: int = 10_000
    features: int = 91
    steps: int = 200  # of every radio
    long_steps: int = 500  # of some, in the first world
    listeners: int = 20
    variant_steps: int = 50
    variant_listeners: int = 6

    @classmethod
    def of(cls, plan: Plan) -> EffectivenessSize:
        """Return the size that belongs to the plan."""
        small = {"songs": 1_000, "features": 20, "steps": 100, "long_steps": 200, "listeners": 5}
        return plan.pick(quick=cls(**small, variant_steps=25, variant_listeners=3), full=cls())

    @property
    def looks(self) -> tuple[int, int]:
        """The numbers of songs after which the orders are tested."""
        return self.steps // 2, self.steps

    def world(self, place: GaussianPlace) -> dict[str, Json]:
        """Return the arguments of a GaussianWorld."""
        size = {"songs": self.songs, "features": self.features}
        return {**size, "scale": place.scale, "noise_standard_deviation": place.noise}


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield all jobs: listener by listener, so that a part of them already says something."""
    size = EffectivenessSize.of(plan)

    def job(place: GaussianPlace, kind: str, algorithms: Sequence[str], steps: int) -> Job:
        which = {"algorithms": list(algorithms), "steps": steps, "run": run, "seed": plan.seed}
        return Job.of(play, f"{place.key}-{run:02d}-{kind}", world=size.world(place), **which)

    for run in range(size.listeners):
        for place in PLACES:
            longer = LONG_ONES if place == LONG_PLACE else ()
            together = [name for name in QUICK_ONES if name not in longer]
            yield job(place, "main", together, size.steps)
            yield job(place, "variational", [VARIATIONAL], size.steps)
            if longer:
                yield job(place, "long", longer, size.long_steps)
        yield job(QUIET_PLACE, "quiet", QUIET_ONES, size.steps)
        if run < size.variant_listeners:
            for place, name in product(PLACES, VARIANTS):
                yield job(place, name.partition("/")[2], [name], size.variant_steps)


def play(
    *, world: Mapping[str, Json], algorithms: Sequence[str], run: int, seed: int, steps: int
) -> dict[str, Json]:
    """Return the regret after each step, and the seconds of a step, for each algorithm; a job.

    All radios of a run meet the same songs, listener and noise of the n-th answer.
    """
    found = {}
    for name in algorithms:
        meeting = GaussianWorld(**world).meeting(run, seed)
        radio = variants.radio(meeting, name, seed=radio_seed(seed, run))
        trace = followed(radio, meeting.listener, name, run=run, seed=seed, steps=steps)
        found[name] = {
            "regret": trace.regret.tolist(),
            "repeats": len(trace) - len(np.unique(trace.rows)),
            "choose_seconds": float(trace.choose_seconds.mean()),
            "learn_seconds": float(trace.learn_seconds.mean()),
        }
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadioRegrets:
    """Regret after each song: (listeners, steps) by the keys of world and radio."""

    size: EffectivenessSize
    regrets: Mapping[tuple[str, str], Matrix]

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> RadioRegrets:
        """Return the results of the plan's jobs as matrices."""
        rows: dict[tuple[str, str], list[list[float]]] = {}
        for job in jobs(plan):
            world = job.arguments["world"]
            place = GaussianPlace(world["scale"], world["noise_standard_deviation"]).key
            for name, result in results[job.key].items():
                rows.setdefault((place, name), []).append(result["regret"])
        found = {key: frozen(np.array(each)) for key, each in rows.items()}
        return cls(size=EffectivenessSize.of(plan), regrets=found)

    def curves(self, place: GaussianPlace, name: str) -> Matrix:
        """Return the regret of a radio up to the common number of songs: (listeners, steps)."""
        return self.regrets[place.key, name][:, : self.size.steps]

    def orders(self, pairs: Sequence[tuple[str, str]]) -> tuple[_orders.Order, ...]:
        """Test each (lower, upper) in all worlds that both played in, as one family of tests."""
        found = []
        for lower, upper in pairs:
            sides = f"{look_of(lower).label} against {look_of(upper).label}, "
            quiet = (QUIET_PLACE,) if {lower, upper} <= set(QUIET_ONES) else ()
            for place, look in product((*PLACES, *quiet), self.size.looks):
                label = f"{sides if len(pairs) > 1 else ''}{place.label}, n = {look}"
                one, other = (self.curves(place, name)[:, look - 1] for name in (lower, upper))
                found.append((label, one, other))
        return _orders.orders(found)

    def variant_end(self, place: GaussianPlace, name: str) -> Vector:
        """Return the regrets of a radio for the listeners that variants met, at their end."""
        step, count = self.size.variant_steps, self.size.variant_listeners
        return self.regrets[place.key, name][:count, step - 1]

    def variant_orders(self, place: GaussianPlace) -> dict[str, _orders.Order]:
        """Test each variant's regret against that of the unchanged radio, in one world."""
        base = self.variant_end(place, VARIATIONAL)
        pairs = [(place.label, self.variant_end(place, name), base) for name in VARIANTS]
        return dict(zip(VARIANTS, _orders.orders(pairs), strict=True))

    def long_slopes(self) -> dict[str, MeanEstimate]:
        """Return the slope of the second half of the long runs, over listeners."""
        curves = {name: self.regrets[LONG_PLACE.key, name] for name in LONG_ONES}
        return {name: mean_estimate(second_half_slopes(each)) for name, each in curves.items()}


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the orders of regret with a verdict each."""
    found = RadioRegrets.of(plan, results)
    size = asdict(found.size) | {"looks": found.size.looks, "world": LONG_PLACE.label}
    regrets = (
        (place.label, look_of(name).label, found.curves(place, name))
        for place, name in product(PLACES, ALGORITHMS)
    )
    shapes = {
        "regret": (_draw_regret, (11.0, 8.0)),
        "against-greedy": (_draw_against_greedy, (9.5, 4.6)),
        "growth": (_draw_growth, (7.5, 4.5)),
    }
    return TEXTS.chapter(
        method={"rule": _orders.TEXTS("rule"), **size},
        findings=(
            *(_order(found, *claim) for claim in CLAIMS[:4]),
            _early_gap(found),
            _accuracy(found),
            *(_order(found, *claim) for claim in CLAIMS[4:]),
            _growth(found),
        ),
        tables=(
            TEXTS.table(
                "regret",
                (
                    (*names, *_orders.regret_cells(each, size["looks"]), _orders.mean_slope(each))
                    for *names, each in regrets
                ),
                **size,
            ),
            TEXTS.table("orders", _order_rows(found)),
            TEXTS.table("variants", _variant_rows(found), **size),
        ),
        drawings=tuple(
            TEXTS.drawing(name, partial(draw, found), inches=inches, **size)
            for name, (draw, inches) in shapes.items()
        ),
        data=_data(found),
    )


def _order(found: RadioRegrets, name: str, pairs: Sequence[tuple[str, str]]) -> Finding:
    tested = found.orders(pairs)
    words = {"seen": _orders.in_words(tested), "judged": _orders.TEXTS("judged")}
    changes = _changes(found) if name == "variational" else ()
    return TEXTS.finding(name, _orders.verdict(tested), **words, changes=changes)


def _changes(found: RadioRegrets) -> list[tuple[str, float, float, int, int]]:
    """Return the range of the effects of each suspect over all worlds, and the significant ones."""
    changes = []
    for suspect in SUSPECTS:
        tested = [
            order
            for place in PLACES
            for name, order in found.variant_orders(place).items()
            if VARIANTS[name].suspect == suspect
        ]
        effects = [order.ratio - 1 for order in tested]
        lower = [order.answer for order in tested].count(True)
        changes.append((suspect, min(effects), max(effects), lower, len(tested)))
    return changes


def _early_gap(found: RadioRegrets) -> Finding:
    """Judge whether the gap to greedy grows faster, per song, in the first quarter of the run."""
    early = found.size.steps // 4
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
    return TEXTS.finding("accuracy", verdict, steps=found.size.steps, intervals=intervals)


def _growth(found: RadioRegrets) -> Finding:
    """Judge whether regret grows more slowly than the number of songs under Bayes-UCB."""
    slopes = found.long_slopes()
    ends = {name: float(found.regrets[LONG_PLACE.key, name][:, -1].mean()) for name in LONG_ONES}
    return TEXTS.finding(
        "growth",
        _growth_verdict(slopes),
        slopes={look_of(name).label: (each.mean, each.interval()) for name, each in slopes.items()},
        steps=found.size.long_steps,
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


def _order_rows(found: RadioRegrets) -> Iterator[tuple[Cell, ...]]:
    for lower, upper in _ORDERS:
        for order in found.orders([(lower, upper)]):
            sides = f"{look_of(lower).label} − {look_of(upper).label}"
            difference = order.difference
            numbers = (difference.mean, *difference.interval(), difference.p_value, order.corrected)
            yield (sides, order.place, *numbers)


def _variant_rows(found: RadioRegrets) -> Iterator[tuple[Cell, ...]]:
    for place in PLACES:
        for name in (VARIATIONAL, GREEDY):
            regret = float(found.variant_end(place, name).mean())
            yield (place.label, "–", look_of(name).label, regret, None, None)
        for name, order in found.variant_orders(place).items():
            change = (VARIANTS[name].suspect, VARIANTS[name].label)
            numbers = (order.lower_mean, 100 * (order.ratio - 1), order.corrected)
            yield (place.label, *change, *numbers)


def _draw_regret(found: RadioRegrets, figure: Figure) -> None:
    for axes, place in zip(figure.subplots(2, 2).ravel(), PLACES, strict=True):
        curves = {name: found.curves(place, name) for name in ALGORITHMS}
        _orders.draw_regret(axes, curves, place.label)


def _draw_against_greedy(found: RadioRegrets, figure: Figure) -> None:
    axes = figure.subplots()
    names = (MAP, THOMPSON, VARIATIONAL, EXACT)  # close enough for one scale
    for row, place in enumerate(PLACES):
        greedy = found.curves(place, GREEDY)[:, -1]
        for number, name in enumerate(names):
            look = look_of(name)
            apart = paired_difference(found.curves(place, name)[:, -1], greedy)
            low, high = 100 * np.array(apart.interval()) / greedy.mean()
            height = -row + 0.3 - 0.2 * number
            label = None if row else look.label
            axes.plot([low, high], [height, height], color=look.colour, linewidth=look.width)
            axes.plot((low + high) / 2, height, look.marker, color=look.colour, label=label)
    axes.axvline(0, color=figures.MUTED, linewidth=1)
    axes.set_yticks([-row for row in range(len(PLACES))], [place.label for place in PLACES])
    axes.set_xlabel(f"regret after {found.size.steps} songs, % more than Greedy-CN")
    axes.grid(axis="x")
    figure.legend(loc="outside upper left", ncols=len(names))


def _draw_growth(found: RadioRegrets, figure: Figure) -> None:
    axes = figure.subplots()
    steps = np.arange(1.0, found.size.long_steps + 1)
    half, ends = len(steps) // 2, {}
    for name in figures.in_order(LONG_ONES):
        mean, look = mean_curve(found.regrets[LONG_PLACE.key, name]).mean, look_of(name)
        axes.plot(steps, mean, color=look.colour, linestyle=look.dashes, linewidth=1)
        axes.plot(steps[half:], mean[half:], color=look.colour, linewidth=3)
        ends[name] = float(mean[-1])
    axes.set(xscale="log", yscale="log", xlabel="songs played, n", ylabel="regret")
    axes.set_xlim(1, len(steps))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(figures.plain)
    axes.grid()
    figures.label_ends(axes, ends)


def _data(found: RadioRegrets) -> dict[str, Json]:
    curves: dict[str, Json] = {}
    for place, name in product(PLACES, ALGORITHMS):
        regret = found.curves(place, name)
        curve = mean_curve(regret)
        error, looks = curve.standard_error, found.size.looks
        curves.setdefault(place.key, {})[name] = {
            "mean": curve.mean.tolist(),
            "standard_error": None if error is None else error.tolist(),
            "regret_of_each_listener": {str(n): regret[:, n - 1].tolist() for n in looks},
        }
    return {
        "worlds": {place.key: found.size.world(place) for place in PLACES},
        "listeners": found.size.listeners,
        "regret": curves,
        "orders": {
            f"{lower} below {upper}": [order.as_json() for order in found.orders([(lower, upper)])]
            for lower, upper in _ORDERS
        },
        "growth": {
            name: {"mean": slope.mean, "interval_95": slope.interval(), "listeners": slope.count}
            for name, slope in found.long_slopes().items()
        },
        "causes": {
            place.key: {
                name: order.as_json() for name, order in found.variant_orders(place).items()
            }
            for place in PLACES
        },
    }


STUDY: Final = Study(
    name="effectiveness",
    title="Effectiveness: which radio has the least regret?",
    jobs=lambda plan: tuple(jobs(plan)),
    chapter=chapter,
)
