"""The paper's claims about repetition beside what was measured; the rules are in `RULE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.paper.orders import SIGNIFICANT, Pair, cells
from bandstand_lab.paper.repetition.settings import EXACT, OTHERS, PRODUCT, SAMPLED
from bandstand_lab.report.spoken import spoken
from bandstand_lab.report.study import Finding, Verdict
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.paper.orders import Cell
    from bandstand_lab.paper.repetition.measures import Played

RULE: Final = (
    "The plays of one listener are nearer to Zipf's law (with an exponent of at least ½) when it "
    "is clearly likelier than an exponential fall (Vuong, p < 0.05) and than equal plays (6.8 "
    "times as likely; neither law is a case of the other, so this is no p-value); they are not "
    "when one of these two is clearly likelier by the same measures; else it is open, also where "
    "less than 5 % of the plays are repeats. An algorithm does what more than half of its "
    "listeners' plays do. Nearer does not mean that the law fits: its fit is not tested, and "
    "other heavy tails are not compared."
)
_ONE_SAID: Final = {
    Shape.ZIPF: "is nearer to it than to the other laws",
    Shape.OTHER: "is nearer to another law",
    Shape.OPEN: "is open",
}
_PLACE: Final = "Section 5.3.2, Figure 12"
_IDEAL: Final = (
    "An ideal algorithm reproduces how people repeat songs; those that multiply content and "
    "novelty do so, the other three do not."
)


def product_finding(
    results: Mapping[str, Played],
    where: str,
    *,
    people: Sequence[Shape] = (),
    people_in_twice: Sequence[Shape] = (),
) -> Finding:
    """Return the verdict on: algorithms with Uc · Un reproduce Zipf's law.

    `people` are the shapes of real people's stretches, with the songs of the whole history as
    their library; `people_in_twice` the same with twice as many.
    """
    shapes = {name: results[name].shape for name in stand_ins(PRODUCT, results)}
    return Finding(
        paper=(
            "Algorithms that multiply content and novelty (Bayes-UCB-CN, Bayes-UCB-CN-V, "
            f"Greedy-CN) repeat songs by Zipf's law. ({where}.)"
        ),
        place=_PLACE,
        measured=f"{_all_told(results, shapes)}.",
        verdict=_verdict(list(shapes.values()), Shape.ZIPF, Shape.OTHER),
        why=RULE + _people_told(people, people_in_twice) + _explained(shapes),
    )


def others_finding(results: Mapping[str, Played], where: str) -> Finding:
    """Return the verdict on: random and both LinUCB do not reproduce it."""
    shapes = {name: results[name].shape for name in OTHERS if name in results}
    return Finding(
        paper=f"Random, LinUCB-C and LinUCB-CN do not repeat songs by Zipf's law. ({where}.)",
        place=_PLACE,
        measured=f"{_all_told(results, shapes)}.",
        verdict=_verdict(list(shapes.values()), Shape.OTHER, Shape.ZIPF),
        why="By the same rule: the claim holds where all three are clearly farther from the law.",
    )


def distance_findings(
    results: Mapping[str, Played],
    between: Mapping[str, Sequence[float]],
    songs: Mapping[str, float],
) -> tuple[Finding, ...]:
    """Return a verdict for each source on: the product algorithms come closer to people.

    `songs` is how many different songs its people play in as many plays, in the mean.
    """
    found = tuple(
        _distance_finding(results, source, between[source], songs[source]) for source in between
    )
    return found or (
        Finding(
            paper=_IDEAL,
            place=_PLACE,
            measured="No history of a real person with as many plays was given.",
            verdict=Verdict.OPEN,
            why="Give listening histories with --history to have it measured.",
        ),
    )


def _distance_finding(
    results: Mapping[str, Played], source: str, between: Sequence[float], songs: float
) -> Finding:
    found = _compared(results, source)
    nearer = sum(cell.confirmed for cell in found)
    farther = sum(cell.contradicted for cell in found)
    means = ", ".join(
        f"{spoken(name)} {mean_estimate(results[name].distances[source]).mean:.2f}"
        for name in (*OTHERS, *stand_ins(PRODUCT, results, paired=True))
    )
    return Finding(
        paper=_IDEAL,
        place=_PLACE,
        measured=(
            f"Distance to the people of {source}: {means}{_among(between)}. Of {len(found)} "
            f"comparisons the product algorithm is clearly nearer in {nearer} and clearly farther "
            f"in {farther}."
        ),
        verdict=_distance_verdict(found),
        why=(
            "Distance: the share of plays that would have to go to other songs. The claim holds "
            "where each of the three product algorithms is nearer to people than each of the other "
            f"three (paired t-tests over simulated listeners, two-sided, p < {SIGNIFICANT} after "
            "Holm), partly where some are, and does not hold where none is nearer and some are "
            "farther; where nothing is clear it cannot be told. The test takes these people as "
            "given: it says nothing about how other people would come out. They play "
            f"{songs:.0f} different songs in as many plays, the product algorithms "
            f"{_songs(results):.0f}."
        ),
    )


def stand_ins(
    names: Sequence[str], results: Mapping[str, Played], *, paired: bool = False
) -> tuple[str, ...]:
    """Return the algorithms that were run, the exact one where the sampled one was not.

    For a paired test the exact one stands in, for it has met all the listeners.
    """
    swapped = [
        EXACT if name == SAMPLED and (paired or name not in results) else name for name in names
    ]
    return tuple(name for name in swapped if name in results)


def _all_told(results: Mapping[str, Played], shapes: Mapping[str, Shape]) -> str:
    return "; ".join(_told(results[name]) for name in shapes)


def _told(played: Played) -> str:
    runs, follow = len(played.runs), played.shapes[Shape.ZIPF]
    slope, fit = played.mean("slope"), played.mean("r_squared")
    line = "no line"
    if slope is not None and fit is not None:
        line = f"slope {slope.mean:.2f}, R² {fit.mean:.2f}".replace("-", "−")
    if runs > 1:
        others = played.shapes[Shape.OTHER]
        said = f"is nearer to it for {follow} of {runs} listeners, to another law for {others}"
    else:
        said = _ONE_SAID[played.shape]
    return f"{spoken(played.algorithm)} {said} ({line})"


def _people_told(people: Sequence[Shape], in_twice: Sequence[Shape]) -> str:
    if not people:
        return ""
    told = (
        f" By the same rule, of {len(people)} stretches of real people's histories "
        f"{_shapes_told(people)}, the songs of the whole history taken as their library"
    )
    return told + (f"; with twice as many songs {_shapes_told(in_twice)}." if in_twice else ".")


def _shapes_told(shapes: Sequence[Shape]) -> str:
    zipf, other, unclear = (
        sum(shape is each for shape in shapes) for each in (Shape.ZIPF, Shape.OTHER, Shape.OPEN)
    )
    return f"{zipf} are nearer to Zipf's law, {other} to another and {unclear} open"


def _explained(shapes: Mapping[str, Shape]) -> str:
    if Shape.OTHER not in shapes.values():
        return ""
    return (
        " Behind it: whoever always plays the largest Uc · Un lets a song wait until its novelty "
        "has brought it back to the level of all others, T = −s ln(1 − level/Uc). That is a "
        "rotation of the best songs at nearly equal pace with an end, not a long tail; see the row "
        "of the known taste, which no learning and no exploring can have caused."
    )


def _verdict(shapes: Sequence[Shape], claimed: Shape, contrary: Shape) -> Verdict:
    """Return what follows when `claimed` is what the paper says of all of them."""
    if not shapes:
        return Verdict.OPEN
    if all(shape is claimed for shape in shapes):
        return Verdict.HOLDS
    if claimed in shapes:
        return Verdict.PARTLY
    return Verdict.FAILS if contrary in shapes else Verdict.OPEN


def _compared(results: Mapping[str, Played], source: str) -> tuple[Cell, ...]:
    """Return each product algorithm beside each other one, over the same listeners."""
    pairs = []
    for name in stand_ins(PRODUCT, results, paired=True):
        for other in OTHERS:
            ones, others = results[name].distances[source], results[other].distances[source]
            if len(ones) > 1 and len(ones) == len(others):
                pairs.append(
                    Pair(
                        place=f"{name} and {other}",
                        lower=np.asarray(ones, dtype=np.float64),
                        upper=np.asarray(others, dtype=np.float64),
                    )
                )
    return cells(pairs)


def _distance_verdict(found: Sequence[Cell]) -> Verdict:
    """Return what follows; what is only seen, and not clear, counts for nothing."""
    if found and all(cell.confirmed for cell in found):
        return Verdict.HOLDS
    if any(cell.confirmed for cell in found):
        return Verdict.PARTLY
    return Verdict.FAILS if any(cell.contradicted for cell in found) else Verdict.OPEN


def _among(between: Sequence[float]) -> str:
    if not between:
        return ""
    return f"; people differ from each other by {mean_estimate(between).mean:.2f}"


def _songs(results: Mapping[str, Played]) -> float:
    """Return how many different songs the product algorithms play, in the mean."""
    names = stand_ins(PRODUCT, results, paired=True)
    return mean_estimate([run.songs for name in names for run in results[name].runs]).mean
