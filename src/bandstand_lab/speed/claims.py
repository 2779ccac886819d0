"""What the paper says of training times, beside what was measured here, in words.

Each claim is judged by a rule that is stated with it (see `evidence` for how several sizes
make one verdict). Where a claim does not hold, the numbers behind say why: how many iterations
a method took, and how long one of them takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.model.slopes import straight_line
from bandstand_lab.report.study import Finding, Verdict
from bandstand_lab.speed.evidence import (
    LEAST_R_SQUARED,
    MOST_EXPONENT,
    NOT_LINEAR,
    extra_time_in_words,
    geometric_mean,
    growth_in_words,
    linear_verdict,
    mean_of_rounds,
    power_of,
    span,
    verdict_on,
)
from bandstand_lab.speed.learners import ITERATIONS, LABELS, REFERENCE_STEPS
from bandstand_lab.speed.numbers import number
from bandstand_lab.speed.training import LARGE

if TYPE_CHECKING:
    from bandstand.model.slopes import Line
    from bandstand_lab.speed.evidence import Estimate
    from bandstand_lab.speed.training import TrainingStudy

PLACE: Final = "Section 5.2.2, Figure 8"
VARIATIONAL: Final = "variational-2"
SAMPLERS: Final = ("metropolis", "mcmc")

TIMES_FASTER: Final = 100.0
# "Only slightly slows down" is read as: at most half as long again.
SLIGHTLY: Final = 1.5
MANY: Final = 1_000
SECONDS: Final = 2.0


def efficiency_findings(study: TrainingStudy) -> tuple[Finding, ...]:
    """Return the verdict on each claim of the paper about training times."""
    return (
        _linear(study, SAMPLERS[0], "MCMC"),
        _linear(study, VARIATIONAL, "variational inference"),
        _times_faster(study),
        _faster_than_descent(study),
        _third_factor(study),
        _in_seconds(study),
        _linucb_is_fastest(study),
    )


def ratios(study: TrainingStudy, above: str, below: str) -> dict[int, Estimate]:
    """Return how many times as long one method takes as another, at each size."""
    return {size: geometric_mean(study.ratio(above, below, size)) for size in study.sizes}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a method stands among the others at one size."""

    method: str
    median: float  # seconds
    over_faster: Estimate | None  # times as long as the next faster one; None for the fastest
    over_variational: Estimate


def in_order_of_time(study: TrainingStudy, size: int) -> list[Place]:
    """Return the methods at one size, the fastest first."""
    order = sorted(study.methods, key=lambda method: study.seconds(method, size).median)
    return [
        Place(
            method=method,
            median=study.seconds(method, size).median,
            over_faster=geometric_mean(study.ratio(method, faster, size)) if faster else None,
            over_variational=geometric_mean(study.ratio(method, VARIATIONAL, size)),
        )
        for faster, method in zip([None, *order], order, strict=False)
    ]


def growth(study: TrainingStudy, method: str, fewest: int = 0) -> Estimate | None:
    """Return the exponent of N with its interval; None from fewer than two sizes."""
    rounds = study.growth_by_round(method, fewest)
    return None if rounds is None else mean_of_rounds(rounds)


def line_through(study: TrainingStudy, method: str, fewest: int = 0) -> Line | None:
    """Return the straight line through the median times; None from fewer than three sizes."""
    sizes = [size for size in study.sizes if size >= fewest]
    if len(sizes) < 3:
        return None
    return straight_line(sizes, [study.seconds(method, size).median for size in sizes])


# ── Growth ───────────────────────────────────────────────────────────────────────────────


def power(study: TrainingStudy, method: str, fewest: int = 0) -> Estimate | None:
    """Return the k of a + b·N^k with its interval; None from fewer than three sizes."""
    return power_of({size: study.seconds(method, size) for size in study.sizes if size >= fewest})


def _linear(study: TrainingStudy, method: str, name: str) -> Finding:
    exponent, line = power(study, method, LARGE), line_through(study, method)
    slope = growth(study, method, LARGE)
    grows = None if slope is None else slope.above(0.0)
    measured = f"{LABELS[method]}: "
    if exponent is None:
        measured += f"there are too few sizes from {LARGE} ratings on, or rounds, to tell. "
    elif grows is not False:
        measured += (
            f"from {LARGE} ratings on, a fixed cost plus a multiple of N^k fits best with k = "
            f"{exponent.shown()}: {growth_in_words(exponent)}. "
        )
    else:
        measured += f"from {LARGE} ratings on, the time falls. "
    if line is not None:
        measured += f"A straight line through all sizes explains {_share(line)} of the variance."
    return Finding(
        paper=f"The time that {name} takes grows linearly with the number of ratings.",
        place=PLACE,
        measured=measured.strip(),
        verdict=Verdict.FAILS if grows is False else linear_verdict(exponent, line),
        why=_LINEAR_RULE + _iterations_in_words(study, method),
    )


_LINEAR_RULE: Final = (
    f"Linear is: from {LARGE} ratings on, the 95 % interval of k contains 1, so that a straight "
    "line with a fixed cost fits as well as k left free, and neither "
    f"{NOT_LINEAR[0]} nor {NOT_LINEAR[1]}, and a straight line explains {LEAST_R_SQUARED:.0%} of "
    "the variance over all sizes; partly, if only the last is not so. An interval all below 1 is "
    f"at most linear, one that begins between 1 and {MOST_EXPONENT} nearly linear: both hold "
    f"partly. One all above {MOST_EXPONENT}, or falling times, do not hold; else it cannot be "
    "told. "
)


def _share(line: Line) -> str:
    return f"{100 * line.r_squared:.1f} %"


def _iterations_in_words(study: TrainingStudy, method: str) -> str:
    """Return how many iterations there were at both ends, and how one grows with N."""
    first, last = study.sizes[0], study.sizes[-1]
    each = [study.seconds_each(method, size) for size in study.sizes]
    line = straight_line(np.log(study.sizes), np.log(each))
    if line is None:
        return ""
    few, many = (study.iterations(method, size) for size in (first, last))
    return (
        f"It took {few:,.0f} {ITERATIONS[method]} with {first:,} ratings and "
        f"{many:,.0f} with {last:,}; the time of one grows like N^{line.slope:.2f}."
    )


# ── What is faster than what ─────────────────────────────────────────────────────────────


def _times_faster(study: TrainingStudy) -> Finding:
    found = {sampler: ratios(study, sampler, VARIATIONAL) for sampler in SAMPLERS}
    answers = [each.above(TIMES_FASTER) for sizes in found.values() for each in sizes.values()]
    told = "; ".join(
        f"{LABELS[sampler]}: {span(list(sizes.values()))} times as long"
        for sampler, sizes in found.items()
    )
    size = study.sizes[-1]
    needed = REFERENCE_STEPS * TIMES_FASTER / found["metropolis"][size].value
    return Finding(
        paper="Variational inference is more than 100 times faster than MCMC.",
        place=PLACE,
        measured=f"{told}, over the sizes measured.",
        verdict=verdict_on(answers),
        why=(
            "It holds if both samplers take more than 100 times as long at every size. The ratio "
            "goes with the number of steps, which the paper does not tell: at "
            f"{size:,} ratings the plain sampler would need {needed:,.0f} steps. The collapsed "
            "one draws until four chains agree and have 2,000 effective draws."
        ),
    )


def _faster_than_descent(study: TrainingStudy) -> Finding:
    with_gradient = ratios(study, "least-squares", VARIATIONAL)
    without = ratios(study, "least-squares-differences", VARIATIONAL)
    penalised = ratios(study, "least-squares-map", VARIATIONAL)
    return Finding(
        paper="Variational inference is significantly faster than L-BFGS-B.",
        place=PLACE,
        measured=(
            f"L-BFGS-B takes {span(list(with_gradient.values()), ' ×')} the time of variational "
            f"inference, with the prior as a penalty {span(list(penalised.values()), ' ×')}; "
            f"without a gradient, {span(list(without.values()), ' ×')}."
        ),
        verdict=verdict_on(each.above(1.0) for each in with_gradient.values()),
        why=(
            "It holds if L-BFGS-B with its gradient takes longer at every size. "
            f"{_costs_in_words(study)} An optimiser that is given no gradient, as R's is by "
            "default, works it out by one more evaluation for each coefficient; of that one the "
            f"claim {verdict_on(each.above(1.0) for each in without.values())}."
        ),
    )


def _costs_in_words(study: TrainingStudy) -> str:
    """Return what an evaluation and a sweep cost at the largest size."""
    size = study.sizes[-1]
    parts = [
        f"{study.iterations(method, size):,.0f} {ITERATIONS[method]} of "
        f"{number(1_000 * study.seconds_each(method, size))} ms"
        for method in ("least-squares", VARIATIONAL)
    ]
    return f"With {size:,} ratings it needed {parts[0]}, variational inference {parts[1]}."


def _third_factor(study: TrainingStudy) -> Finding:
    found = ratios(study, "variational-3", VARIATIONAL)
    size = study.sizes[-1]
    each = study.seconds_each("variational-3", size) / study.seconds_each(VARIATIONAL, size)
    sweeps = [study.iterations(method, size) for method in ("variational-3", VARIATIONAL)]
    return Finding(
        paper="A third factor only slightly slows down variational inference.",
        place=PLACE,
        measured=f"Three factors take {span(list(found.values()))} times as long as two.",
        verdict=verdict_on(estimate.below(SLIGHTLY) for estimate in found.values()),
        why=(
            f"Slightly is read as at most {SLIGHTLY} times as long, at every size. With "
            f"{size:,} ratings three factors needed {sweeps[0]:,.0f} sweeps and two "
            f"{sweeps[1]:,.0f}; one sweep took {number(each)} times as long. "
            + extra_time_in_words(sweeps[0] / sweeps[1], each)
        ),
    )


def _in_seconds(study: TrainingStudy) -> Finding:
    sizes = [size for size in study.sizes if size <= MANY]
    paper = f"With fewer than {MANY:,} ratings variational inference ends within 2 seconds."
    rule = f"It holds if every single run with at most {MANY:,} ratings took less than 2 s"
    if not sizes:
        return Finding(
            paper=paper,
            place=PLACE,
            measured=f"The fewest ratings measured are {study.sizes[0]:,}.",
            verdict=Verdict.OPEN,
            why=f"{rule}.",
        )
    spreads = [study.seconds(VARIATIONAL, size) for size in sizes]
    slowest = max(max(spread.runs) for spread in spreads)
    largest = study.sizes[-1]
    return Finding(
        paper=paper,
        place=PLACE,
        measured=(
            f"The slowest of {sum(len(spread.runs) for spread in spreads)} runs with "
            f"{sizes[0]:,} to {sizes[-1]:,} ratings took {number(1_000 * slowest)} ms; with "
            f"{largest:,} ratings it takes "
            f"{number(1_000 * study.seconds(VARIATIONAL, largest).median)} ms."
        ),
        verdict=verdict_on(max(spread.runs) < SECONDS for spread in spreads),
        why=(
            f"{rule}; partly, if that is so at some of the sizes. Processor time on one thread; "
            "the paper's was that of R on a core of 2.27 GHz."
        ),
    )


def _linucb_is_fastest(study: TrainingStudy) -> Finding:
    others = [method for method in study.methods if method != "ridge"]
    found = {other: ratios(study, other, "ridge") for other in others}
    nearest = min(others, key=lambda other: min(each.value for each in found[other].values()))
    return Finding(
        paper="LinUCB is much simpler than the other algorithms, and thus faster.",
        place=PLACE,
        measured=(
            f"The nearest is {LABELS[nearest]}: {span(list(found[nearest].values()))} times as "
            "long as ridge regression. Variational inference takes "
            f"{span(list(found[VARIATIONAL].values()))} times as long."
        ),
        verdict=verdict_on(each.above(1.0) for sizes in found.values() for each in sizes.values()),
        why=(
            "It holds if every other method takes longer than ridge regression at every size. All "
            "begin from nothing here; in a radio ridge regression, like the exact engine, adds the "
            "last answer to what it has."
        ),
    )
