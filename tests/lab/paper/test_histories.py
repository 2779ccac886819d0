"""The study of histories: verdicts follow from what people did, and none is made up."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand.types import Minutes
from bandstand_lab.histories.findings import Recovery
from bandstand_lab.histories.plays import PlayHistory
from bandstand_lab.histories.words import recovery_json
from bandstand_lab.paper.histories import (
    STUDY,
    Listened,
    people,
    recovery_of,
    shuffled_within_days,
)
from bandstand_lab.report.study import Plan, Verdict
from tests.fixtures.lab.drawn_figures import assert_whole

LAGS = np.geomspace(10, 80_000, 26)


def rest(minutes: float | None, longest: float = 200.0) -> dict[str, Any] | None:
    return recovery_json(
        Recovery(
            recovery_time=None if minutes is None else Minutes(minutes),
            interval=(Minutes(5.0 if minutes is None else minutes / 2), Minutes(longest)),
            pairs=1_000,
            lags=LAGS,
            closeness=np.ones(26),
            fitted=np.ones(26),
        )
    )


def person(
    *,
    exponent: float = 1.0,
    songs: int = 100,
    shapes: tuple[str, str] = ("Zipf", "Zipf"),
    minutes: float | None = 60.0,
    longest: float = 200.0,
    by_chance: int = 0,
) -> dict[str, Any]:
    plays = np.maximum(np.round(200 * np.arange(1.0, songs + 1) ** -exponent), 1).astype(int)
    values, counts = np.unique(plays, return_counts=True)
    return {
        "plays": int(plays.sum()),
        "repeat_share": 1 - songs / int(plays.sum()),
        "songs_by_plays": np.column_stack([values, counts])[::-1].tolist(),
        "shapes": list(shapes),
        "recovery": rest(minutes, longest),
        "rests_when_shuffled": by_chance,
        "shuffles": 5,
    }


def verdicts(folder: Path, everyone: list[dict[str, Any]]) -> list[Verdict]:
    result = {"people": everyone, "recovery": rest(None), "plays": 1, "left_out": 0}
    plan = Plan(size="quick", histories=(folder / "a.csv",))
    chapter = STUDY.chapter(plan, {"file-0": json.loads(json.dumps(result))})
    assert_whole(chapter)
    return [finding.verdict for finding in chapter.findings]


def test_what_the_paper_says_holds_for_people_who_listen_so(tmp_path: Path) -> None:
    assert verdicts(tmp_path, [person() for _ in range(12)]) == [Verdict.HOLDS] * 4


def test_nothing_holds_for_people_who_never_repeat_and_have_no_favourites(tmp_path: Path) -> None:
    curious = person(shapes=("not Zipf", "not Zipf"), minutes=None, longest=20.0)
    curious |= {"plays": 110, "repeat_share": 0.1, "songs_by_plays": [[2, 10], [1, 90]]}
    found = verdicts(tmp_path, [curious for _ in range(12)])
    assert found == [Verdict.FAILS, Verdict.FAILS, Verdict.FAILS, Verdict.FAILS]


def test_a_line_of_all_people_that_single_ones_do_not_follow_holds_partly(tmp_path: Path) -> None:
    mixed = [person(shapes=("not Zipf", "not Zipf"), minutes=None) for _ in range(9)] + [
        person()
    ] * 3
    repeats, law, favourites, novelty = verdicts(tmp_path, mixed)
    assert (repeats, favourites) == (Verdict.HOLDS, Verdict.HOLDS)
    assert law is Verdict.PARTLY
    assert novelty is Verdict.PARTLY


def flat(**changes: Any) -> dict[str, Any]:
    """Return a person whose plays are no line of slope -1."""
    return person(exponent=0.2, **changes)


ZIPF, OTHER, UNCLEAR = "Zipf", "not Zipf", "open"


@pytest.mark.parametrize(
    ("shapes", "on_a_line", "off_it"),
    [
        ((ZIPF, ZIPF), Verdict.HOLDS, Verdict.PARTLY),
        ((ZIPF, UNCLEAR), Verdict.PARTLY, Verdict.PARTLY),
        ((ZIPF, OTHER), Verdict.PARTLY, Verdict.PARTLY),
        ((UNCLEAR, UNCLEAR), Verdict.PARTLY, Verdict.OPEN),
        ((OTHER, UNCLEAR), Verdict.PARTLY, Verdict.OPEN),
        ((OTHER, OTHER), Verdict.PARTLY, Verdict.FAILS),
    ],
)
def test_people_are_by_zipf_only_if_the_number_of_songs_does_not_matter(
    tmp_path: Path, shapes: tuple[str, str], on_a_line: Verdict, off_it: Verdict
) -> None:
    _, law, *_ = verdicts(tmp_path, [person(shapes=shapes)] * 12)
    assert law is on_a_line
    _, law, *_ = verdicts(tmp_path, [flat(shapes=shapes)] * 12)
    assert law is off_it


def test_the_same_rests_are_more_than_chance_or_not_by_what_shuffling_shows(
    tmp_path: Path,
) -> None:
    def novelty(by_chance: int) -> Verdict:
        one, other = person(by_chance=by_chance), person(minutes=None, by_chance=by_chance)
        return verdicts(tmp_path, [one] * 4 + [other] * 20)[-1]

    assert novelty(0) is Verdict.PARTLY
    assert novelty(1) is Verdict.OPEN  # one in five: not clear, for none rules out a rest


@pytest.mark.parametrize(("longest", "verdict"), [(20.0, Verdict.FAILS), (9_000.0, Verdict.OPEN)])
def test_no_rest_that_could_have_been_seen_fails_and_one_that_could_not_is_open(
    tmp_path: Path, longest: float, verdict: Verdict
) -> None:
    *_, novelty = verdicts(tmp_path, [person(minutes=None, longest=longest)] * 12)
    assert novelty is verdict


def test_an_interval_with_one_half_in_it_cannot_be_told(tmp_path: Path) -> None:
    curious = {"plays": 200, "repeat_share": 0.2, "songs_by_plays": [[2, 40], [1, 120]]}
    loyal = {"plays": 200, "repeat_share": 0.8, "songs_by_plays": [[161, 1], [1, 39]]}
    repeats, _, favourites, _ = verdicts(tmp_path, [person() | curious, person() | loyal] * 5)
    assert (repeats, favourites) == (Verdict.OPEN, Verdict.OPEN)


def test_shuffling_within_days_keeps_the_songs_of_each_day_and_what_was_not_heard() -> None:
    rng = np.random.default_rng(3)
    played = np.where(np.arange(400) % 4 == 0, 5.0, 200.0)
    history = PlayHistory(
        name="",
        items=rng.integers(0, 50, 400),
        times=np.sort(rng.uniform(0, 10 * 86_400, 400)),
        played=played,
        skipped=np.full(400, np.nan),
    )
    shuffled = shuffled_within_days(history, rng)
    days = history.times // 86_400
    assert (shuffled.items[::4] == history.items[::4]).all()
    assert (shuffled.items != history.items).sum() > 200
    for day in np.unique(days):
        ours = days == day
        assert sorted(shuffled.items[ours]) == sorted(history.items[ours])


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
    (one,) = (Listened.from_json(each) for each in result["people"])
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
    results = {job.key: people(**{**job.arguments, "shuffles": 1}) for job in STUDY.jobs(plan)}
    chapter = STUDY.chapter(plan, results)
    assert_whole(chapter)
    repeats, *_ = chapter.findings
    assert repeats.verdict is Verdict.HOLDS
