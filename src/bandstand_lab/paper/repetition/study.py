"""The chapter of the playlist study, made of the results of its jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from bandstand.model.rank_frequency import plays_by_rank
from bandstand_lab.paper.repetition import drawings, findings, tables, words
from bandstand_lab.paper.repetition.jobs import (
    algorithms,
    all_jobs,
    listeners,
    plays,
    rows_of,
)
from bandstand_lab.paper.repetition.measures import (
    Measures,
    Played,
    between_people,
    by_source,
    distance_to_people,
    measured,
)
from bandstand_lab.paper.repetition.people import Person
from bandstand_lab.paper.repetition.settings import PAPER, SAMPLED, WEEKS
from bandstand_lab.report.study import Chapter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.types import Vector
    from bandstand_lab.paper.repetition.measures import Cut
    from bandstand_lab.paper.repetition.settings import Setting
    from bandstand_lab.report.study import Job, Json, Plan
    from bandstand_lab.statistics.rank_laws import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class _Results:
    """What all jobs together say."""

    weeks: Mapping[str, Played]
    pooled: Mapping[str, Played]  # as the paper plots it: the songs of all listeners in one list
    by_recovery_time: Mapping[float, Measures]
    people: tuple[Person, ...]
    shorter: int  # people whose history is too short
    between: Mapping[str, list[float]]  # how far the people of each source are from each other

    @property
    def people_songs(self) -> dict[str, float]:
        """How many different songs a stretch has, in the mean over the people of each source."""
        return {
            source: float(np.mean([np.mean([len(part) for part in one.stretches]) for one in some]))
            for source, some in by_source(self.people).items()
        }

    def people_shapes(self, times: int = 1) -> list[Shape]:
        """Return what each stretch looks like in a library of so many times a person's songs."""
        return [
            measured(part, library=times * person.songs).shape
            for person in self.people
            for part in person.stretches
        ]

    def as_json(self) -> dict[str, Any]:
        """Return all numbers behind the chapter."""
        return {
            "weeks": {name: _played_json(played) for name, played in self.weeks.items()},
            "paper_length_pooled": {name: _played_json(each) for name, each in self.pooled.items()},
            "recovery_times": [
                {"minutes": minutes, **measures.as_json()}
                for minutes, measures in self.by_recovery_time.items()
            ],
            "people": [
                {
                    "source": person.source,
                    "name": person.name,
                    "plays": person.plays,
                    "songs": person.songs,
                    "stretches": [part.astype(int).tolist() for part in person.stretches],
                }
                for person in self.people
            ],
            "distance_between_people": dict(self.between),
        }


class RepetitionStudy:
    """The paper's Figure 12, longer and against real histories."""

    name: ClassVar[str] = "repetition"
    title: ClassVar[str] = "How songs come back: repetition and Zipf's law"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each algorithm and listener, and one for each history."""
        return all_jobs(plan)

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what was found."""
        found = _results(plan, results)
        weeks_said = f"{plays(plan, WEEKS):,} plays in {WEEKS.songs:,} songs"
        paper_said = f"{plays(plan, PAPER)} plays each as in the paper, all listeners in one list"
        return Chapter(
            introduction=words.INTRODUCTION,
            method=words.method(
                plan,
                people=len(found.people),
                shorter=found.shorter,
                sampled=SAMPLED in found.weeks,
            ),
            findings=(
                findings.product_finding(
                    found.weeks,
                    weeks_said,
                    people=found.people_shapes(),
                    people_in_twice=found.people_shapes(times=2),
                ),
                findings.others_finding(found.weeks, weeks_said),
                *findings.distance_findings(found.weeks, found.between, found.people_songs),
                findings.product_finding(found.pooled, paper_said),
                findings.others_finding(found.pooled, paper_said),
            ),
            tables=(
                tables.algorithms_table(found.weeks, plays(plan, WEEKS), WEEKS.songs),
                *tables.distances_table(found.weeks, found.between),
                *tables.people_table(found.people, plays(plan, WEEKS)),
                tables.recovery_table(found.by_recovery_time, found.people),
                tables.pooled_table(found.pooled, PAPER, listeners(plan, PAPER)),
            ),
            drawings=(
                drawings.rank_frequency(found.weeks, found.people),
                *drawings.distances(found.weeks, found.between),
                drawings.recovery_times(found.by_recovery_time, found.people),
                drawings.pooled(found.pooled, listeners(plan, PAPER)),
            ),
            data=found.as_json(),
        )


def _results(plan: Plan, results: Mapping[str, Json]) -> _Results:
    told = results.get("people", {"people": [], "shorter": 0})
    people = tuple(Person.from_json(each) for each in told["people"])
    return _Results(
        weeks=_weeks(plan, results, people),
        pooled=_pooled(plan, results),
        by_recovery_time={
            each["minutes"]: measured(
                np.asarray(each["plays_by_rank"], dtype=np.float64), library=WEEKS.songs
            )
            for each in results["recovery-times"]
        },
        people=people,
        shorter=told["shorter"],
        between={source: between_people(some) for source, some in by_source(people).items()},
    )


def _weeks(plan: Plan, results: Mapping[str, Json], people: Sequence[Person]) -> dict[str, Played]:
    runs = dict.fromkeys(algorithms(plan, WEEKS), listeners(plan, WEEKS))
    if rows_of(results, WEEKS, SAMPLED, 0):
        runs[SAMPLED] = 1
    return {
        name: _played(
            name,
            [plays_by_rank(rows_of(results, WEEKS, name, run)) for run in range(count)],
            people,
        )
        for name, count in runs.items()
    }


def _played(name: str, counts: Sequence[Vector], people: Sequence[Person]) -> Played:
    def far(cut: Cut) -> dict[str, tuple[float, ...]]:
        found = {}
        for source, some in by_source(people).items():
            distances = [distance_to_people(each, some, cut) for each in counts]
            found[source] = tuple(distance for distance in distances if distance is not None)
        return found

    return Played(
        algorithm=name,
        runs=tuple(measured(each, library=WEEKS.songs) for each in counts),
        distances=far("stretches"),
        distances_in_library=far("in_library"),
    )


def _pooled(plan: Plan, results: Mapping[str, Json]) -> dict[str, Played]:
    """Return the plays of the paper's length, the songs of all listeners in one list."""
    runs = listeners(plan, PAPER)
    return {
        name: Played(
            algorithm=name,
            runs=(measured(_together(results, PAPER, name, runs), library=PAPER.songs * runs),),
        )
        for name in algorithms(plan, PAPER)
    }


def _together(results: Mapping[str, Json], setting: Setting, algorithm: str, runs: int) -> Vector:
    counts = [plays_by_rank(rows_of(results, setting, algorithm, run)) for run in range(runs)]
    return np.sort(np.concatenate(counts))[::-1]


def _played_json(played: Played) -> dict[str, Any]:
    return {
        "listeners": [run.as_json() for run in played.runs],
        "shape": str(played.shape),
        "distances_to_people": dict(played.distances),
        "distances_to_people_in_library": dict(played.distances_in_library),
    }


STUDY: Final = RepetitionStudy()
