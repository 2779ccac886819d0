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
from matplotlib.ticker import FuncFormatter

from bandstand._util.power_laws import second_half_slopes
from bandstand.types import frozen
from bandstand_lab.paper import ordering_tests as tests
from bandstand_lab.paper import variational_variants as variants
from bandstand_lab.paper.regret import draw_regret, regret_table
from bandstand_lab.paper.variational_variants import SUSPECTS, VARIANTS
from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Chapter, Drawing, Job, Table, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed
from bandstand_lab.simulation.trace import Trace
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Cell, Finding, Json, Plan
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


class Place(NamedTuple):
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


PLACES: Final = tuple(Place(scale, noise) for scale in ("entries", "norm") for noise in (1.0, 2.0))
LONG_PLACE: Final = PLACES[0]
QUIET_PLACE: Final = Place("entries", 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The size of the study; the full one is the paper's, with more listeners."""

    songs: int = 10_000
    features: int = 91
    steps: int = 200  # of every radio
    long_steps: int = 500  # of some, in the first world
    listeners: int = 20
    variant_steps: int = 50
    variant_listeners: int = 6

    @classmethod
    def of(cls, plan: Plan) -> Design:
        """Return the size that belongs to the plan."""
        small = {"songs": 1_000, "features": 20, "steps": 100, "long_steps": 200, "listeners": 5}
        return plan.pick(quick=cls(**small, variant_steps=25, variant_listeners=3), full=cls())

    @property
    def looks(self) -> tuple[int, int]:
        """The numbers of songs after which the orders are tested."""
        return self.steps // 2, self.steps

    def world(self, place: Place) -> dict[str, Json]:
        """Return the arguments of a GaussianWorld."""
        size = {"songs": self.songs, "features": self.features}
        return {**size, "scale": place.scale, "noise_standard_deviation": place.noise}


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield all jobs: listener by listener, so that a part of them already says something."""
    design = Design.of(plan)

    def job(place: Place, run: int, kind: str, algorithms: Sequence[str], steps: int) -> Job:
        where = {"world": design.world(place), "run": run, "seed": plan.seed}
        return Job(
            key=f"{place.key}-{run:02d}-{kind}",
            function="bandstand_lab.paper.effectiveness:play",
            arguments={**where, "algorithms": list(algorithms), "steps": steps},
        )

    for run in range(design.listeners):
        for place in PLACES:
            longer = LONG_ONES if place == LONG_PLACE else ()
            together = [name for name in QUICK_ONES if name not in longer]
            yield job(place, run, "main", together, design.steps)
            yield job(place, run, "variational", [VARIATIONAL], design.steps)
            if longer:
                yield job(place, run, "long", longer, design.long_steps)
        yield job(QUIET_PLACE, run, "quiet", QUIET_ONES, design.steps)
        if run < design.variant_listeners:
            for place in PLACES:
                for name in VARIANTS:
                    kind = name.partition("/")[2]
                    yield job(place, run, kind, [name], design.variant_steps)


def play(
    *, world: Mapping[str, Json], algorithms: Sequence[str], run: int, seed: int, steps: int
) -> dict[str, Json]:
    """Return the regret after each step, and the seconds of a step, for each algorithm.

    All radios of a run meet the same songs, listener and noise of the n-th answer.
    """
    traces = {
        name: trace_of(GaussianWorld(**world), name, run=run, seed=seed, steps=steps)
        for name in algorithms
    }
    return {
        name: {
            "regret": trace.regret.tolist(),
            "repeats": len(trace) - len(np.unique(trace.rows)),
            "choose_seconds": float(trace.choose_seconds.mean()),
            "learn_seconds": float(trace.learn_seconds.mean()),
        }
        for name, trace in traces.items()
    }


def trace_of(world: GaussianWorld, name: str, *, run: int, seed: int, steps: int) -> Trace:
    """Follow one radio for one listener; as `simulation.run_one`, also for variants."""
    meeting = world.meeting(run, seed)
    radio = variants.radio(meeting, name, seed=radio_seed(seed, run))
    played = follow(radio, meeting.listener, steps=steps, seed=seed, number=run)
    return Trace.of(name, run, played)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """Regret after each song: (listeners, steps) by the keys of world and radio."""

    design: Design
    regrets: Mapping[tuple[str, str], Matrix]

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> Outcome:
        """Return the results of the plan's jobs as matrices."""
        rows: dict[tuple[str, str], list[list[float]]] = {}
        for job in jobs(plan):
            world = job.arguments["world"]
            place = Place(world["scale"], world["noise_standard_deviation"]).key
            for name, result in results[job.key].items():
                rows.setdefault((place, name), []).append(result["regret"])
        found = {key: frozen(np.array(each)) for key, each in rows.items()}
        return cls(design=Design.of(plan), regrets=found)

    def curves(self, place: Place, name: str) -> Matrix:
        """Return the regret of a radio up to the common number of songs: (listeners, steps)."""
        return self.regrets[place.key, name][:, : self.design.steps]

    def cells(self, pairs: Sequence[tuple[str, str]]) -> tuple[tests.Cell, ...]:
        """Test each (lower, upper) in all worlds that both played in, as one family of tests."""
        found = []
        for lower, upper in pairs:
            sides = f"{look_of(lower).label} against {look_of(upper).label}, "
            quiet = (QUIET_PLACE,) if {lower, upper} <= set(QUIET_ONES) else ()
            for place, look in product((*PLACES, *quiet), self.design.looks):
                label = f"{sides if len(pairs) > 1 else ''}{place.label}, n = {look}"
                ends = [self.curves(place, name)[:, look - 1] for name in (lower, upper)]
                found.append(tests.Pair(place=label, lower=ends[0], upper=ends[1]))
        return tests.cells(found)

    def variant_end(self, place: Place, name: str) -> Vector:
        """Return the regrets of a radio for the listeners that variants met, at their end."""
        step, count = self.design.variant_steps, self.design.variant_listeners
        return self.regrets[place.key, name][:count, step - 1]

    def variant_cells(self, place: Place) -> dict[str, tests.Cell]:
        """Test each variant's regret against that of the unchanged radio, in one world."""
        base = self.variant_end(place, VARIATIONAL)
        ends = (self.variant_end(place, name) for name in VARIANTS)
        pairs = [tests.Pair(place=place.label, lower=each, upper=base) for each in ends]
        return dict(zip(VARIANTS, tests.cells(pairs), strict=True))

    def long_slopes(self) -> dict[str, MeanEstimate]:
        """Return the slope of the second half of the long runs, over listeners."""
        curves = {name: self.regrets[LONG_PLACE.key, name] for name in LONG_ONES}
        return {name: mean_estimate(second_half_slopes(each)) for name, each in curves.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Effectiveness:
    """The study of regret."""

    name: str = "effectiveness"
    title: str = "Effectiveness: which radio has the least regret?"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return the runs of all radios for all listeners in all worlds."""
        return tuple(jobs(plan))

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return the orders of regret with a verdict each."""
        outcome = Outcome.of(plan, results)
        size = asdict(outcome.design) | {"looks": outcome.design.looks}
        looks = outcome.design.looks
        regrets = [
            (place.label, look_of(name).label, outcome.curves(place, name))
            for place, name in product(PLACES, ALGORITHMS)
        ]
        return Chapter(
            introduction=TEXTS("introduction"),
            method=TEXTS("method", rule=tests.TEXTS("rule"), **size),
            findings=_findings(outcome),
            tables=(
                regret_table(TEXTS("tables.regret.title"), regrets, looks, slopes=True),
                _order_table(outcome),
                _variant_table(outcome),
            ),
            drawings=_drawings(outcome),
            data=_data(outcome),
        )


def _findings(outcome: Outcome) -> tuple[Finding, ...]:
    first, last = CLAIMS[:4], CLAIMS[4:]
    return (
        *(_order(outcome, *claim) for claim in first),
        _early_gap(outcome),
        _accuracy(outcome),
        *(_order(outcome, *claim) for claim in last),
        _growth(outcome),
    )


def _order(outcome: Outcome, name: str, pairs: Sequence[tuple[str, str]]) -> Finding:
    cells = outcome.cells(pairs)
    words = {"seen": tests.in_words(cells), "judged": tests.TEXTS("judged")}
    changes = _changes(outcome) if name == "variational" else ()
    return TEXTS.finding(name, tests.verdict(cells), **words, changes=changes)


def _changes(outcome: Outcome) -> list[tuple[str, float, float, int, int]]:
    """Return the range of the effects of each suspect over all worlds, and the significant ones."""
    found = []
    for suspect in SUSPECTS:
        cells = [
            cell
            for place in PLACES
            for name, cell in outcome.variant_cells(place).items()
            if VARIANTS[name].suspect == suspect
        ]
        effects = [cell.ratio - 1 for cell in cells]
        lower = sum(cell.confirmed for cell in cells)
        found.append((suspect, min(effects), max(effects), lower, len(cells)))
    return found


def _early_gap(outcome: Outcome) -> Finding:
    """Judge whether the gap to greedy grows faster, per song, in the first quarter of the run."""
    early = outcome.design.steps // 4
    pairs = []
    for place in PLACES:
        gap = outcome.curves(place, GREEDY) - outcome.curves(place, EXACT)
        later = (gap[:, -1] - gap[:, early - 1]) / (gap.shape[1] - early)
        pairs.append(tests.Pair(place=place.label, lower=later, upper=gap[:, early - 1] / early))
    cells = tests.cells(pairs)
    judged = tests.TEXTS("judged")
    return TEXTS.finding("early", tests.verdict(cells), early=early, cells=cells, judged=judged)


def _accuracy(outcome: Outcome) -> Finding:
    """Judge whether regret under the approximate model is within 10 % of the exact model's."""
    intervals = {}
    for place in PLACES:
        ours, exact = (outcome.curves(place, name)[:, -1] for name in (VARIATIONAL, EXACT))
        low, high = paired_difference(ours, exact).interval()
        intervals[place.label] = (low / exact.mean(), high / exact.mean())
    within = [max(-low, high) < _CLOSE for low, high in intervals.values()]
    beyond = [low > _CLOSE or high < -_CLOSE for low, high in intervals.values()]
    verdict = Verdict.FAILS if any(beyond) else Verdict.OPEN
    if any(within):
        verdict = Verdict.HOLDS if all(within) else Verdict.PARTLY
    return TEXTS.finding("accuracy", verdict, steps=outcome.design.steps, intervals=intervals)


def _growth(outcome: Outcome) -> Finding:
    """Judge whether regret grows more slowly than the number of songs under Bayes-UCB."""
    slopes = outcome.long_slopes()
    ends = {name: float(outcome.regrets[LONG_PLACE.key, name][:, -1].mean()) for name in LONG_ONES}
    return TEXTS.finding(
        "growth",
        _growth_verdict(slopes),
        slopes={look_of(name).label: (each.mean, each.interval()) for name, each in slopes.items()},
        steps=outcome.design.long_steps,
        world=LONG_PLACE.label,
        of_random=ends[EXACT] / ends[RANDOM],
        of_greedy=ends[EXACT] / ends[GREEDY],
    )


def _growth_verdict(slopes: Mapping[str, MeanEstimate]) -> Verdict:
    control, interval = slopes[RANDOM].interval(), slopes[EXACT].interval()
    if control is None or interval is None:
        return Verdict.OPEN
    if control[0] > 1 + _CONTROL_TOLERANCE or control[1] < 1 - _CONTROL_TOLERANCE:
        return Verdict.OPEN
    if slopes[EXACT].mean <= _MAX_SLOPE and interval[1] < _MAX_SLOPE_BOUND:
        return Verdict.HOLDS
    if interval[1] < 1:
        return Verdict.PARTLY
    return Verdict.FAILS if interval[0] >= 1 else Verdict.OPEN


def _order_table(outcome: Outcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for lower, upper in _ORDERS:
        for cell in outcome.cells([(lower, upper)]):
            difference = f"{look_of(lower).label} − {look_of(upper).label}"
            found = cell.difference
            numbers = (found.mean, *found.interval(), found.p_value, cell.corrected)
            rows.append((difference, cell.place, *numbers))
    return Table(
        title=TEXTS("tables.orders.title"),
        columns=("difference", "place", "mean", "95 % from", "to", "p", "p (Holm)"),
        rows=tuple(rows),
        note=TEXTS("tables.orders.note"),
    )


def _variant_table(outcome: Outcome) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for place in PLACES:
        for name in (VARIATIONAL, GREEDY):
            regret = float(outcome.variant_end(place, name).mean())
            rows.append((place.label, "–", look_of(name).label, regret, None, None))
        for name, cell in outcome.variant_cells(place).items():
            change = (VARIANTS[name].suspect, VARIANTS[name].label)
            numbers = (cell.lower_mean, 100 * (cell.ratio - 1), cell.corrected)
            rows.append((place.label, *change, *numbers))
    return Table(
        title=TEXTS("tables.variants.title"),
        columns=("world", "suspect", "change", "regret", "against unchanged, %", "p (Holm)"),
        rows=tuple(rows),
        note=TEXTS("tables.variants.note", **asdict(outcome.design)),
    )


def _drawings(outcome: Outcome) -> tuple[Drawing, ...]:
    size = asdict(outcome.design)
    shapes = {
        "regret": (_draw_regret, 11.0, 8.0),
        "against-greedy": (_draw_against_greedy, 9.5, 4.6),
        "growth": (_draw_growth, 7.5, 4.5),
    }
    return tuple(
        Drawing(
            name=name,
            caption=TEXTS(f"figures.{name}.caption", world=LONG_PLACE.label, **size),
            draw=partial(draw, outcome),
            width=width,
            height=height,
        )
        for name, (draw, width, height) in shapes.items()
    )


def _draw_regret(outcome: Outcome, figure: Figure) -> None:
    for axes, place in zip(figure.subplots(2, 2).ravel(), PLACES, strict=True):
        draw_regret(axes, {name: outcome.curves(place, name) for name in ALGORITHMS}, place.label)


def _draw_against_greedy(outcome: Outcome, figure: Figure) -> None:
    axes = figure.subplots()
    names = (MAP, THOMPSON, VARIATIONAL, EXACT)  # close enough for one scale
    for row, place in enumerate(PLACES):
        greedy = outcome.curves(place, GREEDY)[:, -1]
        for number, name in enumerate(names):
            look = look_of(name)
            found = paired_difference(outcome.curves(place, name)[:, -1], greedy)
            low, high = 100 * np.array(found.interval()) / greedy.mean()
            height = -row + 0.3 - 0.2 * number
            label = None if row else look.label
            axes.plot([low, high], [height, height], color=look.colour, linewidth=look.width)
            axes.plot((low + high) / 2, height, look.marker, color=look.colour, label=label)
    axes.axvline(0, color=figures.MUTED, linewidth=1)
    axes.set_yticks([-row for row in range(len(PLACES))], [place.label for place in PLACES])
    axes.set_xlabel(f"regret after {outcome.design.steps} songs, % more than Greedy-CN")
    axes.grid(axis="x")
    figure.legend(loc="outside upper left", ncols=len(names))


def _draw_growth(outcome: Outcome, figure: Figure) -> None:
    axes = figure.subplots()
    steps = np.arange(1.0, outcome.design.long_steps + 1)
    half, ends = len(steps) // 2, {}
    for name in figures.in_order(LONG_ONES):
        mean, look = mean_curve(outcome.regrets[LONG_PLACE.key, name]).mean, look_of(name)
        axes.plot(steps, mean, color=look.colour, linestyle=look.dashes, linewidth=1)
        axes.plot(steps[half:], mean[half:], color=look.colour, linewidth=3)
        ends[name] = float(mean[-1])
    axes.set(xscale="log", yscale="log", xlabel="songs played, n", ylabel="regret")
    axes.set_xlim(1, len(steps))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(figures.plain))
    axes.grid()
    figures.label_ends(axes, ends)


def _data(outcome: Outcome) -> dict[str, Json]:
    curves: dict[str, Json] = {}
    for place, name in product(PLACES, ALGORITHMS):
        regret = outcome.curves(place, name)
        curve = mean_curve(regret)
        error, looks = curve.standard_error, outcome.design.looks
        curves.setdefault(place.key, {})[name] = {
            "mean": curve.mean.tolist(),
            "standard_error": None if error is None else error.tolist(),
            "regret_of_each_listener": {str(n): regret[:, n - 1].tolist() for n in looks},
        }
    return {
        "worlds": {place.key: outcome.design.world(place) for place in PLACES},
        "listeners": outcome.design.listeners,
        "regret": curves,
        "orders": {
            f"{lower} below {upper}": [cell.as_json() for cell in outcome.cells([(lower, upper)])]
            for lower, upper in _ORDERS
        },
        "growth": {
            name: {"mean": slope.mean, "interval_95": slope.interval(), "listeners": slope.count}
            for name, slope in outcome.long_slopes().items()
        },
        "causes": {
            place.key: {name: cell.as_json() for name, cell in outcome.variant_cells(place).items()}
            for place in PLACES
        },
    }


STUDY: Final = Effectiveness()
