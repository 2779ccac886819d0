"""The paper's check of its content model (Section 5.1.2): ratings predicted from features.

Raters, of a file or simulated, are cross-validated in parts; each part is a job. Simulated
raters are in the design of the paper, at several shares of the taste that lies in the features;
a job of them is the same whatever else is asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bandstand_lab.content.comparison import Compared, RaterComparison
from bandstand_lab.content.plot import draw_content
from bandstand_lab.content.ratings import (
    PAPER_CONTENT_RMSE,
    PAPER_FEATURES,
    PAPER_RANDOM_RMSE,
    PAPER_RATERS,
    PAPER_SONGS,
    PAPER_SPREAD,
    RatedItems,
    read_rated_items,
    simulated_ratings,
)
from bandstand_lab.content.validation import DEFAULT_FOLDS, LABELS, RaterErrors, cross_validate
from bandstand_lab.report.study import (
    Cell,
    Chapter,
    Finding,
    Job,
    Json,
    Plan,
    Study,
    Verdict,
    verdict_on,
)
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.paired import p_words

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "content.toml")
_RATERS_PER_JOB: Final = 13  # four jobs are the paper's 52
_MAIN_SHARE: Final = 0.3
_SIGNIFICANT: Final = 0.05


def jobs(plan: Plan) -> Sequence[Job]:
    """Return simulated raters at several shares, and those of the user's files."""
    simulated = [job for share in shares(plan) for job in simulated_jobs(plan, share)]
    return [*simulated, *real_jobs(plan)]


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return the errors, and the verdict on each claim."""
    by_share = {share: _compared(simulated_jobs(plan, share), results) for share in shares(plan)}
    own = real_jobs(plan)
    real = _compared(own, results) if own else None
    main = by_share[_MAIN_SHARE] if real is None else real
    whose = TEXTS("simulated" if real is None else "real", share=_MAIN_SHARE)
    return TEXTS.chapter(
        method={"songs": PAPER_SONGS, "features": PAPER_FEATURES, "spread": PAPER_SPREAD},
        findings=(
            _below_random(main, whose, is_real=real is not None),
            _blind_features(by_share) if real is None else _real_features(real),
        ),
        tables=(
            TEXTS.table("raters", _rows(main), raters=len(main.raters), whose=whose),
            TEXTS.table("shares", _share_rows(by_share), names=list(LABELS.values())),
        ),
        drawings=(
            TEXTS.drawing(
                "content-raters",
                partial(draw_content, comparison=main),
                inches=(8.0, 4.2),
                whose=whose,
                **_errors(main),
            ),
        ),
    )


# ── Jobs ─────────────────────────────────────────────────────────────────────────────────


def shares(plan: Plan) -> tuple[float, ...]:
    """Return how much of the feeling's variance comes from the features, in each world."""
    return plan.pick(quick=(0.0, 0.3, 0.6), full=(0.0, 0.15, 0.3, 0.45, 0.6))


def _raters(plan: Plan, share: float) -> int:
    """Return how many raters are simulated: as many as the paper had where it matters most."""
    if share == _MAIN_SHARE:
        return plan.pick(quick=2 * _RATERS_PER_JOB, full=PAPER_RATERS)
    return plan.pick(quick=_RATERS_PER_JOB, full=2 * _RATERS_PER_JOB)


def simulated_jobs(plan: Plan, share: float) -> list[Job]:
    """Return the jobs of one simulated world."""
    some = {"share": share, "raters": _RATERS_PER_JOB, "seed": plan.seed}
    return [
        Job.of(
            validate_simulated, f"share-{100 * share:02.0f}-raters-{first:02d}", first=first, **some
        )
        for first in range(0, _raters(plan, share), _RATERS_PER_JOB)
    ]


def real_jobs(plan: Plan) -> list[Job]:
    """Return the jobs of the user's own files."""
    if plan.content is None:
        return []
    items, ratings = plan.content
    rated = read_rated_items(items, ratings, folds=DEFAULT_FOLDS)
    some = {"items": str(items), "ratings": str(ratings), "raters": _RATERS_PER_JOB}
    return [
        Job.of(validate_real, f"real-raters-{first:04d}", first=first, seed=plan.seed, **some)
        for first in range(0, len(rated.raters), _RATERS_PER_JOB)
    ]


def validate_simulated(*, share: float, first: int, raters: int, seed: int) -> Json:
    """Return the errors of some simulated raters; a job."""
    rated = simulated_ratings(share=share, seed=seed, first=first, raters=raters)
    return _validated(rated, seed)


def validate_real(*, items: str, ratings: str, first: int, raters: int, seed: int) -> Json:
    """Return the errors of some raters of a file; a job."""
    rated = read_rated_items(Path(items), Path(ratings), folds=DEFAULT_FOLDS)
    return _validated(rated, seed, slice(first, first + raters))


def _validated(rated: RatedItems, seed: int, some: slice = slice(None)) -> Json:
    return [
        asdict(cross_validate(rated.features[rater.rows], rater, seed=seed))
        for rater in rated.raters[some]
    ]


def _compared(jobs: Sequence[Job], results: Mapping[str, Json]) -> RaterComparison:
    """Return the raters of several jobs together."""
    return RaterComparison(
        raters=tuple(RaterErrors(**rater) for job in jobs for rater in results[job.key])
    )


# ── Claims ───────────────────────────────────────────────────────────────────────────────


def _below_random(comparison: RaterComparison, whose: str, *, is_real: bool) -> Finding:
    """Return whether the content model is below random draws of the same distribution."""
    against = _rival(comparison, "random")
    return TEXTS.finding(
        "below_random",
        # Simulated raters say nothing about people, however clear they are.
        verdict_on([is_below(against)]) if is_real else Verdict.OPEN,
        whose=whose,
        p=_p(against),
        **_errors(comparison),
    )


def _blind_features(by_share: Mapping[float, RaterComparison]) -> Finding:
    """Return whether the paper's argument fails for features that tell nothing."""
    against = _rival(by_share[0.0], "random")
    gain = 1 - PAPER_CONTENT_RMSE / PAPER_SPREAD
    share = share_at(by_share, PAPER_CONTENT_RMSE)
    verdict = Verdict.OPEN  # an argument that blind features do not pass is not thereby right
    if is_below(against):
        verdict = Verdict.PARTLY if gain > 0 else Verdict.FAILS
    return TEXTS.finding(
        "blind_features",
        verdict,
        p=_p(against),
        gain=gain,
        share=share,
        **_errors(by_share[0.0]),
    )


def _real_features(real: RaterComparison) -> Finding:
    """Return whether the content model of real raters is below their mean."""
    against, ridge = _rival(real, "mean"), real.explained("ridge")
    return TEXTS.finding(
        "real_features",
        verdict_on([is_below(against)]),
        p=_p(against),
        explained=None if ridge is None else ridge.mean,
        **_errors(real),
    )


def share_at(by_share: Mapping[float, RaterComparison], rmse: float) -> float | None:
    """Return at which share of the features the content model's error is `rmse`, between worlds.

    None if it is so in none of them.
    """
    places = sorted(by_share)
    errors = [by_share[share].estimate("content").mean for share in places]
    if not min(errors) <= rmse <= max(errors) or np.any(np.diff(errors) >= 0):
        return None
    return float(np.interp(-rmse, [-error for error in errors], places))


def is_below(against: Compared | None) -> bool | None:
    """Return whether the content model's error is below the rival's, by the two-sided test.

    False is: above it. None is: undecided.
    """
    if against is None or against.difference.p_value >= _SIGNIFICANT:
        return None
    return against.difference.mean < 0


def _rival(comparison: RaterComparison, name: str) -> Compared | None:
    """Return the content model against one rival, or None with a single rater."""
    return next((each for each in comparison.against_rivals() if each.rival == name), None)


def _p(against: Compared | None) -> str:
    return "one rater, no test" if against is None else p_words(against.difference.p_value)


def _errors(comparison: RaterComparison) -> dict[str, Any]:
    """Return the numbers that the texts share."""
    names = ("content", "random", "mean", "ridge")
    return {
        "raters": len(comparison.raters),
        **{name: comparison.estimate(name).shown() for name in names},
        "paper": {
            "content": PAPER_CONTENT_RMSE,
            "random": PAPER_RANDOM_RMSE,
            "spread": PAPER_SPREAD,
        },
    }


# ── Tables ────────────────────────────────────────────────────────────────────


def _rows(comparison: RaterComparison) -> Iterator[tuple[Cell, ...]]:
    against = {each.rival: each for each in comparison.against_rivals()}
    for name in comparison.predictors:
        share, each = comparison.explained(name), against.get(name)
        differences: tuple[Cell, ...] = (None, None, None, None)
        if each is not None:
            difference = each.difference
            differences = (difference.mean, *difference.interval(), each.corrected_p_value)
        explained = None if share is None else f"{share.mean:.1%}"
        yield (LABELS[name], comparison.estimate(name).shown(), explained, *differences)


def _share_rows(by_share: Mapping[float, RaterComparison]) -> list[tuple[Cell, ...]]:
    return [
        (f"{share:.0%}", len(each.raters), *(each.estimate(name).shown() for name in LABELS))
        for share, each in sorted(by_share.items())
    ]


STUDY: Final = Study(
    name="content", title="Does the sound of songs explain ratings?", jobs=jobs, chapter=chapter
)
