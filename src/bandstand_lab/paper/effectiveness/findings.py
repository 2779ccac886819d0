"""The paper's claims about the order of regret, each beside what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.paper import orders
from bandstand_lab.paper.effectiveness import causes, growth
from bandstand_lab.paper.effectiveness.design import (
    ALGORITHMS,
    EXACT,
    GREEDY,
    PLACES,
    VARIATIONAL,
)
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import BEYOND, Finding, Verdict
from bandstand_lab.statistics.paired import paired_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_lab.paper.effectiveness.outcome import Outcome
    from bandstand_lab.paper.orders import Cell

_PLACE: Final = "Section 5.2.1, Figure 7"
# Regrets that differ by less than this share count as equal.
_CLOSE: Final = 0.10


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return every claim of the effectiveness study with its verdict."""
    return (
        _random_is_worst(outcome),
        _order(
            outcome,
            [(GREEDY, "linucb-c"), (GREEDY, "linucb-cn")],
            paper="Both LinUCB algorithms have more regret than Greedy-CN, since one ignores "
            "novelty and the other takes it for linear.",
        ),
        _order(
            outcome,
            [(EXACT, GREEDY)],
            paper="Bayes-UCB on the exact model has less regret than Greedy-CN, since it explores.",
            why="The posterior is the one that the paper's MCMC samples; whether sampling it "
            "makes a difference is the next chapter's question. ",
        ),
        _order(
            outcome,
            [(VARIATIONAL, GREEDY)],
            paper="Bayes-UCB with variational inference has less regret than Greedy-CN.",
            why=causes.in_words(outcome) + " ",
        ),
        _gap_opens_early(outcome),
        _variational_is_accurate(outcome),
        _order(
            outcome,
            [(EXACT, "greedy-cn-map")],
            paper="Bayes-UCB is also below a fair baseline: greedy with the same prior as penalty "
            "(Greedy-CN, MAP); the paper's has none.",
            place=BEYOND,
        ),
        _order(
            outcome,
            [(EXACT, "thompson-cn-x")],
            paper="Bayes-UCB is below Thompson sampling, which explores by chance instead of by a "
            "quantile.",
            place=BEYOND,
        ),
        growth.finding(outcome),
    )


def order_cells(outcome: Outcome, pairs: Sequence[tuple[str, str]]) -> tuple[Cell, ...]:
    """Return what all worlds say about each (lower, upper), as one family of tests."""
    several = len(pairs) > 1
    found = []
    for lower, upper in pairs:
        for pair in [*outcome.pairs(lower, upper), *outcome.quiet_pairs(lower, upper)]:
            place = f"{look_of(upper).label} at {pair.place}" if several else pair.place
            found.append(orders.Pair(place=place, lower=pair.lower, upper=pair.upper))
    return orders.cells(found)


def _order(
    outcome: Outcome,
    pairs: Sequence[tuple[str, str]],
    *,
    paper: str,
    place: str = _PLACE,
    why: str = "",
) -> Finding:
    cells = order_cells(outcome, pairs)
    lower = look_of(pairs[0][0]).label
    upper = orders.listed([look_of(name).label for _, name in pairs])
    return Finding(
        paper=paper,
        place=place,
        measured=orders.in_words(cells, lower=lower, upper=upper),
        verdict=orders.verdict(cells),
        why=why + orders.JUDGED,
    )


def _random_is_worst(outcome: Outcome) -> Finding:
    others = [name for name in ALGORITHMS if name != "random"]
    cells = order_cells(outcome, [(name, "random") for name in others])
    labels = [(name, pair.place) for name in others for pair in outcome.pairs(name, "random")]
    above = [
        f"{look_of(name).label} at {place}"
        for (name, place), cell in zip(labels, cells, strict=True)
        if not cell.seen
    ]
    best = min(cells, key=lambda cell: cell.ratio)
    worst = max(cells, key=lambda cell: cell.ratio)
    seen = "Random has the largest mean regret in every world, after every number of songs"
    if above:
        seen = f"Random is not the worst: {orders.listed(above)} has as much regret or more"
    significant = sum(cell.confirmed for cell in cells)
    return Finding(
        paper="Choosing at random has the most regret.",
        place=_PLACE,
        measured=(
            f"{seen}; the others have {100 * best.ratio:.0f} to {100 * worst.ratio:.0f} % of it, "
            f"significantly less in {significant} of {len(cells)} comparisons."
        ),
        verdict=orders.verdict(cells),
        why=orders.JUDGED,
    )


def _gap_opens_early(outcome: Outcome) -> Finding:
    """Return whether the gap to greedy grows faster, per song, in the first quarter of the run."""
    early = outcome.design.steps // 4
    pairs, shares = [], []
    for place in PLACES:
        gap = outcome.curves(place, GREEDY) - outcome.curves(place, EXACT)
        first = gap[:, early - 1] / early
        later = (gap[:, -1] - gap[:, early - 1]) / (gap.shape[1] - early)
        pairs.append(orders.Pair(place=place.label, lower=later, upper=first))
        shares.append(f"{first.mean():.2f} then {later.mean():.2f} ({place.label})")
    cells = orders.cells(pairs)
    return Finding(
        paper="The difference between Bayes-UCB and Greedy-CN grows fastest while n is small.",
        place=_PLACE,
        measured=(
            f"The gap grows per song by this much in the first {early} songs and then on average "
            f"in the rest: {'; '.join(shares)}."
        ),
        verdict=orders.verdict(cells),
        why="Compared listener by listener in each world. " + orders.JUDGED,
    )


def _variational_is_accurate(outcome: Outcome) -> Finding:
    """Return whether regret under the approximate model is within 10 % of the exact model's."""
    last, words, within, outside = outcome.design.steps - 1, [], 0, 0
    for place in PLACES:
        ours = outcome.curves(place, VARIATIONAL)[:, last]
        exact = outcome.curves(place, EXACT)[:, last]
        low, high = np.array(paired_difference(ours, exact).interval()) / exact.mean()
        within += bool(max(-low, high) < _CLOSE)
        outside += bool(low > _CLOSE or high < -_CLOSE)
        words.append(f"{100 * low:+.0f} to {100 * high:+.0f} % ({place.label})")
    verdict = Verdict.PARTLY if within else Verdict.OPEN
    if within == len(PLACES):
        verdict = Verdict.HOLDS
    elif outside and not within:
        verdict = Verdict.FAILS
    return Finding(
        paper="The good regret of Bayes-UCB with variational inference shows that the piecewise "
        "linear approximation and the inference are accurate.",
        place=_PLACE,
        measured=(
            f"After {last + 1} songs its regret differs from that of the exact model by "
            f"{orders.listed(words)} (95 % intervals)."
        ),
        verdict=verdict,
        why=(
            "Rule: holds where the interval is within ±10 % in every world, partly where in some, "
            "not where it is beyond in some and within in none. Equal regret would not prove equal "
            "posteriors."
        ),
    )
