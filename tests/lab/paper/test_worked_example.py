"""The paper's first example: its numbers, its two policies, and honest verdicts."""

from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand_lab.paper.worked_example import (
    BAYES_UCB,
    BELIEVED,
    GREEDY,
    POLICIES,
    PRIOR,
    STUDY,
    B,
    C,
    belief_of,
    known,
    play,
    play_runs,
    student_density,
)
from bandstand_lab.report.study import Plan, Verdict
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=1)


def first_belief() -> Any:
    return belief_of(Exact(prior=PRIOR).fit(known()))


def test_the_beliefs_have_the_means_of_the_paper() -> None:
    belief = first_belief()
    assert belief["means"] == pytest.approx(BELIEVED, rel=1e-12)
    assert belief["standard_deviations"][C] > 2 * belief["standard_deviations"][B]


def test_the_spreads_are_those_of_a_conjugate_regression() -> None:
    """Each song is known by itself: Λ = λ + n, and the noise by all: B/(A − 1)."""
    belief, history = first_belief(), known()
    strength = PRIOR.preference.precision[0, 0]
    counts = np.array([8, 1]) + strength
    means = np.array(BELIEVED)
    residuals = history.ratings - history.features @ means
    shape = PRIOR.noise.shape + len(history) / 2
    rate = PRIOR.noise.rate + (residuals @ residuals + strength * means @ means) / 2
    expected = np.sqrt(rate / (shape - 1) / counts)
    assert belief["standard_deviations"] == pytest.approx(expected, rel=1e-9)
    assert belief["degrees_of_freedom"] == 2 * shape


@pytest.mark.parametrize("song", [B, C])
def test_the_drawn_density_has_the_quantile_of_the_engine(song: int) -> None:
    belief = first_belief()
    below = np.linspace(-60, belief["quantiles"][song], 400_001)
    mass = np.trapezoid(student_density(below, belief, song), below)
    assert mass == pytest.approx(belief["level"], abs=1e-6)


def test_greedy_begins_with_b_and_bayes_ucb_with_c() -> None:
    for policy, song in ((GREEDY, B), (BAYES_UCB, C)):
        choices, _ = play(policy, run=0, steps=1, seed=1)
        assert choices == [song]


def test_a_run_is_the_same_in_whichever_job() -> None:
    together = play_runs(first=0, runs=3, steps=6, seed=2)
    apart = [play_runs(first=run, runs=1, steps=6, seed=2) for run in range(3)]
    for policy in POLICIES:
        joined = [choices for each in apart for choices in each[policy]["choices"]]
        assert together[policy]["choices"] == joined


def results(greedy: list[int], bayes_ucb: list[int]) -> dict[str, Any]:
    """Return results in which every run made the same choices."""
    belief = first_belief()
    runs = {GREEDY: [greedy, greedy], BAYES_UCB: [bayes_ucb, bayes_ucb]}
    return {
        STUDY.jobs(PLAN)[0].key: {
            policy: {"choices": choices, "before": belief, "after": belief}
            for policy, choices in runs.items()
        }
    }


def verdicts(found: dict[str, Any]) -> list[Verdict]:
    chapter = STUDY.chapter(PLAN, found)
    return [finding.verdict for finding in chapter.findings]


def test_the_verdicts_follow_from_the_choices() -> None:
    assert verdicts(results([B] * 40, [C] * 40)) == [Verdict.HOLDS] * 3
    assert verdicts(results([C] * 40, [B] * 40)) == [Verdict.FAILS] * 3
    assert verdicts(results([B] * 39 + [C], [C] + [B] * 39))[1:] == [Verdict.FAILS] * 2


def test_the_jobs_make_a_chapter() -> None:
    (job,) = STUDY.jobs(PLAN)
    found = play_runs(**{**job.arguments, "runs": 3})
    chapter = STUDY.chapter(PLAN, {job.key: found})
    assert_whole(chapter)
    assert chapter.findings[0].verdict is Verdict.HOLDS


def test_the_full_size_has_more_runs_in_several_jobs() -> None:
    jobs = STUDY.jobs(Plan(size="full"))
    assert len({job.key for job in jobs}) == len(jobs) > 1
    assert sum(job.arguments["runs"] for job in jobs) == 250
