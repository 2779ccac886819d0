"""Repetition of songs (Figure 12), longer and against real histories."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.power_laws import plays_by_rank, zipf
from bandstand_lab.paper import _orders
from bandstand_lab.paper.repetition_runs import EXACT, KNOWN, OTHERS, PAPER, PRODUCT, WEEKS, jobs
from bandstand_lab.report.figures import TRUTH, Look, in_order, look_of, plain
from bandstand_lab.report.study import Study, Verdict, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.concentration import profile_distance
from bandstand_lab.statistics.rank_laws import Ranking, Shape, compare_laws
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.types import Vector
    from bandstand_lab.report.study import Cell, Chapter, Drawing, Finding, Json, Plan, Table
    from bandstand_lab.statistics.summaries import MeanEstimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "repetition.toml")
_SAMPLED: Final = "bayes-ucb-cn"
_MAX_COLUMNS: Final = 5  # panels beside each other
_IS_ZIPF: Final = {Shape.ZIPF: True, Shape.OTHER: False, Shape.OPEN: None}
_LINE: Final = {"songs": 0, "repeat_share": 3, "slope": 2, "r_squared": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMeasures:
    """How songs come back in one sequence of plays."""

    plays_by_rank: Vector
    slope: float | None  # of the line through log plays over log rank
    r_squared: float | None
    laws: Ranking

    @property
    def shape(self) -> Shape:
        """Whether the plays are nearest to Zipf's law."""
        return self.laws.shape

    @property
    def songs(self) -> int:
        """The number of different songs."""
        return len(self.plays_by_rank)

    @property
    def repeat_share(self) -> float:
        """The share of plays of songs that were played before."""
        return self.laws.repeat_share

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain numbers; a value without bound is None."""
        against = self.laws.against_exponential
        return {
            "plays_by_rank": self.plays_by_rank.astype(int).tolist(),
            "songs": self.songs,
            "repeat_share": self.repeat_share,
            "slope": self.slope,
            "r_squared": self.r_squared,
            "zipf_exponent": self.laws.zipf.parameter,
            "zipf_against_exponential_z": against if math.isfinite(against) else None,
            "zipf_against_equal_log_likelihood": self.laws.against_equal,
            "likeliest_law": self.laws.likeliest,
            "shape": str(self.shape),
        }


def measured(plays_by_rank: Vector, *, library: int) -> SequenceMeasures:
    """Return the measures of plays in a library of `library` songs."""
    line = zipf(plays_by_rank)
    return SequenceMeasures(
        plays_by_rank=plays_by_rank,
        slope=None if line is None else -line.exponent,
        r_squared=None if line is None else line.r_squared,
        laws=compare_laws(plays_by_rank, library=library),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The plays of one algorithm for each of its listeners, in the order of their numbers."""

    algorithm: str
    runs: tuple[SequenceMeasures, ...]
    # To the people of each source, one for each listener.
    distances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def mean(self, name: str) -> MeanEstimate | None:
        """Return the mean of one measure over the listeners; None where it does not exist."""
        values = [getattr(run, name) for run in self.runs]
        return None if None in values else mean_estimate(values)

    @property
    def shapes(self) -> Counter[Shape]:
        """The number of listeners by the shape of their plays."""
        return Counter(run.shape for run in self.runs)

    @property
    def shape(self) -> Shape:
        """The shape that more than half of the listeners' plays have; open if there is none."""
        most, count = self.shapes.most_common(1)[0]
        return most if 2 * count > len(self.runs) else Shape.OPEN

    @property
    def usual_law(self) -> str:
        """The law that is likeliest for most listeners."""
        laws = [run.laws.likeliest for run in self.runs]
        return max(sorted(set(laws)), key=laws.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPlays:
    """A person's plays in stretches of equal length: in each the plays by rank."""

    source: str  # the name of the file
    songs: int  # different ones in the whole history
    stretches: tuple[Vector, ...]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> PersonPlays:
        """Return the person that a job has kept."""
        parts = tuple(np.asarray(each, dtype=np.float64) for each in document["stretches"])
        return cls(source=document["source"], songs=document["songs"], stretches=parts)


def by_source(people: Sequence[PersonPlays]) -> dict[str, list[PersonPlays]]:
    """Return the people of each source, in the order of the sources."""
    return {
        source: [person for person in people if person.source == source]
        for source in dict.fromkeys(person.source for person in people)
    }


def distance_to_people(plays_by_rank: Vector, people: Sequence[PersonPlays]) -> float:
    """Return the mean over people of the mean distance to their stretches."""
    return float(
        np.mean(
            [
                np.mean([profile_distance(plays_by_rank, part) for part in person.stretches])
                for person in people
            ]
        )
    )


def between_people(people: Sequence[PersonPlays]) -> list[float]:
    """Return the mean distance of each person to all others: what differs among people anyway."""
    if len(people) < 2:
        return []
    return [
        float(np.mean([distance_to_people(part, others) for part in person.stretches]))
        for place, person in enumerate(people)
        for others in [[*people[:place], *people[place + 1 :]]]
    ]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the shape of the plays, and their distance to people."""
    kept = results.get("people", {"people": [], "shorter": 0})
    people = tuple(PersonPlays.from_json(each) for each in kept["people"])
    weeks = {name: _weeks(plan, results, name, people) for name in WEEKS.algorithms}
    pooled = {name: _pooled(plan, results, name) for name in PAPER.algorithms}
    size = _size(plan) | {"people": len(people), "shorter": kept["shorter"]}
    where, paper = TEXTS("weeks", **size), TEXTS("paper", **size)
    shapes = {"people": _shapes(people), "people_in_twice": _shapes(people, times=2)}
    between = {source: between_people(some) for source, some in by_source(people).items()}
    return TEXTS.chapter(
        method={"rule": TEXTS("rule"), **size},
        findings=(
            product_finding(weeks, where, **shapes),
            others_finding(weeks, where),
            *distance_findings(weeks, between),
            product_finding(pooled, paper),
            others_finding(pooled, paper),
        ),
        tables=(
            _table("algorithms", weeks, size),
            *_distances_table(weeks, between),
            _table("pooled", pooled, size),
        ),
        drawings=(
            rank_frequency(weeks, people),
            rank_frequency(pooled, (), name="repetition-paper-length"),
        ),
    )


def _weeks(
    plan: Plan, results: Mapping[str, Json], name: str, people: Sequence[PersonPlays]
) -> Played:
    """Return the measures of plays over weeks, and their distances to the people."""
    counts = [plays_by_rank(rows) for rows in WEEKS.rows(results, plan, name)]
    return Played(
        algorithm=name,
        runs=tuple(measured(each, library=WEEKS.songs) for each in counts),
        distances={
            source: tuple(distance_to_people(each, some) for each in counts)
            for source, some in by_source(people).items()
        },
    )


def _pooled(plan: Plan, results: Mapping[str, Json], name: str) -> Played:
    """Return the plays of the paper's length, the songs of all listeners in one list."""
    counts = [plays_by_rank(rows) for rows in PAPER.rows(results, plan, name)]
    together = np.sort(np.concatenate(counts))[::-1]
    return Played(algorithm=name, runs=(measured(together, library=PAPER.songs * len(counts)),))


def _shapes(people: Sequence[PersonPlays], times: int = 1) -> list[Shape]:
    """Return the shape of each stretch in a library of `times` a person's songs."""
    return [
        measured(part, library=times * person.songs).shape
        for person in people
        for part in person.stretches
    ]


def _size(plan: Plan) -> dict[str, Any]:
    """Return the numbers of the method."""
    (plays, listeners), (paper_plays, paper_listeners) = WEEKS.size(plan), PAPER.size(plan)
    return {
        "plays": plays,
        "songs": WEEKS.songs,
        "days": WEEKS.days(plays),
        "listeners": listeners,
        "paper_plays": paper_plays,
        "paper_songs": PAPER.songs,
        "paper_listeners": paper_listeners,
    }


def product_finding(
    results: Mapping[str, Played],
    where: str,
    *,
    people: Sequence[Shape] = (),
    people_in_twice: Sequence[Shape] = (),
) -> Finding:
    """Judge: algorithms with Uc · Un reproduce Zipf's law.

    `people` are the shapes of real people's stretches, with the songs of the whole history as
    their library; `people_in_twice` the same with twice as many.
    """
    # People may have met the sampled algorithm itself.
    names = [_SAMPLED if name == EXACT and _SAMPLED in results else name for name in PRODUCT]
    shown = [results[name] for name in names if name in results]
    return TEXTS.finding(
        "product",
        verdict_on(_IS_ZIPF[each.shape] for each in shown),
        where=where,
        shown=_shown(shown),
        rule=TEXTS("rule"),
        people=_counted(people),
        people_in_twice=_counted(people_in_twice),
    )


def others_finding(results: Mapping[str, Played], where: str) -> Finding:
    """Judge: random and both LinUCB do not reproduce it."""
    shown = [results[name] for name in OTHERS if name in results]
    is_zipf = [_IS_ZIPF[each.shape] for each in shown]
    verdict = verdict_on(None if each is None else not each for each in is_zipf)
    return TEXTS.finding("others", verdict, where=where, shown=_shown(shown))


def _shown(results: Sequence[Played]) -> list[tuple[str, dict[str, int], str, str]]:
    """Return name, number of listeners by shape, slope and R² of each algorithm."""
    return [
        (_look(each.algorithm).label, _counted([run.shape for run in each.runs]), *_slope(each))
        for each in results
    ]


def _slope(played: Played) -> tuple[str, str]:
    """Return slope and R² of the line in words; both are a dash where there is no line."""
    found = (played.mean("slope"), played.mean("r_squared"))
    slope, fit = ("–" if each is None else f"{each.mean:.2f}" for each in found)
    return slope.replace("-", "−"), fit


def _counted(shapes: Sequence[Shape]) -> dict[str, int]:
    named = {"zipf": Shape.ZIPF, "other": Shape.OTHER, "open": Shape.OPEN}
    counts = {name: sum(shape is each for shape in shapes) for name, each in named.items()}
    return {**counts, "all": len(shapes)}


def distance_findings(
    results: Mapping[str, Played], between: Mapping[str, Sequence[float]]
) -> tuple[Finding, ...]:
    """Judge for each source: the product algorithms come closer to people."""
    if not between:
        return (TEXTS.finding("no_people", Verdict.OPEN),)
    return tuple(_distance_finding(results, *each) for each in between.items())


def _distance_finding(
    results: Mapping[str, Played], source: str, between: Sequence[float]
) -> Finding:
    far = {name: np.array(results[name].distances[source]) for name in (*OTHERS, *PRODUCT)}
    tested = _orders.orders(
        (f"{name} and {other}", far[name], far[other]) for name in PRODUCT for other in OTHERS
    )
    answers = [order.answer for order in tested]
    return TEXTS.finding(
        "distance",
        verdict_on(answers),
        source=source,
        means={_look(name).label: float(each.mean()) for name, each in far.items()},
        between=mean_estimate(between).mean if between else None,
        comparisons=len(answers),
        nearer=answers.count(True),
        farther=answers.count(False),
    )


def _look(name: str) -> Look:
    return Look(label="Taste known", colour=TRUTH) if name == KNOWN else look_of(name)


def _table(name: str, results: Mapping[str, Played], size: Mapping[str, Any]) -> Table:
    rows = ((_look(each).label, *_row(results[each])) for each in in_order(results))
    return TEXTS.table(name, rows, measures=TEXTS("measures"), **size)


def _row(played: Played) -> tuple[Cell, ...]:
    exponents = [run.laws.zipf.parameter for run in played.runs]
    return (
        len(played.runs),
        *(_rounded(played.mean(name), digits) for name, digits in _LINE.items()),
        max(int(run.plays_by_rank[0]) for run in played.runs),
        round(float(np.mean(exponents)), 2),
        played.shapes[Shape.ZIPF],
        played.shapes[Shape.OTHER],
        played.usual_law,
    )


def _rounded(estimate: MeanEstimate | None, digits: int) -> Cell:
    return None if estimate is None else round(estimate.mean, digits or None)


def _distances_table(
    results: Mapping[str, Played], between: Mapping[str, Sequence[float]]
) -> tuple[Table, ...]:
    """Return the distances of each algorithm to the people of each source; or nothing."""
    if not between:
        return ()
    far = {_look(name).label: results[name].distances for name in in_order(results)}
    rows = [
        (name, *(mean_estimate(one[source]).shown() if one[source] else None for source in between))
        for name, one in {**far, "people from each other": between}.items()
    ]
    sources = [source.replace("|", "¦") for source in between]
    return (TEXTS.table("distances", rows, sources=sources),)


def rank_frequency(
    results: Mapping[str, Played],
    people: Sequence[PersonPlays],
    *,
    name: str = "repetition-rank-frequency",
) -> Drawing:
    """Return plays over rank, a panel for each algorithm, with people behind."""
    shown = [results[each] for each in in_order(results)]
    shape = (12.0, 0.6 + 2.7 * -(-len(shown) // _MAX_COLUMNS))
    return TEXTS.drawing(name, lambda figure: _panels(figure, shown, people), inches=shape)


def _panels(figure: Figure, results: Sequence[Played], people: Sequence[PersonPlays]) -> None:
    rows = -(-len(results) // _MAX_COLUMNS)
    columns = -(-len(results) // rows)  # as many in each row, as far as possible
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, each in zip(grid.flat, results, strict=False):
        look = _look(each.algorithm)
        for person in people:
            _draw(axes, person.stretches[0], "#c9cdd5", 0.7)
        for run in each.runs:
            _draw(axes, run.plays_by_rank, look.colour, min(look.width, 1.4))
        axes.set(xscale="log", yscale="log", xlabel="rank of the song", ylabel="plays")
        axes.xaxis.set_major_formatter(plain)
        axes.yaxis.set_major_formatter(plain)
        axes.minorticks_off()
        axes.tick_params(labelbottom=True)
        axes.grid()
        slope, fit = _slope(each)
        count = f"Zipf for {each.shapes[Shape.ZIPF]} of {len(each.runs)}"
        axes.set_title(f"{look.label}\nslope {slope}, R² {fit}\n{count}", fontsize=9)
    for axes in list(grid.flat)[len(results) :]:
        axes.set_visible(False)


def _draw(axes: Axes, plays_by_rank: Vector, colour: str, width: float) -> None:
    ranks = np.arange(1, len(plays_by_rank) + 1)
    axes.plot(ranks, plays_by_rank, color=colour, linewidth=width, alpha=0.9)


STUDY: Final = Study(
    name="repetition",
    title="How songs come back: repetition and Zipf's law",
    jobs=lambda plan: tuple(jobs(plan)),
    chapter=chapter,
)
