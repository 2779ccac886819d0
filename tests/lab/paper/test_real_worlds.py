"""Real tastes and real songs: the chapter with one, both and none of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bandstand_lab.paper.real_worlds import EXACT, GREEDY, RANDOM, STUDY, play
from bandstand_lab.report.study import Plan, Verdict
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.worlds import TableWorld, read_feature_table
from tests.fixtures.lab.drawn_figures import assert_whole

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("linucb-c", "linucb-cn", GREEDY, "greedy-cn-map", "thompson-cn-x", "bayes-ucb-cn-v", EXACT)


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    """Return a catalogue of thirty songs with two features."""
    rng = np.random.default_rng(1)
    lines = [f"{row},{rng.normal()},{rng.normal()}" for row in range(30)]
    file = tmp_path / "songs.csv"
    file.write_text("\n".join(["id,loud,fast", *lines]))
    return file


def invented(plan: Plan, regret_of: dict[str, float]) -> dict[str, Any]:
    """Return results in which each algorithm loses so much per song, a little differently each."""
    rng = np.random.default_rng(2)
    return {
        job.key: {
            name: np.cumsum(np.full(job.arguments["steps"], each) + rng.normal(scale=0.01)).tolist()
            for name, each in regret_of.items()
        }
        for job in STUDY.jobs(plan)
    }


def test_without_data_nothing_is_run_and_nothing_is_claimed() -> None:
    plan = Plan(size="quick")
    assert not STUDY.jobs(plan)
    chapter = STUDY.chapter(plan, {})
    assert_whole(chapter)
    assert {finding.verdict for finding in chapter.findings} == {Verdict.OPEN}


def test_a_job_is_what_simulate_gives_for_the_same_seed(songs: Path) -> None:
    result = play(kind="features", file=str(songs), run=1, seed=5, steps=6)
    world = TableWorld(features=read_feature_table(songs))
    for name in (RANDOM, EXACT):
        expected = run_one(world, name, run=1, seed=5, steps=6).regret
        assert result[name] == expected.tolist()


def test_the_people_of_a_survey_listen(tmp_path: Path) -> None:
    survey = tmp_path / "survey.csv"
    survey.write_text("person,Rock,Folk,Jazz\n0,5,1,3\n1,2,4,4\n")
    result = play(kind="taste", file=str(survey), run=0, seed=5, steps=4)
    assert set(result) == {RANDOM, *NAMES}
    assert all(len(regret) == 4 and np.all(np.diff(regret) >= 0) for regret in result.values())


@pytest.mark.parametrize("given", [("features",), ("taste", "features")])
def test_a_clear_order_is_found(given: tuple[str, ...], songs: Path) -> None:
    plan = Plan(size="full", **dict.fromkeys(given, songs))  # type: ignore[arg-type]
    per_song = {RANDOM: 3.0, "linucb-c": 2.5, "linucb-cn": 2.0, GREEDY: 1.5}
    results = invented(plan, {**dict.fromkeys(NAMES, 1.0), **per_song})
    chapter = STUDY.chapter(plan, results)
    assert_whole(chapter)
    assert {finding.verdict for finding in chapter.findings} == {Verdict.HOLDS}
    assert len(chapter.tables[0].rows) == 8 * len(given)


def test_the_opposite_order_is_told(songs: Path) -> None:  # the twin
    plan = Plan(size="full", features=songs)
    per_song = {RANDOM: 0.5, "linucb-c": 1.0, "linucb-cn": 1.0, GREEDY: 1.5}
    chapter = STUDY.chapter(plan, invented(plan, {**dict.fromkeys(NAMES, 2.0), **per_song}))
    assert {finding.verdict for finding in chapter.findings} == {Verdict.FAILS}
