"""The uncertainty study: the paper's metric by another route, and verdicts from numbers."""

from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import paper_prior
from bandstand.types import MONTH
from bandstand_lab.paper.uncertainty import (
    STUDY,
    along,
    falling_finding,
    faster_finding,
    faster_verdict,
    later_finding,
    uncertainties,
)
from bandstand_lab.report.study import Plan, Verdict
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import PAPER_CLOCK
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import PairedDifference, clear_signs
from tests.fixtures.lab.drawn_figures import assert_whole

WORLD = GaussianWorld(songs=30, features=3)
MOMENTS = (5, 10, 20, 50, 100)
OURS, THEIRS = "bayes-ucb-cn-x", "greedy-cn"


def directly(rows: list[int], ratings: list[float], features: Any) -> float:
    """Return the metric from the definition: elapsed times by hand, and one fit from scratch."""
    last: dict[int, float] = {}
    elapsed = []
    for step, row in enumerate(rows, start=1):
        now = PAPER_CLOCK.moment(step) / 60
        elapsed.append(now - last[row] if row in last else MONTH)
        last[row] = now
    now = PAPER_CLOCK.moment(len(rows) + 1) / 60
    waiting = [now - last[row] if row in last else MONTH for row in range(len(features))]
    engine = Exact(prior=paper_prior(features.shape[1]))
    belief = engine.fit(History.of(features=features[rows], elapsed=elapsed, ratings=ratings))
    spread = engine.predict(
        belief, Songs.of(features=features, elapsed=waiting)
    ).standard_deviation()
    assert spread is not None
    return float(np.mean(spread))


@pytest.mark.parametrize("algorithm", ["random", "greedy-cn", "bayes-ucb-cn-x"])
def test_the_metric_is_that_of_the_exact_model_whatever_chose_the_songs(algorithm: str) -> None:
    meeting = WORLD.meeting(0, 4)
    trace = run_one(WORLD, algorithm, run=0, seed=4, steps=25)
    found = along(meeting, trace, [6, 25], clock=PAPER_CLOCK, seed=1)
    for moment, value in zip((6, 25), found, strict=True):
        rows, ratings = trace.rows[:moment].tolist(), trace.ratings[:moment].tolist()
        assert value == pytest.approx(directly(rows, ratings, meeting.features), rel=1e-6)


def test_a_metric_that_forgets_what_was_just_heard_is_another_one() -> None:
    """The planted error: elapsed times of never-heard songs for all."""
    meeting = WORLD.meeting(0, 4)
    trace = run_one(WORLD, "random", run=0, seed=4, steps=25)
    (right,) = along(meeting, trace, [25], clock=PAPER_CLOCK, seed=1)
    engine = Exact(prior=paper_prior(3))
    history = History.of(
        features=meeting.features[trace.rows], elapsed=trace.elapsed, ratings=trace.ratings
    )
    songs = Songs.of(features=meeting.features, elapsed=MONTH)
    spread = engine.predict(engine.fit(history), songs).standard_deviation()
    assert spread is not None
    assert abs(float(np.mean(spread)) / right - 1) > 0.05


def test_a_job_gives_one_number_for_each_moment_and_the_seed_fixes_it() -> None:
    one = uncertainties("thompson-cn-x", 1, 7, 40, 3, [4, 9])
    assert one == uncertainties("thompson-cn-x", 1, 7, 40, 3, [4, 9])
    assert one != uncertainties("thompson-cn-x", 2, 7, 40, 3, [4, 9])
    assert all(value > 0 for value in one)


def curves(factor: list[float], *, noise: float = 0.02) -> dict[str, Any]:
    """Return two falling curves for eight listeners; the first is `factor` times the second."""
    rng = np.random.default_rng(1)
    common = np.exp(0.5 * rng.standard_normal((8, 1)))
    theirs = common * np.array(MOMENTS) ** -0.7
    scatter = np.exp(noise * rng.standard_normal((8, len(MOMENTS))))
    return {OURS: theirs * np.array(factor) * scatter, THEIRS: theirs}


def test_faster_at_small_n_holds_only_where_it_is() -> None:
    lower, higher, same = [0.7] * 5, [1.3] * 5, [1.0] * 5
    verdicts = [
        faster_finding(curves(factor), MOMENTS, ours=OURS, theirs=THEIRS).verdict
        for factor in (lower, higher, same, [0.7, 0.7, 1.0, 1.0, 1.0])
    ]
    assert verdicts == [Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN, Verdict.PARTLY]


def test_later_is_comparable_only_where_the_interval_says_so() -> None:
    cases = {0.99: Verdict.HOLDS, 0.5: Verdict.FAILS, 0.91: Verdict.OPEN}
    for factor, verdict in cases.items():
        each = curves([1.0, 1.0, 1.0, 1.0, factor])
        assert later_finding(each, MOMENTS, ours=OURS, theirs=THEIRS).verdict is verdict


def test_falling_holds_where_all_fall_and_not_where_one_rises() -> None:
    falling = curves([1.0] * 5)
    assert falling_finding(falling, MOMENTS).verdict is Verdict.HOLDS
    rising = {**falling, THEIRS: 1 / falling[THEIRS]}
    assert falling_finding(rising, MOMENTS).verdict is Verdict.PARTLY
    all_rise = {name: 1 / each for name, each in falling.items()}
    assert falling_finding(all_rise, MOMENTS).verdict is Verdict.FAILS


def test_what_is_not_seen_to_fall_is_open() -> None:
    rng = np.random.default_rng(4)
    flat = {name: np.exp(rng.standard_normal((8, len(MOMENTS)))) for name in (OURS, THEIRS)}
    finding = falling_finding(flat, MOMENTS)
    assert finding.verdict is Verdict.OPEN
    assert "falls under 0 of 2 and rises under 0" in finding.why


def test_both_directions_share_the_level() -> None:
    """The twin: one-sided p-values of the same numbers are below it."""

    def difference(t: float) -> PairedDifference:
        return PairedDifference(mean=t, standard_error=1.0, degrees_of_freedom=15)

    for sign in (-1, 1):
        assert clear_signs([difference(sign * 2.0)]) == [0]
        assert clear_signs([difference(sign * 2.3)]) == [sign]
        # Three in a family need more than one alone.
        assert clear_signs([difference(sign * 2.3), difference(0.0), difference(0.1)]) == [0, 0, 0]
    assert difference(-2.0).p_value / 2 < 0.05
    assert clear_signs([difference(-5.0), difference(4.0), difference(0.5)]) == [-1, 1, 0]


def test_the_rules_say_what_they_say() -> None:
    assert faster_verdict(3, 1, 4) is Verdict.FAILS
    assert faster_verdict(0, 0, 4) is Verdict.OPEN


@pytest.mark.parametrize("size", ["quick", "full"])
def test_the_chapter_is_whole(size: Any) -> None:
    plan = Plan(size=size, seed=2)
    rng = np.random.default_rng(0)
    jobs = STUDY.jobs(plan)
    assert len({job.key for job in jobs}) == len(jobs)
    results = {
        job.key: [
            float(moment**-0.5 * np.exp(0.1 * rng.standard_normal()))
            for moment in job.arguments["moments"]
        ]
        for job in jobs
    }
    assert_whole(STUDY.chapter(plan, results))
