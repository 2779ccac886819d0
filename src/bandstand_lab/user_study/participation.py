"""The chapter about people and rules: ratings of each person, orders, times, broken rules."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from bandstand.study.protocol import DAY, HOUR, SECOND
from bandstand.study.records import Record, StudyData
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.study import Cell, Chapter, Finding, Table, Verdict
from bandstand_lab.user_study.chapters import TEXTS

_TEXTS: Final = TEXTS.part("participation")
_MINUTE: Final = 60 * SECOND


def participation_chapter(data: StudyData) -> Chapter:
    """Return the facts about people and rules."""
    names = in_order(data.design.algorithms)
    labels, limit = [look_of(name).label for name in names], data.design.answer_seconds
    return _TEXTS.chapter(
        method={"design": data.design},
        findings=_timing(data),
        tables=(
            _TEXTS.table(
                "people",
                (_person_row(data, person, names) for person in data.people),
                ratings=data.design.ratings_per_arm,
                labels=labels,
            ),
            _TEXTS.table("orders", _orders(data, names), labels=labels),
            _TEXTS.table("parts", (_part_row(data, name) for name in names), limit=limit),
            broken_rules(data),
        ),
        data={
            "choose_seconds": {
                name: [each.choose_seconds for each in _records(data, name)] for name in names
            }
        },
    )


def _records(data: StudyData, algorithm: str) -> list[Record]:
    arms = data.by_arm().items()
    return [each for (_, name), part in arms if name == algorithm for each in part]


def late_choices(data: StudyData) -> list[Record]:
    """Return the records whose choice took longer than the answer, so that the wait showed it."""
    limit = data.design.answer_seconds
    return [each for each in data.records if (each.choose_seconds or 0.0) > limit]


def _timing(data: StudyData) -> tuple[Finding, ...]:
    """Return whether the wait for a song could betray the algorithm that chose it."""
    if not data.records:
        return ()
    times = [each.choose_seconds for each in data.records if each.choose_seconds is not None]
    late = [each.algorithm for each in late_choices(data)]
    verdict = Verdict.HOLDS if len(times) == len(data.records) else Verdict.OPEN
    finding = _TEXTS.finding(
        "timing",
        Verdict.FAILS if late else verdict,
        limit=data.design.answer_seconds,
        records=len(data.records),
        timed=len(times),
        longest=f"{max(times, default=0.0):.2g}",
        late=len(late),
        by=[f"{spoken(name)} {late.count(name):,}" for name in in_order(set(late))],
    )
    return (finding,)


def _person_row(data: StudyData, person: int, names: Sequence[str]) -> tuple[Cell, ...]:
    arms = data.by_arm()
    parts = [arms.get((person, name), ()) for name in names]
    known = sum(each.known for part in parts for each in part)
    return f"P{person}", *map(len, parts), sum(map(len, parts)), known


def _orders(data: StudyData, names: Sequence[str]) -> list[tuple[Cell, ...]]:
    """Return how many people met each algorithm in their first, second, … part."""
    met, arms = {name: [0] * len(names) for name in names}, data.by_arm()
    for person in data.people:
        own = {name: part[0].place for (one, name), part in arms.items() if one == person}
        for place, name in enumerate(sorted(own, key=lambda name: own[name])):
            met[name][place] += 1
    return [(look_of(name).label, *met[name]) for name in names]


def _part_row(data: StudyData, name: str) -> tuple[Cell, ...]:
    arms = [part for (_, algorithm), part in data.by_arm().items() if algorithm == name]
    records = [each for part in arms for each in part]
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


def broken_rules(data: StudyData) -> Table:
    """Return each rule with its limit, how often it applied, and how often it was broken."""
    design, arms = data.design, data.by_arm()
    people = [
        sorted(
            (part for (number, _), part in arms.items() if number == person),
            key=lambda part: part[0].offered_at,
        )
        for person in data.people
    ]
    heard = [each.rated_at - each.offered_at for each in data.records if not each.known]
    rests = [
        following.offered_at - before.rated_at
        for parts in people
        for part in parts
        for before, following in pairwise(part)
        if before.number % design.rest_after == 0
    ]
    gaps = [
        following[0].offered_at - before[-1].rated_at
        for parts in people
        for before, following in pairwise(parts)
    ]
    rest = f"rest after every {design.rest_after} ratings, min"
    rows = (
        _rule("listening before a rating, s", design.listen_seconds, heard, unit=SECOND),
        _rule(rest, design.rest_seconds / 60, rests, unit=_MINUTE),
        _rule("gap between two parts, h", design.gap_hours, gaps, unit=HOUR),
        _days(people, most=design.arms_per_day),
    )
    return _TEXTS.table("rules", rows)


def _days(people: Sequence[Sequence[tuple[Record, ...]]], *, most: int) -> tuple[Cell, ...]:
    """Return how many parts were met within 24 hours before a part began, with that part."""
    met = [
        1 + sum(begin - DAY < part[-1].rated_at for part in parts[:place])
        for parts in people
        for place, begin in enumerate(part[0].offered_at for part in parts)
    ]
    broken = sum(count > most for count in met)
    return "parts within 24 hours", most, max(met, default=None), len(met), broken


def _rule(rule: str, asked: float, spans: Sequence[int], *, unit: int) -> tuple[Cell, ...]:
    broken = sum(span < asked * unit for span in spans)
    return rule, asked, min(spans) / unit if spans else None, len(spans), broken
