"""The content study: its jobs, and verdicts that follow from the errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand.errors import InvalidInputError
from bandstand_lab.content.comparison import Compared, RaterComparison
from bandstand_lab.content.validation import RaterErrors
from bandstand_lab.paper.content import (
    STUDY,
    is_below,
    real_jobs,
    share_at,
    shares,
    simulated_jobs,
    validate_real,
    validate_simulated,
)
from bandstand_lab.report.study import Plan, Verdict, verdict_on
from bandstand_lab.statistics.paired import PairedDifference
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=1)


def raters(content: float, *, mean: float = 1.14, count: int = 13) -> list[dict[str, Any]]:
    """Return errors around a given one of the content model."""
    rng = np.random.default_rng(1)
    return [
        {
            "rater": f"rater {number}",
            "ratings": 400,
            "mean": 3.0,
            "standard_deviation": 1.14,
            "rmse": {
                "random": 1.61 + rng.normal(0, 0.01),
                "mean": mean + rng.normal(0, 0.01),
                "ridge": 1.05 + rng.normal(0, 0.01),
                "content": content + rng.normal(0, 0.01),
                "content-paper": content + 0.01,
            },
        }
        for number in range(count)
    ]


def results(plan: Plan, *, blind: float = 1.3, real: float | None = None) -> dict[str, Any]:
    errors = dict(zip(shares(plan), (blind, 1.12, 0.9), strict=True))
    found = {
        job.key: raters(errors[share]) for share in errors for job in simulated_jobs(plan, share)
    }
    return found | {job.key: raters(real or 0.0) for job in real_jobs(plan)}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Return twenty items and two raters."""
    items, ratings = tmp_path / "items.csv", tmp_path / "ratings.csv"
    items.write_text("id,a\n" + "".join(f"s{i},{i % 7}\n" for i in range(20)))
    rows = [
        f"{who},s{i},{1 + (i * step) % 5}\n"
        for who, step in (("a", 1), ("b", 3))
        for i in range(20)
    ]
    ratings.write_text("rater,item_id,rating\n" + "".join(rows))
    return items, ratings


def test_simulated_raters_cannot_judge_people() -> None:
    chapter = STUDY.chapter(PLAN, results(PLAN))
    assert_whole(chapter)
    first, second = chapter.findings
    assert first.verdict is Verdict.OPEN
    assert second.verdict is Verdict.PARTLY
    assert "3.4 % below" in second.measured


@pytest.mark.parametrize("blind", [1.3, 1.61, 1.8])
def test_an_argument_that_blind_features_do_not_pass_is_not_thereby_right(blind: float) -> None:
    finding = STUDY.chapter(PLAN, results(PLAN, blind=blind)).findings[1]
    assert finding.verdict is (Verdict.PARTLY if blind < 1.5 else Verdict.OPEN)


def compared(mean: float, standard_error: float) -> Compared:
    difference = PairedDifference(mean=mean, standard_error=standard_error, degrees_of_freedom=12)
    return Compared("mean", difference, 1.0)


def test_the_verdict_is_that_of_the_p_value_that_is_printed() -> None:
    # With 12 degrees of freedom t = 1.9 is significant one-sided, and not two-sided.
    verdicts = [verdict_on([is_below(compared(t * 0.1, 0.1))]) for t in (-3.0, -1.9, 1.9, 3.0)]
    assert verdicts == [Verdict.HOLDS, Verdict.OPEN, Verdict.OPEN, Verdict.FAILS]
    assert compared(-0.19, 0.1).difference.p_value > 0.05
    assert verdict_on([is_below(None)]) is Verdict.OPEN


@pytest.mark.parametrize(
    ("real", "verdicts"),
    [
        (1.05, [Verdict.HOLDS, Verdict.HOLDS]),
        (1.3, [Verdict.HOLDS, Verdict.FAILS]),
        (1.61, [Verdict.OPEN, Verdict.FAILS]),
        (1.7, [Verdict.FAILS, Verdict.FAILS]),
    ],
)
def test_real_raters_are_judged(
    files: tuple[Path, Path], real: float, verdicts: list[Verdict]
) -> None:
    plan = Plan(size="quick", seed=1, content=files)
    chapter = STUDY.chapter(plan, results(plan, real=real))
    assert_whole(chapter)
    assert [finding.verdict for finding in chapter.findings] == verdicts


def test_the_raters_of_a_file_are_validated(files: tuple[Path, Path]) -> None:
    (job,) = real_jobs(Plan(size="quick", seed=1, content=files))
    found = validate_real(**job.arguments)
    assert [rater["rater"] for rater in found] == ["a", "b"]


def test_a_file_that_cannot_be_used_is_refused_before_anything_runs(
    files: tuple[Path, Path],
) -> None:
    files[1].write_text("rater,item_id,rating\na,s0,9\n")
    with pytest.raises(InvalidInputError, match="line 2: rating must be on the scale from 1 to 5"):
        STUDY.jobs(Plan(size="quick", content=files))


def test_a_part_of_the_simulated_raters_is_the_same_in_any_job() -> None:
    alone = validate_simulated(share=0.3, first=1, raters=1, seed=4)
    both = validate_simulated(share=0.3, first=0, raters=2, seed=4)
    assert alone == both[1:]


def test_the_full_size_has_as_many_raters_as_the_paper() -> None:
    plan = Plan(size="full")
    assert sum(job.arguments["raters"] for job in simulated_jobs(plan, 0.3)) == 52
    jobs = STUDY.jobs(plan)
    assert len({job.key for job in jobs}) == len(jobs)


def comparison(content: float) -> RaterComparison:
    return RaterComparison(raters=tuple(RaterErrors(**each) for each in raters(content, count=2)))


def test_the_share_is_found_between_worlds() -> None:
    worlds = {0.0: comparison(1.3), 0.5: comparison(0.9)}
    middle = (worlds[0.0].estimate("content").mean + worlds[0.5].estimate("content").mean) / 2
    assert share_at(worlds, middle) == pytest.approx(0.25)
    assert share_at(worlds, 2.0) is None
    assert share_at({0.0: comparison(0.9), 0.5: comparison(1.3)}, 1.0) is None
