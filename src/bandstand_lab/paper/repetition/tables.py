"""The numbers of the playlist study, to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.paper.repetition.measures import Played, distance_to_people, measured
from bandstand_lab.paper.repetition.settings import KNOWN
from bandstand_lab.report.figures import in_order, look_of
from bandstand_lab.report.study import Table
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.paper.repetition.measures import Measures
    from bandstand_lab.paper.repetition.people import Person
    from bandstand_lab.paper.repetition.settings import Setting
    from bandstand_lab.report.study import Cell
    from bandstand_lab.statistics.summaries import MeanEstimate

_LINE: Final = ("songs played", "repeat share", "slope", "R²", "curvature")
_HOURS: Final = 60.0
_MOST_PEOPLE: Final = 12


def label(name: str) -> str:
    """Return an algorithm's name as people read it."""
    return "Taste known" if name == KNOWN else look_of(name).label


def algorithms_table(results: Mapping[str, Played], plays: int, songs: int) -> Table:
    """Return all algorithms over weeks: means over the listeners."""
    return Table(
        title=f"{plays:,} plays in a library of {songs:,} songs",
        columns=(
            *("algorithm", "listeners", *_LINE),
            *("Zipf exponent", "listeners nearer to Zipf", "likeliest law"),
        ),
        rows=tuple(_algorithm_row(results[name]) for name in in_order(results)),
        note=(
            "Slope and R² of the line through log plays over log rank; curvature: the coefficient "
            "of (log rank)², negative where the curve bends down. The exponent is the likeliest "
            "one of Zipf's law in this library."
        ),
    )


def _algorithm_row(played: Played) -> tuple[Cell, ...]:
    return (
        label(played.algorithm),
        len(played.runs),
        *_line(played),
        _rounded(played.exponent, 2),
        _follow(played),
        _usual_law(played),
    )


def distances_table(
    results: Mapping[str, Played], between: Mapping[str, Sequence[float]]
) -> tuple[Table, ...]:
    """Return how far each algorithm is from the people of each source; nothing without people."""
    if not between:
        return ()
    among: list[Cell] = ["people from each other"]
    for far in between.values():
        among += [_rounded(mean_estimate(far), 3) if far else None, None, None]
    return (
        Table(
            title="Distance to real people with the same number of plays",
            columns=(
                "algorithm",
                *(
                    f"{head} ({source})"
                    for source in between
                    for head in ("distance", "standard error", "with the same library")
                ),
            ),
            rows=(
                *(_distance_row(results[name], list(between)) for name in in_order(results)),
                tuple(among),
            ),
            note=(
                "0: the same profile; 1: nothing in common. With the same library: only the plays "
                "of as many favourites of each person as the simulated library has songs."
            ),
        ),
    )


def _distance_row(played: Played, sources: Sequence[str]) -> tuple[Cell, ...]:
    cells: list[Cell] = [label(played.algorithm)]
    for source in sources:
        away = mean_estimate(played.distances[source])
        bounded = played.distances_in_library[source]
        error = away.standard_error
        cells += [
            round(away.mean, 3),
            None if error is None else round(error, 3),
            _rounded(mean_estimate(bounded), 3) if bounded else None,
        ]
    return tuple(cells)


def _line(played: Played) -> tuple[Cell, ...]:
    return (
        _rounded(played.mean("songs"), 0),
        _rounded(played.mean("repeat_share"), 3),
        _rounded(played.mean("slope"), 2),
        _rounded(played.mean("r_squared"), 3),
        _rounded(played.mean("curvature"), 2),
    )


def _follow(played: Played) -> str:
    return f"{played.shapes[Shape.ZIPF]} of {len(played.runs)}"


def _usual_law(played: Played) -> str:
    laws = [run.laws.likeliest for run in played.runs]
    return max(sorted(set(laws)), key=laws.count)


def people_table(people: Sequence[Person], plays: int) -> tuple[Table, ...]:
    """Return those with the longest histories: means over the stretches of each."""
    longest = sorted(people, key=lambda person: -person.plays)[:_MOST_PEOPLE]
    fewer = "" if len(longest) == len(people) else f" The {len(longest)} longest of {len(people)}."
    table = Table(
        title=f"Real people, stretches of {plays:,} plays",
        columns=(
            *("source", "person", "plays in all", "stretches", *_LINE),
            *("stretches nearer to Zipf", "likeliest law"),
        ),
        rows=tuple(_person_row(person) for person in longest),
        note=f"The library of a person is taken as all songs of the whole history.{fewer}",
    )
    return (table,) if people else ()


def _person_row(person: Person) -> tuple[Cell, ...]:
    parts = tuple(measured(part, library=person.songs) for part in person.stretches)
    return (person.source, person.name, person.plays, *_as_played(parts))


def _as_played(parts: tuple[Measures, ...]) -> tuple[Cell, ...]:
    played = Played(algorithm="", runs=parts)
    return (len(parts), *_line(played), _follow(played), _usual_law(played))


def recovery_table(sweep: Mapping[float, Measures], people: Sequence[Person]) -> Table:
    """Return what a known taste plays when novelty recovers faster or more slowly."""
    return Table(
        title="The paper's model when the taste is known, by recovery time",
        columns=(
            *("recovery time s (hours)", "songs played", "repeat share", "slope", "R²"),
            *("likeliest law", "nearer to Zipf", "distance to people"),
        ),
        rows=tuple(_recovery_row(minutes, sweep[minutes], people) for minutes in sweep),
        note="One listener; the song of largest Uc · Un is played at each moment.",
    )


def _recovery_row(minutes: float, each: Measures, people: Sequence[Person]) -> tuple[Cell, ...]:
    away = distance_to_people(each.plays_by_rank, people)
    return (
        round(minutes / _HOURS, 1),
        each.songs,
        round(each.repeat_share, 3),
        None if each.slope is None else round(each.slope, 2),
        None if each.r_squared is None else round(each.r_squared, 3),
        each.laws.likeliest,
        str(each.shape),
        None if away is None else round(away, 3),
    )


def pooled_table(results: Mapping[str, Played], setting: Setting, listeners: int) -> Table:
    """Return the algorithms at the paper's length, all listeners in one list."""
    return Table(
        title=f"{listeners} × {setting.plays} plays, {setting.songs:,} songs, as in the paper",
        columns=("algorithm", *_LINE, "most plays of one song", "likeliest law", "shape"),
        rows=tuple(_pooled_row(results[name]) for name in in_order(results)),
        note="The songs of all listeners are ranked in one list, as the paper's figure does.",
    )


def _pooled_row(played: Played) -> tuple[Cell, ...]:
    most = int(np.max(played.runs[0].plays_by_rank))
    return (
        label(played.algorithm),
        *_line(played),
        most,
        _usual_law(played),
        str(played.shape),
    )


def _rounded(estimate: MeanEstimate | None, digits: int) -> Cell:
    if estimate is None:
        return None
    return round(estimate.mean) if not digits else round(estimate.mean, digits)
