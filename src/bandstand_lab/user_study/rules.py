"""The rules of a study checked again from its ratings, by the server's times."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from bandstand.study.protocol import DAY, HOUR, SECOND
from bandstand_lab.report.study import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.study.records import Record, StudyData
    from bandstand_lab.report.study import Cell

_MINUTE: Final = 60 * SECOND


def broken_rules(data: StudyData) -> Table:
    """Return each rule with what was asked, how often it applied, and how often it was broken."""
    people = [_parts_of(data, person) for person in data.people]
    return Table(
        title="Rules, checked from the ratings",
        columns=("rule", "asked", "least seen", "cases", "broken"),
        rows=(_listening(data), _rests(data, people), _gaps(data, people), _days(data, people)),
        note=(
            "By the server's times. A song shorter than the listening time may be rated at its end "
            "and is counted as broken here, for its length is not in the ratings. Rests and gaps "
            "run from a rating to the next song that was offered; for parts in 24 hours the most "
            "is seen, not the least."
        ),
    )


def _parts_of(data: StudyData, person: int) -> list[tuple[Record, ...]]:
    """Return a person's parts in the order in which they were met."""
    own = [some for (number, _), some in data.by_arm().items() if number == person]
    return sorted(own, key=lambda some: some[0].offered_at)


def _listening(data: StudyData) -> tuple[Cell, ...]:
    asked = data.design.listen_seconds
    heard = [each.rated_at - each.offered_at for each in data.records if not each.known]
    return _row("listening before a rating, s", asked, heard, unit=SECOND)


def _rests(data: StudyData, people: Sequence[Sequence[tuple[Record, ...]]]) -> tuple[Cell, ...]:
    after = data.design.rest_after
    rests = [
        following.offered_at - before.rated_at
        for parts in people
        for part in parts
        for before, following in pairwise(part)
        if before.number % after == 0
    ]
    asked = data.design.rest_seconds / 60
    return _row(f"rest after every {after} ratings, min", asked, rests, unit=_MINUTE)


def _gaps(data: StudyData, people: Sequence[Sequence[tuple[Record, ...]]]) -> tuple[Cell, ...]:
    gaps = [
        following[0].offered_at - before[-1].rated_at
        for parts in people
        for before, following in pairwise(parts)
    ]
    return _row("gap between two parts, h", data.design.gap_hours, gaps, unit=HOUR)


def _days(data: StudyData, people: Sequence[Sequence[tuple[Record, ...]]]) -> tuple[Cell, ...]:
    """Return how many parts were met within 24 hours before a part began, with that part."""
    met = [
        1 + sum(begin - DAY < part[-1].rated_at for part in parts[:place])
        for parts in people
        for place, begin in enumerate(part[0].offered_at for part in parts)
    ]
    most = data.design.arms_per_day
    broken = sum(count > most for count in met)
    return ("parts within 24 hours", most, max(met, default=None), len(met), broken)


def _row(rule: str, asked: float, spans: Sequence[int], *, unit: int) -> tuple[Cell, ...]:
    broken = sum(span < asked * unit for span in spans)
    return (rule, asked, min(spans) / unit if spans else None, len(spans), broken)
