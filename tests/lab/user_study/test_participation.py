"""Broken rules and late answers are found from the ratings, and nobody is named."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bandstand.study.records import Record, StudyData
from bandstand_lab.report.study import Cell, Verdict
from bandstand_lab.user_study.analysis import analyse
from bandstand_lab.user_study.page import answer
from bandstand_lab.user_study.participation import broken_rules, participation_chapter
from tests.fixtures.lab.drawn_figures import assert_whole
from tests.fixtures.lab.study_reports import real, simulated

RULES = ("listening", "rest", "gap", "parts")
HOUR = 3_600_000


def whole() -> StudyData:
    data = simulated(3, ratings=25)
    return real(data)


def changed(data: StudyData, change: Callable[[Record], Record]) -> StudyData:
    return replace(data, records=tuple(change(each) for each in data.records))


def broken(data: StudyData) -> dict[str, Cell]:
    """Return how often each rule was broken."""
    return {str(row[0]).split()[0]: row[-1] for row in broken_rules(data).rows}


def test_simulated_people_keep_all_rules() -> None:
    assert broken(whole()) == dict.fromkeys(RULES, 0)


def early(each: Record) -> Record:
    at_once = (each.participant, each.place, each.number) == (1, 1, 7)
    return replace(each, known=False, rated_at=each.offered_at + 29_999) if at_once else each


def restless(each: Record) -> Record:
    """The second twenty a minute sooner."""
    sooner = 60_000 if each.place == 2 and each.number > 20 else 0
    return replace(each, offered_at=each.offered_at - sooner, rated_at=each.rated_at - sooner)


def hurried(each: Record) -> Record:
    """The second part one hour sooner."""
    sooner = HOUR if each.place == 2 else 0
    return replace(each, offered_at=each.offered_at - sooner, rated_at=each.rated_at - sooner)


def long_day(each: Record) -> Record:
    """The third part right after the gap, though it is the third within 24 hours."""
    sooner = 11 * HOUR if each.place == 3 else 0
    return replace(each, offered_at=each.offered_at - sooner, rated_at=each.rated_at - sooner)


@pytest.mark.parametrize(
    ("change", "rule", "times"),
    [(early, "listening", 1), (restless, "rest", 3), (hurried, "gap", 3), (long_day, "parts", 3)],
)
def test_a_broken_rule_is_counted(
    change: Callable[[Record], Record], rule: str, times: int
) -> None:
    assert broken(changed(whole(), change)) == dict.fromkeys(RULES, 0) | {rule: times}


def test_a_choice_that_took_longer_than_the_answer_ends_blindness_by_timing() -> None:
    data = whole()
    assert participation_chapter(data).findings[0].verdict is Verdict.HOLDS
    late = changed(
        data,
        lambda each: (
            replace(each, choose_seconds=3.01) if each.number == 5 and each.place == 1 else each
        ),
    )
    (finding,) = participation_chapter(late).findings
    assert finding.verdict is Verdict.FAILS
    assert finding.measured.startswith("3 of 225 timed choices took longer")
    for given, count in ((data, 0), (late, 3)):
        found = answer(given, analyse(given, rng=np.random.default_rng(1)))
        assert found.endswith(f"betray the algorithm: {count} of 225.")


def test_without_times_blindness_cannot_be_told() -> None:
    data = changed(whole(), lambda each: replace(each, choose_seconds=None))
    chapter = participation_chapter(data)
    assert chapter.findings[0].verdict is Verdict.OPEN


def test_orders_and_ratings_add_up() -> None:
    data = whole()
    people, orders, parts, _ = participation_chapter(data).tables
    assert [row[-2] for row in people.rows] == [75, 75, 75]
    assert all(sum(int(str(cell)) for cell in row[1:]) == 3 for row in orders.rows)
    assert sum(int(str(row[2])) for row in parts.rows) == len(data.records)


def test_people_are_called_by_their_numbers() -> None:
    data = whole()
    later = (replace(each, number=each.number + 4) for each in data.participants)
    renumbered = tuple(replace(each, participant=each.participant + 4) for each in data.records)
    table = participation_chapter(
        replace(data, participants=tuple(later), records=renumbered)
    ).tables[0]
    assert [row[0] for row in table.rows] == ["P5", "P6", "P7"]


def test_the_chapter_is_whole() -> None:
    assert_whole(participation_chapter(whole()))
    nobody = replace(whole(), records=(), participants=())
    assert participation_chapter(nobody).findings == ()
