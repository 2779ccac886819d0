"""What is called clear, in which direction, and what follows for the paper's claims."""

import numpy as np
import pytest
from scipy import stats

from bandstand.study.records import StudyData
from bandstand_lab.report.study import Verdict
from bandstand_lab.user_study.analysis import MIN_PEOPLE_CLEAR, Analysis, analyse
from bandstand_lab.user_study.chapters import (
    TEXTS,
    comparisons_chapter,
    rating_findings,
    ratings_chapter,
)
from bandstand_lab.user_study.page import answer
from tests.fixtures.lab.drawn_figures import assert_whole
from tests.fixtures.lab.study_reports import real, simulated, uneven
from tests.fixtures.study.small import ONE, OTHER, study

RETIRED_TOO = (ONE, "bayes-ucb-cnd-v")
LOW, HIGH = [1, 2, 2, 3, 1, 2], [4, 4, 5, 3, 5, 4]


def analysed(data: StudyData) -> Analysis:
    return analyse(data, rng=np.random.default_rng(1))


def two(people: int, first: list[int], second: list[int], *, reverse: bool = False) -> StudyData:
    """Return a study of two algorithms, each person's ratings turned round a little."""
    algorithms = (OTHER, ONE) if reverse else (ONE, OTHER)
    stars = {
        (person, name): [*given[person % len(given) :], *given[: person % len(given)]]
        for person in range(1, people + 1)
        for name, given in ((ONE, first), (OTHER, second))
    }
    return study(stars, algorithms=algorithms, ratings_per_arm=6)


def test_the_figures_are_those_of_an_independent_calculation() -> None:
    data = real(simulated(9))
    analysis = analysed(data)
    table, raw = comparisons_chapter(data, analysis).tables
    ratings = {
        key: np.mean([each.stars for each in records]) for key, records in data.by_arm().items()
    }
    for row, alone, each in zip(table.rows, raw.rows, analysis.comparisons, strict=True):
        ones, others = (
            [ratings[person, name] for person in data.people] for name in (each.first, each.second)
        )
        test = stats.ttest_rel(ones, others)
        assert alone[raw.columns.index("p")] == pytest.approx(test.pvalue)
        low, high = test.confidence_interval()
        interval = row[table.columns.index("95 % interval")]
        assert interval == f"{low:+.2f} to {high:+.2f}".replace("-", "−")


def test_the_average_after_n_songs_is_the_mean_over_people_of_their_means() -> None:
    data = uneven(real(simulated(4)))
    numbers = ratings_chapter(data, analysed(data)).data["greedy-cn"]
    arms = [each for (_, name), each in data.by_arm().items() if name == "greedy-cn"]
    for place, n in enumerate(numbers["n"]):
        means = [np.mean([each.stars for each in arm[:n]]) for arm in arms if len(arm) >= n]
        assert numbers["people"][place] == len(means)
        assert numbers["mean"][place] == pytest.approx(np.mean(means))
        error = stats.sem(means) if len(means) > 1 else None
        assert numbers["standard_error"][place] == pytest.approx(error)


@pytest.mark.parametrize("reverse", [False, True])
def test_who_is_rated_higher_is_said_whichever_way_the_pair_was_tested(
    reverse: bool,
) -> None:
    data = two(7, LOW, HIGH, reverse=reverse)
    analysis = analysed(data)
    assert "in the end: Bayes-UCB-CN (exact) above Greedy-CN (" in answer(data, analysis)
    assert rating_findings(data, analysis)[0].verdict is Verdict.HOLDS
    worse = two(7, HIGH, LOW, reverse=reverse)
    assert rating_findings(worse, analysed(worse))[0].verdict is Verdict.FAILS
    assert "in the end: Greedy-CN above Bayes-UCB-CN (exact) (" in answer(worse, analysed(worse))


def test_of_fewer_than_six_people_nothing_is_called_clear() -> None:
    for people in (2, MIN_PEOPLE_CLEAR - 1, MIN_PEOPLE_CLEAR):
        data = two(people, LOW, HIGH)
        (found,) = analysed(data).comparisons
        assert found.p_last_holm < 0.001
        assert found.clear_sign() == (-1 if found.first == ONE else 1) * (people >= 6)


def test_without_a_difference_nothing_is_clear() -> None:
    data = two(8, LOW, LOW)
    assert rating_findings(data, analysed(data))[0].verdict is Verdict.OPEN
    assert "Clear differences in the end: none" in answer(data, analysed(data))


def test_a_pair_that_differs_at_some_n_only_is_named_in_the_answer() -> None:
    # Everybody prefers the second at first, and the first afterwards.
    early, late = [1, 1, 1, 5, 5, 5], [5, 5, 5, 1, 1, 1]
    stars = {
        (person, name): given
        for person in range(1, 9)
        for name, given in ((ONE, early), (OTHER, late))
    }
    data = study(stars, ratings_per_arm=6)
    found = answer(data, analysed(data))
    assert "Clear differences in the end: none" in found
    assert "not in the end: Bayes-UCB-CN (exact) above Greedy-CN." in found


def test_a_retired_algorithm_keeps_its_curve_and_its_name() -> None:
    stars = {(person, name): [person % 5 + 1] * 6 for person in range(1, 7) for name in RETIRED_TOO}
    data = study(stars, algorithms=RETIRED_TOO, ratings_per_arm=6)
    assert "bayes-ucb-cnd-v, retired" in str(comparisons_chapter(data, analysed(data)).tables)
    assert TEXTS("algorithms.bayes-ucb-cnd-v")


@pytest.mark.parametrize("data", [real(simulated()), uneven(real(simulated(7)))])
def test_the_chapter_is_whole(data: StudyData) -> None:
    chapter = comparisons_chapter(data, analysed(data))
    assert_whole(chapter)
    assert "Holm" in chapter.method
    assert "max-T" in chapter.method
