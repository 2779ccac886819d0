"""The learned novelty curve: by two routes, and judged against planted truths."""

from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.variational.engine import Variational
from bandstand.core.model.factors import content_novelty
from bandstand.core.model.history import History, Songs
from bandstand.core.model.novelty import novelty
from bandstand.types import MONTH
from bandstand_lab.paper.novelty_learned import (
    SITTING,
    STUDY,
    WEEK,
    band_verdict,
    learn,
    learned_curve,
    match,
    places,
)
from bandstand_lab.report.study import Plan, Verdict
from tests.fixtures.lab.drawn_figures import assert_whole

PLAN = Plan(size="quick", seed=1)


def test_the_curve_is_the_novelty_that_the_engine_tells() -> None:
    rng = np.random.default_rng(1)
    elapsed = rng.choice([5.0, 60.0, 500.0, 2_000.0, MONTH], 80)
    features = rng.standard_normal((80, 3))
    ratings = features @ [1.0, -1.0, 2.0] * novelty(elapsed, 300.0) + rng.standard_normal(80)
    engine = Variational(model=content_novelty(3))
    belief = engine.fit(History.of(features=features, elapsed=elapsed, ratings=ratings))
    mean, deviation = learned_curve(belief, places())
    songs = Songs.of(features=np.ones((len(places()), 3)), elapsed=places())
    prediction = engine.predict(belief, songs)
    assert mean == pytest.approx(prediction.parts()["novelty"], rel=1e-9, abs=1e-12)
    scale = prediction.factor_means[1] / mean
    assert deviation == pytest.approx(prediction.factor_deviations[1] / np.abs(scale), rel=1e-9)


def test_a_listener_is_followed_and_learned() -> None:
    settings = {"run": 0, "steps": 25, "songs": 12, "features": 2, "seed": 3}
    found = learn(listening=WEEK, **settings)
    assert len(found["mean"]) == len(found["truth"]) == len(places())
    assert 0 < len(found["repeats"]) < 25
    assert max(found["repeats"]) < MONTH
    in_a_sitting = learn(listening=SITTING, **settings)
    assert in_a_sitting["truth"] == found["truth"]
    assert max(in_a_sitting["repeats"]) < max(found["repeats"])


def result(*, shift: float = 0.0, deviation: float = 0.05, repeats: Any = (0.1, 3_000.0)) -> Any:
    """Return a learned curve that is off by `shift` everywhere."""
    truth = novelty(places(), 300.0)
    return {
        "recovery_time": 300.0,
        "repeats": list(repeats),
        "mean": (truth + shift).tolist(),
        "standard_deviation": [deviation] * len(truth),
        "truth": truth.tolist(),
    }


def test_a_match_is_measured_where_songs_came_back() -> None:
    exact = match(result())
    assert (exact.error, exact.error_everywhere, exact.coverage) == (0.0, 0.0, 1.0)
    assert exact.width_outside is None
    off = match(result(shift=0.2, repeats=[10.0, 100.0]))
    assert off.error == pytest.approx(0.2)
    assert off.coverage == 0
    assert off.width_outside == pytest.approx(0.05)
    assert off.longest == 100.0


def test_without_repeats_nothing_was_visited() -> None:
    nothing = match(result(repeats=[]))
    assert (nothing.error, nothing.coverage, nothing.longest) == (None, None, None)
    assert nothing.error_everywhere == 0


def verdicts(**by_way: list[Any]) -> list[Verdict]:
    found = {}
    for job in STUDY.jobs(PLAN):
        options = by_way[job.arguments["listening"]]
        found[job.key] = options[job.arguments["run"] % len(options)]
    chapter = STUDY.chapter(PLAN, found)
    return [finding.verdict for finding in chapter.findings]


@pytest.mark.parametrize("repeats", [[10.0, 100.0], []])
def test_the_chapter_is_whole_with_and_without_repeats(repeats: list[float]) -> None:
    assert_whole(
        STUDY.chapter(PLAN, {job.key: result(repeats=repeats) for job in STUDY.jobs(PLAN)})
    )


def test_the_verdict_on_the_shape_follows_from_the_errors() -> None:
    good, bad, short = result(), result(shift=0.3), result(shift=0.3, repeats=[])
    assert verdicts(sitting=[good], week=[good])[0] is Verdict.HOLDS
    assert verdicts(sitting=[bad], week=[bad])[0] is Verdict.FAILS
    assert verdicts(sitting=[good], week=[bad])[0] is Verdict.FAILS
    assert verdicts(sitting=[short], week=[short])[0] is Verdict.OPEN
    partly = result(repeats=[0.1, 100.0])
    partly["mean"] = [
        mean + (2.0 if minutes > 100 else 0.0)
        for mean, minutes in zip(partly["mean"], places(), strict=True)
    ]
    assert verdicts(sitting=[partly], week=[good])[0] is Verdict.PARTLY


def test_the_verdict_on_the_band_follows_from_the_coverage() -> None:
    wide, narrow = result(), result(shift=0.06)
    assert verdicts(sitting=[wide], week=[wide])[1] is Verdict.FAILS
    assert verdicts(sitting=[narrow], week=[narrow])[1] is Verdict.FAILS
    assert verdicts(sitting=[wide, narrow], week=[wide])[1] is Verdict.OPEN
    none = result(repeats=[])
    assert verdicts(sitting=[none], week=[none])[1] is Verdict.OPEN


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.60, 0.75), Verdict.HOLDS),
        ((0.70, 0.76), Verdict.HOLDS),
        ((0.56, 0.92), Verdict.OPEN),
        ((0.50, 0.65), Verdict.PARTLY),
        ((0.72, 0.90), Verdict.PARTLY),
        ((0.30, 0.55), Verdict.FAILS),
        ((0.80, 0.95), Verdict.FAILS),
        (None, Verdict.OPEN),
    ],
)
def test_a_band_is_calibrated_only_if_its_interval_is_near_what_it_should_be(
    interval: tuple[float, float] | None, verdict: Verdict
) -> None:
    assert band_verdict(interval) is verdict


def test_every_listener_listens_in_both_ways() -> None:
    for plan in (PLAN, Plan(size="full")):
        jobs = STUDY.jobs(plan)
        runs = {way: [] for way in (SITTING, WEEK)}  # type: dict[str, list[int]]
        for job in jobs:
            runs[job.arguments["listening"]].append(job.arguments["run"])
        assert runs[SITTING] == runs[WEEK]
        assert len(runs[WEEK]) >= 4
        assert len({job.key for job in jobs}) == len(jobs)
