"""The chapter on listening histories, made of what each file says."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from bandstand.model.rank_frequency import zipf
from bandstand_lab.histories.words import duration, recovery_cell
from bandstand_lab.paper.histories.drawings import repeats_and_ranks, rest_after_a_play
from bandstand_lab.paper.histories.findings import (
    FEWEST_PLAYS,
    compared,
    favourites_finding,
    novelty_finding,
    repeats_finding,
    zipf_finding,
)
from bandstand_lab.paper.histories.people import SHUFFLES, Person, recovery_of
from bandstand_lab.report.study import Chapter, Job, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.report.study import Cell, Drawing, Json, Plan

_INTRODUCTION: Final = (
    "Does anybody want to hear a song again? The paper looks at the listening histories of 1,000 "
    "people and finds that most plays are repetitions, that a few songs have most of them, and "
    "takes from it that a radio has to learn when to repeat. This chapter asks the same of the "
    "histories that were given, and, beyond the paper, whether the gaps between plays show the "
    "rest after a play that its model of novelty assumes."
)
_NONE_GIVEN: Final = (
    "No history was given, so nothing can be said here; with --history FILE, which takes exports "
    "of Spotify, Last.fm and ListenBrainz and plain CSV, this chapter is made."
)
_METHOD: Final = (
    "The share of repetitions is 1 - different songs / plays. For the ranking, the plays of each "
    "song are counted for every person, and all counts are sorted together; the law is a straight "
    "line by least squares through log plays and log rank, over all ranks. For single people three "
    "laws (Zipf, exponential, equal) are compared by likelihood, which says to which of them the "
    "plays are nearest and not that it fits; how many songs they could have played is not known, "
    "so it is done for as many as they played and for twice as many. For novelty, all pairs of a "
    "person's plays from ten minutes to two months apart are counted; how many are of the same "
    "song, divided by how many would be if the plays were shuffled, is fitted by a slow decline "
    "times 1 - exp(-t/s), with intervals by a bootstrap of blocks of plays; the same is done with "
    f"the plays of each day in {SHUFFLES} random orders, to see how often chance shows a rest. "
    "Plays shorter than "
    "half a minute are not counted as wished for."
)
_MOST_ROWS: Final = 20


class HistoriesStudy:
    """The paper's Figures 2 and 3."""

    name: ClassVar[str] = "histories"
    title: ClassVar[str] = "What people repeat: listening histories"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job for each file; none without files."""
        home = "bandstand_lab.paper.histories.people:people"
        return [
            Job(
                key=f"file-{number}",
                function=home,
                arguments={"file": str(file), "shuffles": SHUFFLES},
            )
            for number, file in enumerate(plan.histories)
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what the files say."""
        told = [results[f"file-{number}"] for number in range(len(plan.histories))]
        everybody = [Person.from_json(each) for one in told for each in one["people"]]
        people = compared(everybody)
        ranked = [person.plays_by_rank for person in people]
        together = np.sort(np.concatenate(ranked or [np.empty(0)]))[::-1]
        law = zipf(together)
        drawings: list[Drawing] = [repeats_and_ranks(people, together, law)] if people else []
        for number, (file, one) in enumerate(zip(plan.histories, told, strict=True)):
            suggested = recovery_of(one["recovery"])
            if suggested is not None:
                drawings.append(rest_after_a_play(file.name, suggested, number + 1))
        return Chapter(
            introduction=_INTRODUCTION,
            method=_method(plan, told, everybody),
            findings=(
                repeats_finding(people),
                zipf_finding(people, law),
                favourites_finding(people),
                novelty_finding(people),
            ),
            tables=(_people_table(people),) if people else (),
            drawings=tuple(drawings),
            data={"files": told},
        )


def _method(plan: Plan, told: Sequence[Json], everybody: Sequence[Person]) -> str:
    if not told:
        return f"{_NONE_GIVEN} {_METHOD}"
    plays, lost = (sum(one[name] for one in told) for name in ("plays", "left_out"))
    names = ", ".join(file.name for file in plan.histories)
    return (
        f"{plays:,} plays of {len(everybody):,} people in {names}; {lost:,} entries that are no "
        f"plays of songs were left out. People with fewer than {FEWEST_PLAYS} plays are not "
        f"compared with others. {_METHOD}"
    )


def _people_table(people: Sequence[Person]) -> Table:
    busiest = sorted(people, key=lambda person: -person.plays)
    rest = len(busiest) - _MOST_ROWS
    return Table(
        title="The busiest listeners",
        columns=(
            *("plays", "songs", "days", "repeats", "exponent", "R²", "nearer to Zipf"),
            *("median gap", "skips", "recovery time s"),
        ),
        rows=tuple(_row(person) for person in busiest[:_MOST_ROWS]),
        note="Nearer to Zipf: than to an exponential fall and to equal plays; where two are given, "
        "the second is with twice as many songs."
        + (f" And {rest} more, who are in the data." if rest > 0 else ""),
    )


def _shapes_cell(person: Person) -> str:
    """Return what the plays look like, and what with twice as many songs if it differs."""
    return " / ".join(dict.fromkeys(str(shape) for shape in person.shapes)) or "–"


def _row(person: Person) -> tuple[Cell, ...]:
    law = zipf(person.plays_by_rank)
    return (
        person.plays,
        person.songs,
        round(person.days),
        round(person.repeat_share, 3),
        None if law is None else round(law.exponent, 2),
        None if law is None else round(law.r_squared, 2),
        _shapes_cell(person),
        None if person.median_gap is None else duration(person.median_gap),
        None if person.skip_share is None else round(person.skip_share, 3),
        recovery_cell(person.recovery),
    )


STUDY: Final = HistoriesStudy()
