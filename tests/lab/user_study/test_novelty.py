"""What is said to be learnt about novelty was learnt from ratings, and not assumed."""

import re
from dataclasses import replace

import pytest

from bandstand.study.records import StudyData
from bandstand_lab.report.study import Chapter
from bandstand_lab.user_study.chapters import novelty_chapter
from tests.fixtures.study.small import ONE
from tests.lab.user_study.test_measures import bored_listener, untiring_listener

AFTER_TEN = 3  # the column


def chapter_of(data: StudyData) -> Chapter:
    design = replace(data.design, algorithms=(ONE, "random"))
    return novelty_chapter(replace(data, design=design))


def told(chapter: Chapter) -> tuple[float, float]:
    """Return what was learnt ten minutes after a song, and by how many deviations it parts."""
    (row,) = chapter.tables[0].rows
    cell = str(row[AFTER_TEN]).replace("−", "-")
    found = re.fullmatch(r"(-?[\d.]+)(?: ± [\d.]+)? / [\d.]+ \(([-+][\d.]+) sd\)", cell)
    assert found is not None, cell
    return float(found[1]), float(found[2])


def test_people_who_tire_and_who_do_not_are_told_apart() -> None:
    tired, fresh = chapter_of(bored_listener(60.0)), chapter_of(untiring_listener())
    assert told(tired)[0] < 0.3
    assert told(fresh)[0] > 0.7
    assert told(tired)[1] < -5
    assert abs(told(fresh)[1]) < 2
    assert "part clearly for 1 of 1." in tired.drawings[0].caption
    assert "part clearly for 0 of 1." in fresh.drawings[0].caption


def test_only_what_was_learnt_has_a_spread() -> None:
    tired, fresh = (
        chapter_of(data).tables[0].rows[0] for data in (bored_listener(60.0), untiring_listener())
    )
    assert "±" in str(tired[AFTER_TEN])
    assert not any("±" in str(cell) for cell in fresh)


@pytest.mark.parametrize("data", [bored_listener(60.0), untiring_listener()])
def test_that_the_prior_may_speak_is_said_in_text_and_caption(data: StudyData) -> None:
    chapter = chapter_of(data)
    assert "the prior speaks" in chapter.introduction
    assert "the prior speaks" in chapter.drawings[0].caption
