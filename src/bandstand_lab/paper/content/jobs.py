"""What is computed: raters in parts, each part a job.

Real raters come from the user's files. Simulated ones are in the design of the paper, at several
shares of the taste that lies in the features; a job of them is the same whatever else is asked.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bandstand_lab.content.comparison import Comparison
from bandstand_lab.content.ratings import read_rated_items
from bandstand_lab.content.simulated import PAPER_RATERS, simulated_ratings
from bandstand_lab.content.validation import DEFAULT_FOLDS, RaterErrors, cross_validate
from bandstand_lab.report.study import Job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.content.ratings import RatedItems
    from bandstand_lab.report.study import Json, Plan

_HOME: Final = "bandstand_lab.paper.content.jobs"
_AT_ONCE: Final = 13  # raters in a job; four jobs are the paper's 52
_REAL: Final = "real"


def shares(plan: Plan) -> tuple[float, ...]:
    """Return how much of the feeling's variance comes from the features, in each world."""
    return plan.pick(quick=(0.0, 0.3, 0.6), full=(0.0, 0.15, 0.3, 0.45, 0.6))


def raters(plan: Plan, share: float) -> int:
    """Return how many raters are simulated: as many as the paper had where it matters most."""
    if share == 0.3:
        return plan.pick(quick=2 * _AT_ONCE, full=PAPER_RATERS)
    return plan.pick(quick=_AT_ONCE, full=2 * _AT_ONCE)


def simulated_jobs(plan: Plan, share: float) -> list[Job]:
    """Return the jobs of one simulated world."""
    return [
        Job(
            key=f"share-{100 * share:02.0f}-raters-{first:02d}",
            function=f"{_HOME}:validate_simulated",
            arguments={"share": share, "first": first, "raters": _AT_ONCE, "seed": plan.seed},
        )
        for first in range(0, raters(plan, share), _AT_ONCE)
    ]


def real_jobs(plan: Plan) -> list[Job]:
    """Return the jobs of the user's own files, which are read here to be refused early."""
    if plan.content is None:
        return []
    items, ratings = plan.content
    rated = read_rated_items(items, ratings, folds=DEFAULT_FOLDS)
    digest = hashlib.sha256(items.read_bytes() + b"\0" + ratings.read_bytes()).hexdigest()
    return [
        Job(
            key=f"{_REAL}-raters-{first:04d}",
            function=f"{_HOME}:validate_real",
            arguments={
                "items": str(items.resolve()),
                "ratings": str(ratings.resolve()),
                "first": first,
                "raters": _AT_ONCE,
                "seed": plan.seed,
                "digest": digest,  # other files under the same names are another job
            },
        )
        for first in range(0, len(rated.raters), _AT_ONCE)
    ]


def validate_simulated(*, share: float, first: int, raters: int, seed: int) -> Json:
    """Return the errors of some simulated raters."""
    rated = simulated_ratings(share=share, seed=seed, first=first, raters=raters)
    return _validated(rated, seed)


def validate_real(
    *, items: str, ratings: str, first: int, raters: int, seed: int, digest: str
) -> Json:
    """Return the errors of some raters of a file."""
    del digest
    rated = read_rated_items(Path(items), Path(ratings), folds=DEFAULT_FOLDS)
    return _validated(rated, seed, slice(first, first + raters))


def compared(jobs: Sequence[Job], results: Mapping[str, Json]) -> Comparison:
    """Return the raters of several jobs together."""
    return Comparison(
        raters=tuple(RaterErrors.from_json(rater) for job in jobs for rater in results[job.key])
    )


def _validated(rated: RatedItems, seed: int, some: slice = slice(None)) -> Json:
    return [
        cross_validate(rated.features[rater.rows], rater, seed=seed).as_json()
        for rater in rated.raters[some]
    ]
