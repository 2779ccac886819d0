"""A report follows from the ratings alone, whoever they are of and however few they are."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bandstand.errors import InvalidInputError
from bandstand.study.records import StudyData
from bandstand.study.study_files import read_export
from bandstand_lab.user_study.command import write_report
from tests.fixtures.lab.study_reports import all_files, first_only, real, simulated, uneven

CHAPTERS = ["ratings", "comparisons", "uncertainty", "repetition", "novelty", "participation"]
BANNER = "Simulated participants."


def text_of(out: Path) -> str:
    return (out / "index.html").read_text(encoding="utf-8")


def words_of(out: Path) -> str:
    """Return the page without its pictures."""
    return re.sub(r"base64,[^\"]*", "", text_of(out))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "out"
    report = write_report(simulated(), out)
    assert report.problems == ()
    assert [chapter.name for chapter in report.chapters] == CHAPTERS
    return out


def test_the_export_gives_the_same_report_byte_for_byte(written: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    write_report(read_export(written / "export"), again)
    assert all_files(again) == all_files(written)


def test_one_rating_that_differs_gives_another_report(tmp_path: Path) -> None:
    data = first_only(simulated(1), 2)
    first, *rest = data.records
    other = replace(first, stars=first.stars % 5 + 1)
    write_report(data, tmp_path / "one")
    write_report(replace(data, records=(other, *rest)), tmp_path / "other")
    assert all_files(tmp_path / "one") != all_files(tmp_path / "other")


def test_simulated_participants_are_named_so_at_the_top_and_judge_no_claim(written: Path) -> None:
    text = text_of(written)
    assert text.index(BANNER) < text.index("The answer")
    assert "simulated study" in text
    assert "15 participants" not in text
    assert "7 participants are simulated" in text
    assert 'class="verdict open"' in text
    assert 'class="verdict holds"' not in text
    assert 'class="verdict fails"' not in text


def test_of_people_nothing_is_said_to_be_simulated(tmp_path: Path) -> None:
    report = write_report(first_only(real(simulated(2)), 6), tmp_path / "out")
    assert report.problems == ()
    text = words_of(tmp_path / "out")
    assert BANNER not in text
    assert "simulated" not in text
    assert "study with people" in text


def test_the_answer_comes_first_and_says_what_was_planted(written: Path) -> None:
    text = text_of(written)
    first = re.findall(r'<p class="question">(.*?)</p>', text, re.DOTALL)[0]
    assert "Bayes-UCB-CN (exact) above Random and Bayes-UCB-CN (exact) above Greedy-CN" in first


def test_everything_that_is_said_has_its_numbers_beside_it(written: Path) -> None:
    files = all_files(written)
    links = re.findall(r'href="((?:data|export)/[^"]+)"', text_of(written))
    assert set(links) == files.keys() - {"index.html"}
    for chapter in CHAPTERS:
        assert f"data/{chapter}/{chapter}.json" in files


def test_people_are_numbers_wherever_one_looks(written: Path) -> None:
    text = words_of(written)
    assert set(re.findall(r"\bP\d+\b", text)) == {f"P{number}" for number in range(1, 8)}


@pytest.mark.parametrize(
    ("data", "ratings"),
    [
        (replace(real(simulated()), records=(), participants=()), "0 of 0"),
        (replace(real(simulated(2)), records=()), "0 of 0"),
        (first_only(real(simulated(1)), 1), "1 of 18"),
        (first_only(real(simulated(2)), 2), "4 of 36"),
        (real(simulated(2)), "36 of 36"),
        (uneven(real(simulated(7))), "63 of 126"),
    ],
)
def test_few_or_no_ratings_give_a_report_without_clear_differences(
    tmp_path: Path, data: StudyData, ratings: str
) -> None:
    report = write_report(data, tmp_path / "out")
    assert report.problems == ()
    assert report.answer.startswith(f"Ratings so far: {ratings} planned")
    assert "Clear differences in the end: none" in report.answer
    assert "nan" not in words_of(tmp_path / "out")
    assert read_export(tmp_path / "out" / "export") == data


def test_everybody_may_rate_everything_alike(tmp_path: Path) -> None:
    data = real(simulated(6, ratings=4, algorithms=("random", "greedy-cn"), effects={}))
    alike = replace(data, records=tuple(replace(each, stars=3) for each in data.records))
    report = write_report(alike, tmp_path / "out")
    assert report.problems == ()
    assert "Clear differences in the end: none" in report.answer


def test_a_second_report_replaces_the_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_report(real(simulated(1)), out)
    write_report(first_only(real(simulated(1)), 3), out)
    fresh = tmp_path / "fresh"
    write_report(first_only(real(simulated(1)), 3), fresh)
    assert all_files(out) == all_files(fresh)


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"beach")
    with pytest.raises(InvalidInputError, match="new or empty folder"):
        write_report(simulated(1), tmp_path)
    assert all_files(tmp_path) == {"holiday.jpg": b"beach"}
    with pytest.raises(InvalidInputError, match="new or empty folder"):
        write_report(simulated(1), tmp_path / "holiday.jpg")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("my page")
    with pytest.raises(InvalidInputError, match="new or empty folder"):
        write_report(simulated(1), site)
    assert (site / "index.html").read_text() == "my page"
