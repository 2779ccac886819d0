"""How songs come back: the paper's Figure 12, longer and against real histories."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from bandstand._util.power_laws import plays_by_rank, zipf
from bandstand_lab.paper import _orders
from bandstand_lab.paper.repetition_runs import (
    DRAWS,
    EXACT,
    KNOWN,
    LEARN_EACH,
    LEARN_EVERY,
    OTHERS,
    PAPER,
    PIECE,
    PRODUCT,
    SAMPLED,
    WEEKS,
    algorithms,
    jobs,
    listeners,
    plays,
    rows_of,
)
from bandstand_lab.report.figures import TRUTH, Look, in_order, look_of, plain
from bandstand_lab.report.study import Study, Verdict, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.concentration import effective_songs, profile_distance
from bandstand_lab.statistics.rank_laws import Ranking, Shape, compare_laws
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bandstand.types import Vector
    from bandstand_lab.paper.repetition_runs import Setting
    from bandstand_lab.report.study import Cell, Chapter, Drawing, Finding, Json, Plan, Table
    from bandstand_lab.statistics.summaries import MeanEstimate

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "repetition.toml")
_MAX_PEOPLE: Final = 12  # rows of the table of people
_MAX_COLUMNS: Final = 5  # panels beside each other
_LINE: Final = {"songs": 0, "repeat_share": 3, "slope": 2, "r_squared": 3, "curvature": 2}

Cut: TypeAlias = Literal["stretches", "in_library"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceMeasures:
    """How songs come back in one sequence of plays."""

    plays_by_rank: Vector
    slope: float | None  # of the line through log plays over log rank
    r_squared: float | None
    curvature: float | None  # of (log rank)²: 0 on a line, negative where it bends down
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
            "effective_songs": effective_songs(self.plays_by_rank),
            "slope": self.slope,
            "r_squared": self.r_squared,
            "curvature": self.curvature,
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
        curvature=None if line is None else curvature(plays_by_rank),
        laws=compare_laws(plays_by_rank, library=library),
    )


def curvature(plays_by_rank: Vector) -> float:
    """Return how log plays bend over log rank: the coefficient of (log rank)².

    >>> abs(curvature(60 / np.arange(1.0, 31.0))) < 1e-9
    True
    """
    across = np.log(np.arange(1.0, len(plays_by_rank) + 1))
    return float(np.polyfit(across - across.mean(), np.log(plays_by_rank), 2)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The plays of one algorithm for each of its listeners, in the order of their numbers."""

    algorithm: str
    runs: tuple[SequenceMeasures, ...]
    # To the people of each source, one for each listener; the second within as many songs.
    distances: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    distances_in_library: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def mean(self, name: str) -> MeanEstimate | None:
        """Return the mean of one measure over the listeners; None where it does not exist."""
        values = [getattr(run, name) for run in self.runs]
        return None if None in values else mean_estimate(values)

    @property
    def exponent(self) -> MeanEstimate:
        """The exponent of Zipf's law under which the plays are likeliest."""
        return mean_estimate([run.laws.zipf.parameter for run in self.runs])

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

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain numbers."""
        return {
            "listeners": [run.as_json() for run in self.runs],
            "shape": str(self.shape),
            "distances_to_people": dict(self.distances),
            "distances_to_people_in_library": dict(self.distances_in_library),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonPlays:
    """A person's plays in stretches of equal length: in each the plays by rank."""

    source: str  # the name of the file
    name: str
    plays: int  # in the whole history
    songs: int  # different ones in the whole history
    stretches: tuple[Vector, ...]
    in_library: tuple[Vector, ...]  # the same within the most played songs

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> PersonPlays:
        """Return the person that a job has kept."""
        cuts = {
            cut: tuple(np.asarray(each, dtype=np.float64) for each in document[cut])
            for cut in ("stretches", "in_library")
        }
        return cls(**{**document, **cuts})

    def as_json(self) -> dict[str, Any]:
        """Return the plays within all songs."""
        kept = {name: getattr(self, name) for name in ("source", "name", "plays", "songs")}
        return {**kept, "stretches": [part.astype(int).tolist() for part in self.stretches]}


def by_source(people: Sequence[PersonPlays]) -> dict[str, list[PersonPlays]]:
    """Return the people of each source, in the order of the sources."""
    return {
        source: [person for person in people if person.source == source]
        for source in dict.fromkeys(person.source for person in people)
    }


def distance_to_people(
    plays_by_rank: Vector, people: Sequence[PersonPlays], cut: Cut = "stretches"
) -> float | None:
    """Return the mean over people of the mean distance to their stretches; None without any."""
    cuts: list[tuple[Vector, ...]] = [getattr(person, cut) for person in people]
    means = [
        np.mean([profile_distance(plays_by_rank, one) for one in some]) for some in cuts if some
    ]
    return float(np.mean(means)) if means else None


def between_people(people: Sequence[PersonPlays]) -> list[float]:
    """Return the mean distance of each person to all others: what differs among people anyway."""
    if len(people) < 2:
        return []
    return [
        float(np.mean([distance_to_people(part, others) or 0.0 for part in person.stretches]))
        for place, person in enumerate(people)
        for others in [[*people[:place], *people[place + 1 :]]]
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetitions:
    """The results of all jobs."""

    weeks: Mapping[str, Played]
    pooled: Mapping[str, Played]  # as the paper plots it: the songs of all listeners in one list
    by_recovery_time: Mapping[float, Played]  # of one known taste
    people: tuple[PersonPlays, ...]
    shorter: int  # people whose history is too short

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> Repetitions:
        """Return the results as measures."""
        kept = results.get("people", {"people": [], "shorter": 0})
        people = tuple(PersonPlays.from_json(each) for each in kept["people"])
        runs = dict.fromkeys(algorithms(plan, WEEKS), listeners(plan, WEEKS))
        if rows_of(results, WEEKS, SAMPLED, 0):
            runs[SAMPLED] = 1
        weeks = {name: _counts(results, WEEKS, name, count) for name, count in runs.items()}
        sweep = {
            each["minutes"]: [np.asarray(each["plays_by_rank"], dtype=np.float64)]
            for each in results["recovery-times"]
        }
        return cls(
            weeks={name: _measured(name, each, people) for name, each in weeks.items()},
            pooled={name: _pooled(plan, results, name) for name in algorithms(plan, PAPER)},
            by_recovery_time={
                minutes: _measured(f"{KNOWN}, s = {minutes / 60:,.0f} hours", each, people)
                for minutes, each in sweep.items()
            },
            people=people,
            shorter=kept["shorter"],
        )

    @property
    def between(self) -> dict[str, list[float]]:
        """The distances of the people of each source from each other."""
        return {source: between_people(some) for source, some in by_source(self.people).items()}

    def people_shapes(self, times: int = 1) -> list[Shape]:
        """Return the shape of each stretch in a library of `times` a person's songs."""
        return [
            measured(part, library=times * person.songs).shape
            for person in self.people
            for part in person.stretches
        ]

    def as_json(self) -> dict[str, Any]:
        """Return all numbers behind the chapter."""
        return {
            "weeks": {name: each.as_json() for name, each in self.weeks.items()},
            "paper_length_pooled": {name: each.as_json() for name, each in self.pooled.items()},
            "recovery_times": [
                {"minutes": minutes, **each.runs[0].as_json()}
                for minutes, each in self.by_recovery_time.items()
            ],
            "people": [person.as_json() for person in self.people],
            "distance_between_people": self.between,
        }


def _counts(results: Mapping[str, Json], setting: Setting, name: str, runs: int) -> list[Vector]:
    return [plays_by_rank(rows_of(results, setting, name, run)) for run in range(runs)]


def _measured(name: str, counts: Sequence[Vector], people: Sequence[PersonPlays]) -> Played:
    """Return the measures of plays over weeks, and their distances to the people."""
    far: dict[Cut, dict[str, tuple[float, ...]]] = {"stretches": {}, "in_library": {}}
    for cut, found in far.items():
        for source, some in by_source(people).items():
            distances = [distance_to_people(each, some, cut) for each in counts]
            found[source] = tuple(distance for distance in distances if distance is not None)
    return Played(
        algorithm=name,
        runs=tuple(measured(each, library=WEEKS.songs) for each in counts),
        distances=far["stretches"],
        distances_in_library=far["in_library"],
    )


def _pooled(plan: Plan, results: Mapping[str, Json], name: str) -> Played:
    """Return the plays of the paper's length, the songs of all listeners in one list."""
    runs = listeners(plan, PAPER)
    together = np.sort(np.concatenate(_counts(results, PAPER, name, runs)))[::-1]
    return Played(algorithm=name, runs=(measured(together, library=PAPER.songs * runs),))


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the shape of the plays, and their distance to people."""
    found = Repetitions.of(plan, results)
    size = _size(plan, found)
    weeks, paper = TEXTS("weeks", **size), TEXTS("paper", **size)
    people = {"people": found.people_shapes(), "people_in_twice": found.people_shapes(times=2)}
    sweep = {each.algorithm: each for each in found.by_recovery_time.values()}
    return TEXTS.chapter(
        method={"rule": TEXTS("rule"), **size},
        findings=(
            product_finding(found.weeks, weeks, **people),
            others_finding(found.weeks, weeks),
            *distance_findings(found.weeks, found.between, _songs_of_people(found.people)),
            product_finding(found.pooled, paper),
            others_finding(found.pooled, paper),
        ),
        tables=(
            _table("algorithms", found.weeks, size),
            *_distances_table({**found.weeks, **sweep}, found.between),
            *_people_table(found.people, size),
            _table("recovery", sweep, size),
            _table("pooled", found.pooled, size),
        ),
        drawings=(
            rank_frequency(found.weeks, found.people),
            rank_frequency(sweep, found.people, name="repetition-recovery-times"),
            rank_frequency(found.pooled, (), name="repetition-paper-length"),
        ),
        data=found.as_json(),
    )


def _size(plan: Plan, found: Repetitions) -> dict[str, Any]:
    """Return the numbers of the method."""
    count = plays(plan, WEEKS)
    return {
        "plays": count,
        "songs": WEEKS.songs,
        "days": WEEKS.days(count),
        "listeners": listeners(plan, WEEKS),
        "paper_plays": plays(plan, PAPER),
        "paper_songs": PAPER.songs,
        "paper_listeners": listeners(plan, PAPER),
        "sampled": SAMPLED in found.weeks,
        "draws": DRAWS,
        "each": LEARN_EACH,
        "every": LEARN_EVERY,
        "piece": PIECE,
        "people": len(found.people),
        "shorter": found.shorter,
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
    shown = [results[name] for name in stand_ins(PRODUCT, results)]
    return TEXTS.finding(
        "product",
        _verdict([each.shape for each in shown], Shape.ZIPF, Shape.OTHER),
        where=where,
        shown=_shown(shown),
        rule=TEXTS("rule"),
        people=_counted(people),
        people_in_twice=_counted(people_in_twice),
    )


def others_finding(results: Mapping[str, Played], where: str) -> Finding:
    """Judge: random and both LinUCB do not reproduce it."""
    shown = [results[name] for name in OTHERS if name in results]
    verdict = _verdict([each.shape for each in shown], Shape.OTHER, Shape.ZIPF)
    return TEXTS.finding("others", verdict, where=where, shown=_shown(shown))


def _verdict(shapes: Iterable[Shape], claimed: Shape, contrary: Shape) -> Verdict:
    """Return what follows when `claimed` is what the paper says of all of them."""
    return verdict_on({claimed: True, contrary: False}.get(shape) for shape in shapes)


def _shown(results: Sequence[Played]) -> list[tuple[str, dict[str, int], str, str]]:
    """Return name, number of listeners by shape, slope and R² of each algorithm."""
    return [
        (label(each.algorithm), _counted([run.shape for run in each.runs]), *_slope(each))
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
    results: Mapping[str, Played],
    between: Mapping[str, Sequence[float]],
    songs: Mapping[str, float],
) -> tuple[Finding, ...]:
    """Judge for each source: the product algorithms come closer to people.

    `songs` is the mean number of different songs that its people play in as many plays.
    """
    if not between:
        return (TEXTS.finding("no_people", Verdict.OPEN),)
    names = stand_ins(PRODUCT, results, paired=True)
    own = mean_estimate([run.songs for name in names for run in results[name].runs]).mean
    return tuple(
        _distance_finding(
            results, source, names, between=between[source], songs=(songs[source], own)
        )
        for source in between
    )


def _distance_finding(
    results: Mapping[str, Played],
    source: str,
    names: Sequence[str],
    *,
    between: Sequence[float],
    songs: tuple[float, float],
) -> Finding:
    far = {name: np.array(results[name].distances[source]) for name in (*OTHERS, *names)}
    tested = _orders.orders(
        (f"{name} and {other}", far[name], far[other])
        for name in names
        for other in OTHERS
        if len(far[name]) > 1 and len(far[name]) == len(far[other])
    )
    answers = [order.answer for order in tested]
    return TEXTS.finding(
        "distance",
        verdict_on(answers),
        source=source,
        means={label(name): float(each.mean()) for name, each in far.items()},
        between=mean_estimate(between).mean if between else None,
        comparisons=len(answers),
        nearer=answers.count(True),
        farther=answers.count(False),
        songs=songs,
    )


def stand_ins(
    names: Sequence[str], results: Mapping[str, Played], *, paired: bool = False
) -> tuple[str, ...]:
    """Return the algorithms that were run, the exact one where the sampled one was not.

    For a paired test the exact one stands in, for it has met all the listeners.
    """
    swapped = [
        EXACT if name == SAMPLED and (paired or name not in results) else name for name in names
    ]
    return tuple(name for name in swapped if name in results)


def label(name: str) -> str:
    """Return an algorithm's name as people read it."""
    return _look(name).label


def _look(name: str) -> Look:
    known = Look(label=name.capitalize(), colour=TRUTH)
    return known if name.startswith(KNOWN) else look_of(name)


def _songs_of_people(people: Sequence[PersonPlays]) -> dict[str, float]:
    """Return the mean number of different songs in a stretch, by source."""
    return {
        source: float(np.mean([np.mean([len(part) for part in one.stretches]) for one in some]))
        for source, some in by_source(people).items()
    }


def _table(name: str, results: Mapping[str, Played], size: Mapping[str, Any]) -> Table:
    rows = ((label(each), *_row(results[each])) for each in in_order(results))
    return TEXTS.table(name, rows, measures=TEXTS("measures"), **size)


def _people_table(people: Sequence[PersonPlays], size: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return those with the longest histories, a stretch in place of a listener; or nothing."""
    rows = []
    for one in sorted(people, key=lambda person: -person.plays)[:_MAX_PEOPLE]:
        runs = tuple(measured(part, library=one.songs) for part in one.stretches)
        rows.append((one.source, one.name, one.plays, *_row(Played(algorithm="", runs=runs))))
    more = {"shown": len(rows), "measures": TEXTS("measures"), **size}
    return (TEXTS.table("people", rows, **more),) if people else ()


def _row(played: Played) -> tuple[Cell, ...]:
    return (
        len(played.runs),
        *(_rounded(played.mean(name), digits) for name, digits in _LINE.items()),
        max(int(run.plays_by_rank[0]) for run in played.runs),
        _rounded(played.exponent, 2),
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
    rows: list[tuple[Cell, ...]] = []
    for name in in_order(results):
        cells: list[Cell] = [label(name)]
        for source in between:
            away = mean_estimate(results[name].distances[source])
            bounded = results[name].distances_in_library[source]
            error = away.standard_error
            cells += [round(away.mean, 3), None if error is None else round(error, 3)]
            cells.append(_rounded(mean_estimate(bounded), 3) if bounded else None)
        rows.append(tuple(cells))
    among: list[Cell] = ["people from each other"]
    for far in between.values():
        among += [_rounded(mean_estimate(far), 3) if far else None, None, None]
    table = TEXTS.table(
        "distances", (*rows, tuple(among)), sources=[source.replace("|", "¦") for source in between]
    )
    return (table,) if between else ()


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
        zipf = f"Zipf for {each.shapes[Shape.ZIPF]} of {len(each.runs)}"
        axes.set_title(f"{look.label}\nslope {slope}, R² {fit}\n{zipf}", fontsize=9)
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
