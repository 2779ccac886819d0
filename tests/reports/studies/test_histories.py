"""The study of histories: verdicts follow from what people did, and none is made up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bandstand.histories.recovery import Recovery
from bandstand.reports.history_json import recovery_json
from bandstand.reports.reproduce.study import Plan, Verdict
from bandstand.reports.studies.histories import STUDY
from bandstand.reports.studies.histories.people import Person, people, recovery_of
from bandstand.units import Minutes
from tests.reports.studies.drawn import assert_whole

if TYPE_CHECKING:
    from pathlib import Path

LAGS = np.geomspace(10, 80_000, 26)


def rest(minutes: float | None) -> dict[str, Any] | None:
    return recovery_json(
        Recovery(
            recovery_time=None if minutes is None else Minutes(minutes),
            interval=(Minutes(5.0 if minutes is None else minutes / 2), Minutes(200.0)),
            pairs=1_000,
            lags=LAGS,
            closeness=np.ones(26),
            fitted=np.ones(26),
        )
    )


def person(
    *, exponent: float = 1.0, songs: int = 100, law: str = "Zipf", minutes: float | None = 60.0
) -> dict[str, Any]:
    plays = np.maximum(np.round(200 * np.arange(1.0, songs + 1) ** -exponent), 1).astype(int)
    values, counts = np.unique(plays, return_counts=True)
    return {
        "plays": int(plays.sum()),
        "days": 300.0,
        "repeat_share": 1 - songs / int(plays.sum()),
        "songs_by_plays": np.column_stack([values, counts])[::-1].tolist(),
        "law": law,
        "median_gap_seconds": 86_400.0,
        "skip_share": None,
        "recovery": rest(minutes),
    }


def verdicts(folder: Path, everybody: list[dict[str, Any]]) -> list[Verdict]:
    result = {"people": everybody, "recovery": rest(None), "plays": 1, "left_out": 0}
    plan = Plan(size="quick", histories=(folder / "a.csv",))
    chapter = STUDY.chapter(plan, {"file-0": json.loads(json.dumps(result))})
    assert_whole(chapter)
    return [finding.verdict for finding in chapter.findings]


def test_what_the_paper_says_holds_for_people_who_listen_so(tmp_path: Path) -> None:
    assert verdicts(tmp_path, [person() for _ in range(12)]) == [Verdict.HOLDS] * 4


def test_nothing_holds_for_people_who_never_repeat_and_have_no_favourites(tmp_path: Path) -> None:
    curious = person(exponent=0.0, law="equal", minutes=None)
    curious |= {"plays": 110, "repeat_share": 0.1, "songs_by_plays": [[2, 10], [1, 90]]}
    found = verdicts(tmp_path, [curious for _ in range(12)])
    assert found == [Verdict.FAILS, Verdict.FAILS, Verdict.FAILS, Verdict.FAILS]


def test_a_line_of_all_people_that_single_ones_do_not_follow_holds_partly(tmp_path: Path) -> None:
    mixed = [person(law="exponential", minutes=None) for _ in range(9)] + [person()] * 3
    repeats, law, favourites, novelty = verdicts(tmp_path, mixed)
    assert (repeats, favourites) == (Verdict.HOLDS, Verdict.HOLDS)
    assert law is Verdict.PARTLY
    assert novelty is Verdict.PARTLY


@pytest.mark.parametrize("count", [1, 4])
def test_few_people_say_nothing_about_people(tmp_path: Path, count: int) -> None:
    assert verdicts(tmp_path, [person() for _ in range(count)]) == [Verdict.OPEN] * 4


def test_without_histories_there_are_no_jobs_and_nothing_can_be_told() -> None:
    plan = Plan(size="full")
    assert not STUDY.jobs(plan)
    chapter = STUDY.chapter(plan, {})
    assert {finding.verdict for finding in chapter.findings} == {Verdict.OPEN}
    assert "--history FILE" in chapter.method
    assert_whole(chapter)


def test_a_job_keeps_numbers_and_no_names(tmp_path: Path) -> None:
    file = tmp_path / "plays.csv"
    rows = [f"{3_600 * hour},Secret Song {hour % 7},Secret Artist" for hour in range(120)]
    file.write_text("\n".join(["time,track,artist", *rows]), encoding="utf-8")
    (job,) = STUDY.jobs(Plan(size="quick", histories=(file,)))
    assert job.function.split(":") == [people.__module__, people.__name__]
    result = people(**job.arguments)
    assert "Secret" not in json.dumps(result, allow_nan=False)
    (one,) = (Person.from_json(each) for each in result["people"])
    assert (one.plays, one.songs) == (120, 7)
    assert one.plays_by_rank.tolist() == [18, 17, 17, 17, 17, 17, 17]
    assert one.repeat_share == pytest.approx(1 - 7 / 120)


def test_a_recovery_time_is_read_as_it_was_written() -> None:
    for minutes in (None, 60.0):
        document = rest(minutes)
        assert recovery_json(recovery_of(document)) == document
    assert recovery_of(None) is None


def test_real_histories_make_a_whole_chapter(shared_data: Path) -> None:
    files = tuple(sorted((shared_data / "history").glob("*.csv.gz")))
    plan = Plan(size="quick", histories=files)
    results = {job.key: people(**job.arguments) for job in STUDY.jobs(plan)}
    chapter = STUDY.chapter(plan, results)
    assert_whole(chapter)
    repeats, *_ = chapter.findings
    assert repeats.verdict is Verdict.HOLDS
