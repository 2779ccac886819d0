"""The chapter about people and rules: ratings of each person, orders, times, broken rules."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from bandstand.study.protocol import DAY, HOUR, SECOND
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.study import Chapter, Drawing, Finding, Table, Verdict
from bandstand_lab.user_study.chapters import TEXTS, judged
from bandstand_lab.user_study.figures import draw_choices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.study.records import Record, StudyData
    from bandstand_lab.report.study import Cell, Finding

_MINUTE: Final = 60 * SECOND


def participation_chapter(data: StudyData) -> Chapter:
    """Return the facts about people and rules."""
    arms = data.by_arm()
    records = {
        name: [each for (_, algorithm), part in arms.items() if algorithm == name for each in part]
        for name in in_order(data.design.algorithms)
    }
    return Chapter(
        introduction=TEXTS("participation.introduction"),
        method=TEXTS("participation.method", design=data.design),
        findings=_timing(data),
        tables=(_people(data), _orders(data), _parts(data, records), broken_rules(data)),
        drawings=_choices(data, records),
        data={
            "choose_seconds": {
                name: [each.choose_seconds for each in some] for name, some in records.items()
            }
        },
    )


def late_choices(data: StudyData) -> list[Record]:
    """Return the records whose choice took longer than the answer, so that the wait showed it."""
    limit = data.design.answer_seconds
    return [each for each in data.records if (each.choose_seconds or 0.0) > limit]


def _timing(data: StudyData) -> tuple[Finding, ...]:
    """Return whether the wait for a song could betray the algorithm that chose it."""
    if not data.records:
        return ()
    times = [each.choose_seconds for each in data.records if each.choose_seconds is not None]
    late = late_choices(data)
    verdict = Verdict.HOLDS if len(times) == len(data.records) else Verdict.OPEN
    names = in_order({each.algorithm for each in late})
    finding = TEXTS.finding(
        "timing",
        Verdict.FAILS if late else verdict,
        limit=data.design.answer_seconds,
        records=len(data.records),
        timed=len(times),
        longest=f"{max(times, default=0.0):.2g}",
        late=len(late),
        by=[f"{spoken(name)} {sum(each.algorithm == name for each in late):,}" for name in names],
    )
    return (judged(data, finding),)


def _people(data: StudyData) -> Table:
    arms, order = data.by_arm(), in_order(data.design.algorithms)
    rows: list[tuple[Cell, ...]] = []
    for person in data.people:
        own = [each for (number, _), part in arms.items() if number == person for each in part]
        counts = [len(arms.get((person, name), ())) for name in order]
        rows.append((f"P{person}", *counts, len(own), sum(each.known for each in own)))
    return Table(
        title="Ratings of each participant",
        columns=("participant", *(look_of(name).label for name in order), "all", "known songs"),
        rows=tuple(rows),
        note=TEXTS("participation.people", ratings=data.design.ratings_per_arm),
    )


def _orders(data: StudyData) -> Table:
    """Return how many people met each algorithm in their first, second, … part."""
    order, arms = in_order(data.design.algorithms), data.by_arm()
    met = {name: [0] * len(order) for name in order}
    for person in data.people:
        own = {name: part[0].place for (number, name), part in arms.items() if number == person}
        for place, name in enumerate(sorted(own, key=lambda name: own[name])):
            met[name][place] += 1
    return Table(
        title="People who met an algorithm in their first, second, … part",
        columns=("algorithm", *(f"part {place}" for place in range(1, len(order) + 1))),
        rows=tuple((look_of(name).label, *met[name]) for name in order),
        note=TEXTS("participation.orders"),
    )


def _parts(data: StudyData, records: Mapping[str, Sequence[Record]]) -> Table:
    return Table(
        title="Parts",
        columns=(
            *("algorithm", "begun / finished", "ratings", "known", "listened, s"),
            *("offered to rated, s", "choice, s", "longest choice, s", "late choices"),
        ),
        rows=tuple(_part_row(data, name, some) for name, some in records.items()),
        note=TEXTS("participation.parts", limit=data.design.answer_seconds),
    )


def _part_row(data: StudyData, name: str, records: Sequence[Record]) -> tuple[Cell, ...]:
    arms = [part for (_, algorithm), part in data.by_arm().items() if algorithm == name]
    finished = sum(len(part) >= data.design.ratings_per_arm for part in arms)
    known = sum(each.known for each in records)
    choices = [each.choose_seconds for each in records if each.choose_seconds is not None]
    late = sum(choice > data.design.answer_seconds for choice in choices)
    return (
        look_of(name).label,
        f"{len(arms)} / {finished}",
        len(records),
        f"{known / len(records):.0%}" if records else None,
        _median([each.played_seconds for each in records if each.played_seconds is not None]),
        _median([(each.rated_at - each.offered_at) / SECOND for each in records]),
        _median(choices),
        max(choices, default=None),
        late if choices else None,
    )


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _choices(data: StudyData, records: Mapping[str, Sequence[Record]]) -> tuple[Drawing, ...]:
    times = {
        name: sorted(each.choose_seconds for each in some if each.choose_seconds is not None)
        for name, some in records.items()
    }
    times = {name: some for name, some in times.items() if some}
    if not times:
        return ()
    slowest = max(times, key=lambda name: times[name][-1])
    longest, limit = f"{times[slowest][-1]:.2g}", data.design.answer_seconds
    return (
        Drawing(
            name="choice-times",
            caption=TEXTS("participation.figure", longest=longest, slowest=spoken(slowest)),
            draw=partial(draw_choices, times=times, limit=limit),
            height=1.4 + 0.36 * len(times),
        ),
    )


def broken_rules(data: StudyData) -> Table:
    """Return each rule with its limit, how often it applied, and how often it was broken."""
    people = [_parts_of(data, person) for person in data.people]
    return Table(
        title="Rules, checked from the ratings",
        columns=("rule", "asked", "least seen", "cases", "broken"),
        rows=(_listening(data), _rests(data, people), _gaps(data, people), _days(data, people)),
        note=TEXTS("participation.rules"),
    )


def _parts_of(data: StudyData, person: int) -> list[tuple[Record, ...]]:
    """Return a person's parts in the order in which they were met."""
    own = [part for (number, _), part in data.by_arm().items() if number == person]
    return sorted(own, key=lambda part: part[0].offered_at)


def _listening(data: StudyData) -> tuple[Cell, ...]:
    heard = [each.rated_at - each.offered_at for each in data.records if not each.known]
    return _rule("listening before a rating, s", data.design.listen_seconds, heard, unit=SECOND)


def _rests(data: StudyData, people: Sequence[Sequence[tuple[Record, ...]]]) -> tuple[Cell, ...]:
    after, asked = data.design.rest_after, data.design.rest_seconds / 60
    rests = [
        following.offered_at - before.rated_at
        for parts in people
        for part in parts
        for before, following in pairwise(part)
        if before.number % after == 0
    ]
    return _rule(f"rest after every {after} ratings, min", asked, rests, unit=_MINUTE)


def _gaps(data: StudyData, people: Sequence[Sequence[tuple[Record, ...]]]) -> tuple[Cell, ...]:
    gaps = [
        following[0].offered_at - before[-1].rated_at
        for parts in people
        for before, following in pairwise(parts)
    ]
    return _rule("gap between two parts, h", data.design.gap_hours, gaps, unit=HOUR)


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


def _rule(rule: str, asked: float, spans: Sequence[int], *, unit: int) -> tuple[Cell, ...]:
    broken = sum(span < asked * unit for span in spans)
    return (rule, asked, min(spans) / unit if spans else None, len(spans), broken)
