"""What the paper says of prediction times, beside what was measured here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.paper.prediction_time.contenders import (
    DRAWS,
    KEPT,
    LABELS,
    SAMPLED,
    SEARCHED,
    SOLVED,
)
from bandstand_lab.report.study import Finding
from bandstand_lab.speed.evidence import span, verdict_on
from bandstand_lab.speed.numbers import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_lab.paper.prediction_time.results import Accuracy, PredictionTimes
    from bandstand_lab.speed.evidence import Estimate

PLACE: Final = "Section 5.2.2"
SIMPLE: Final = ("linucb-c", "linucb-cn", "greedy-cn")
SAMPLING: Final = ("bayes-ucb-cn", SAMPLED)
# A quantile this near to the true one, in standard deviations, is as good as it.
ACCURATE: Final = 1e-6
# "Significantly" is read as: at least twice as fast.
SIGNIFICANTLY: Final = 2.0
MOST_EXPONENT: Final = 1.15


def prediction_findings(
    times: PredictionTimes, accuracies: Sequence[Accuracy]
) -> tuple[Finding, ...]:
    """Return the verdict on each claim of the paper about prediction times."""
    return (
        _slower(times),
        _because_of_sampling(times),
        _prodclin(times, accuracies),
        _large(times),
    )


def _slower(times: PredictionTimes) -> Finding:
    found = {
        (slow, simple): [times.ratio(slow, simple, size) for size in times.sizes]
        for slow in SAMPLING
        for simple in SIMPLE
    }
    size = times.sizes[-1]
    told = "; ".join(
        f"{LABELS[slow]} takes "
        + ", ".join(f"{number(times.ratio(slow, simple, size).value)} ×" for simple in SIMPLE)
        for slow in SAMPLING
    )
    closest = min(
        (each for row in found.values() for each in row), key=lambda estimate: estimate.value
    )
    return Finding(
        paper="The Bayesian methods take longer to predict than Greedy and LinUCB.",
        place=PLACE,
        measured=(
            f"With {size:,} songs {told} the time of LinUCB-C, LinUCB-CN and Greedy-CN; the "
            f"smallest of all ratios is {closest.shown()}."
        ),
        verdict=verdict_on(each.above(1.0) for row in found.values() for each in row),
        why=(
            "It holds if both methods that sample take longer than each of the three, at every "
            "number of songs."
        ),
    )


def _because_of_sampling(times: PredictionTimes) -> Finding:
    size = times.sizes[-1]
    against = {simple: _ratios(times, SEARCHED, simple) for simple in SIMPLE}
    exact = {simple: times.ratio(KEPT, simple, size) for simple in SIMPLE}
    share = times.sampling_share(size)
    return Finding(
        paper="They take longer because of the sampling.",
        place=PLACE,
        measured=(
            f"With {size:,} songs drawing and sorting is {share:.0%} of the time of variational "
            "prediction by Monte Carlo. Without sampling it takes "
            f"{against['linucb-c'][-1].shown()} times as long as LinUCB-C and "
            f"{against['greedy-cn'][-1].shown()} times as long as Greedy-CN; the exact "
            f"engine in a radio {exact['linucb-c'].shown()} and {exact['greedy-cn'].shown()} times."
        ),
        verdict=verdict_on(times.sampling_share(size) > 0.5 for size in times.sizes),
        why=(
            "It holds if more than half of the time is the sampling, at every number of songs. "
            "Greedy multiplies the catalogue by one vector; whoever needs the spread of every "
            "song, as LinUCB does, by a matrix."
        ),
    )


def _prodclin(times: PredictionTimes, accuracies: Sequence[Accuracy]) -> Finding:
    faster = _ratios(times, SAMPLED, SOLVED)
    searched = _ratios(times, SAMPLED, SEARCHED)
    worst = max(each.solved_error for each in accuracies)
    usual = [_with_draws(each) for each in accuracies]
    return Finding(
        paper=(
            "For two factors a deterministic quantile (PRODCLIN) makes prediction significantly "
            "faster without a loss of accuracy."
        ),
        place=PLACE,
        measured=(
            f"Monte Carlo with {DRAWS:,} draws takes {span(faster)} times as long as solving "
            f"every song's quantile, and {span(searched)} times as long as solving only those "
            f"that can be the best. The deterministic quantile is off by at most {worst:.0e} "
            f"standard deviations, Monte Carlo by {_errors(usual)}; it chose the right song for "
            f"{_same_song(usual)} of the listeners."
        ),
        verdict=verdict_on([*(each.above(SIGNIFICANTLY) for each in faster), worst < ACCURATE]),
        why=(
            f"It holds if Monte Carlo takes more than {SIGNIFICANTLY:g} times as long at every "
            f"number of songs, and the deterministic quantile is within {ACCURATE:g} standard "
            f"deviations of adaptive quadrature. {_equal_accuracy(accuracies)}"
        ),
    )


def _equal_accuracy(accuracies: Sequence[Accuracy]) -> str:
    """Return what Monte Carlo would need to be as accurate, and how it fares in the same time."""
    last = accuracies[-1]
    return (
        f"In the time that solving every quantile takes, Monte Carlo errs by "
        f"{number(last.error_in_the_same_time())} standard deviations (after {last.ratings} "
        f"ratings); for an error of 0.001 it would need {_rounded(last.draws_for(1e-3))} draws of "
        "each song."
    )


def _rounded(count: float) -> str:
    """Return a large number to two digits.

    >>> _rounded(23_912_345.0)
    '24,000,000'
    """
    return f"{float(f'{count:.1e}'):,.0f}"


def _large(times: PredictionTimes) -> Finding:
    growths = {name: times.growth(name) for name in (SOLVED, SEARCHED)}
    size = times.sizes[-1]
    told = "; ".join(
        f"{LABELS[name]}: S^k with k = {growth.shown()}"
        for name, growth in growths.items()
        if growth is not None
    )
    return Finding(
        paper="Songs are predicted independently, so large libraries should be easy to serve.",
        place=PLACE,
        measured=(
            f"{told or 'One number of songs was measured'}. With {size:,} songs the best one is "
            f"found in {number(1_000 * times.median(SEARCHED, size))} ms, by the exact engine in "
            f"{number(1_000 * times.median(KEPT, size))} ms."
        ),
        verdict=verdict_on(
            None if growth is None else growth.below(MOST_EXPONENT) for growth in growths.values()
        ),
        why=(
            "It holds if the time grows no faster than linearly with the number of songs: the "
            f"exponent's interval is below {MOST_EXPONENT}."
        ),
    )


def _ratios(times: PredictionTimes, above: str, below: str) -> list[Estimate]:
    return [times.ratio(above, below, size) for size in times.sizes]


def _with_draws(accuracy: Accuracy) -> tuple[float, float]:
    """Return error and share of right songs with the usual number of draws."""
    usual = next(each for each in accuracy.sampled if each.draws == DRAWS)
    return usual.error, usual.same_song


def _errors(usual: Sequence[tuple[float, float]]) -> str:
    errors = sorted(error for error, _ in usual)
    return f"{number(errors[0])} to {number(errors[-1])}"


def _same_song(usual: Sequence[tuple[float, float]]) -> str:
    shares = sorted(share for _, share in usual)
    return f"{shares[0]:.0%} to {shares[-1]:.0%}"
