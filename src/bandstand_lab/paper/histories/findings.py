"""The paper's claims about histories beside what was measured; the rules are stated with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import bdtrc

from bandstand_lab.histories.words import duration, percent
from bandstand_lab.report.study import Finding, Verdict
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.model.rank_frequency import Zipf
    from bandstand_lab.paper.histories.people import Person

PAPER_SHARE: Final = 0.683
FEWEST_PLAYS: Final = 100
_FEWEST_PEOPLE: Final = 5
_ONE_SIDED: Final = 0.025
_CHANCE: Final = 0.16  # that a person without one seems to show a rest, where it was not measured
_BY_CHANCE: Final = 0.01  # less than this is more than chance
# What the listeners of the simulations have at least; without a rest as long, there is none.
_SHORTEST_REST: Final = 100.0  # minutes


def compared(people: Sequence[Person]) -> list[Person]:
    """Return the people with plays enough to be compared."""
    return [person for person in people if person.plays >= FEWEST_PLAYS]


def repeats_finding(people: Sequence[Person]) -> Finding:
    """Return whether most of what people play they have played before."""
    shares = [person.repeat_share for person in people]
    if len(people) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        low, high = mean_estimate(shares).interval() or (0.0, 1.0)
        verdict = _half_verdict(low, high)
        first, middle, third = np.quantile(shares, [0.25, 0.5, 0.75])
        most = sum(share > 0.5 for share in shares)
        measured = (
            f"Median {percent(middle)}, quartiles {percent(first)} and {percent(third)}, mean "
            f"{percent(float(np.mean(shares)))} (95 %: {percent(low)} to {percent(high)}); "
            f"{most} of {len(people)} people repeat more than half of the time."
        )
    return Finding(
        paper="Most of what people listen to they have listened to before: 68.3 % of plays are "
        "repetitions, and people differ widely.",
        place="Section 3.1, Figure 2",
        measured=measured,
        verdict=verdict,
        why=f"Holds if the 95 % interval of the mean share, over people with at least "
        f"{FEWEST_PLAYS} plays, lies above one half; does not hold if it lies below; cannot be "
        "told if one half is within. A longer "
        "history has more repeats, so the share itself depends on how long people were watched.",
    )


def zipf_finding(people: Sequence[Person], law: Zipf | None) -> Finding:
    """Return whether plays fall with the rank by Zipf's law."""
    judged = [person.shapes for person in people if person.shapes]
    if law is None or len(judged) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        is_line = law.r_squared >= 0.9 and 0.7 <= law.exponent <= 1.3
        own, in_twice = (list(shapes) for shapes in zip(*judged, strict=True))
        verdict = _zipf_verdict([_majority(own), _majority(in_twice)], is_line=is_line)
        measured = (
            f"All people's songs in one ranking: plays fall as rank^-{law.exponent:.2f} with "
            f"R² = {law.r_squared:.2f}. Of {len(judged)} single people, {_shapes_told(own)} if "
            "they could have played just the songs that they played, and "
            f"{_shapes_told(in_twice)} if twice as many."
        )
    return Finding(
        paper="Ranked together on logarithmic axes, the frequencies of all people's songs follow "
        "Zipf's law approximately.",
        place="Section 3.1, Figure 3",
        measured=measured,
        verdict=verdict,
        why="A person is judged by the rule for radios: nearer to Zipf's law if it is clearly "
        "likelier than an exponential fall and than equal plays, to another if one of these is "
        "clearly likelier, else open; that the law fits is not tested. Holds if the line has R² "
        "of at least 0.9 and an exponent within 0.3 of 1, and clearly more than half of the "
        "people (binomial test, p < 0.025) are nearer to Zipf's law with both numbers of songs; "
        "partly if only the line is such or only with one of them; does not hold if clearly more "
        "than half are nearer to another law with both; else it cannot be told. Ranking many "
        "people together makes a line of curves that are none: the busiest people fill the first "
        "ranks.",
    )


def _majority(shapes: Sequence[Shape]) -> Shape:
    """Return the shape that clearly more than half of the people have; open if there is none."""
    for shape in (Shape.ZIPF, Shape.OTHER):
        if _is_most(shapes.count(shape), len(shapes)):
            return shape
    return Shape.OPEN


def _zipf_verdict(with_each: Sequence[Shape], *, is_line: bool) -> Verdict:
    """Return what follows from all together and from single people, with each number of songs."""
    nearer = [shape is Shape.ZIPF for shape in with_each]
    if is_line and all(nearer):
        return Verdict.HOLDS
    if is_line or any(nearer):
        return Verdict.PARTLY
    is_other = all(shape is Shape.OTHER for shape in with_each)
    return Verdict.FAILS if is_other else Verdict.OPEN


def _shapes_told(shapes: Sequence[Shape]) -> str:
    zipf, other, unclear = (shapes.count(shape) for shape in (Shape.ZIPF, Shape.OTHER, Shape.OPEN))
    return f"{zipf} are nearer to Zipf's law than to the others, {other} are not, {unclear} open"


def favourites_finding(people: Sequence[Person]) -> Finding:
    """Return whether a small set of songs has most of the plays."""
    shares = [person.share_of_favourites for person in people]
    if len(people) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        low, high = mean_estimate(shares).interval() or (0.0, 1.0)
        verdict = _half_verdict(low, high)
        equal = float(np.mean([person.share_if_equal for person in people]))
        measured = (
            f"The most played fifth of a person's songs has {percent(float(np.median(shares)))} "
            f"of the plays (median; mean {percent(float(np.mean(shares)))}, 95 %: "
            f"{percent(low)} to {percent(high)}). If they preferred no song, with as many "
            f"plays and repeats, it would have {percent(equal)} in the mean."
        )
    return Finding(
        paper="Only a small set of songs is repeated most of the time, all others much less often.",
        place="Section 3.1, Figure 3",
        measured=measured,
        verdict=verdict,
        why="Holds if the 95 % interval of the mean share that a person's most played fifth of "
        "the songs has lies above one half; does not hold if it lies below; cannot be told if one "
        "half is within.",
    )


def novelty_finding(people: Sequence[Person]) -> Finding:
    """Return whether people let a song rest after its play."""
    judged = [person for person in people if person.recovery is not None]
    if len(judged) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        verdict, measured = _novelty_verdict(judged), _rests_told(judged)
    return Finding(
        paper="A song loses its novelty when it is heard and recovers it as 1 - exp(-t/s), with "
        "a recovery time s that differs between people.",
        place="Section 3.1, Equation 2",
        measured=measured,
        verdict=verdict,
        why="From gaps alone: a person shows a rest if the 95 % interval of s, fitted to how much "
        "likelier than by chance a song is some time after its play, does not reach down to five "
        "minutes. Chance: how often the same people's plays show one when those of each day are "
        f"shuffled. Holds if more show one than chance explains (binomial test, p < {_BY_CHANCE}) "
        "and these are more than half, partly if they are fewer; does not hold if chance explains "
        "them and for clearly more than half of the people the interval ends below "
        f"{_SHORTEST_REST:.0f} minutes, the shortest s of the simulated listeners; else it cannot "
        "be told. A play is not a rating: people put on albums and playlists, and play a new "
        "favourite over and over, which hides a rest.",
    )


def _rests(judged: Sequence[Person]) -> list[float]:
    """Return the recovery times of those who show a rest."""
    times = [person.recovery.recovery_time for person in judged if person.recovery is not None]
    return [time for time in times if time is not None]


def _chance(judged: Sequence[Person]) -> float:
    """Return how often somebody without one shows a rest, by shuffles of the same people."""
    rests, shuffles = np.sum([person.rests_by_chance for person in judged], axis=0).tolist()
    return rests / shuffles if shuffles else _CHANCE


def _rests_told(judged: Sequence[Person]) -> str:
    seen = _rests(judged)
    told = f"{len(seen)} of {len(judged)} people show a rest after a play"
    if seen:
        low, middle, high = (
            duration(60 * float(each)) for each in np.quantile(seen, [0.25, 0.5, 0.75])
        )
        told += f"; their s is {middle} (median; quartiles {low} and {high})"
    return (
        f"{told}. Chance alone shows one in {percent(_chance(judged))}. For {_without(judged)} a "
        f"rest of {_SHORTEST_REST:.0f} minutes or longer can be ruled out."
    )


def _without(judged: Sequence[Person]) -> int:
    """Return for how many people the gaps rule out a rest as long as the simulated ones."""
    ends = [person.recovery.interval[1] for person in judged if person.recovery is not None]
    return sum(end < _SHORTEST_REST for end in ends)


def _novelty_verdict(judged: Sequence[Person]) -> Verdict:
    seen = len(_rests(judged))
    by_chance = float(bdtrc(seen - 1, len(judged), _chance(judged))) if seen else 1.0
    if by_chance < _BY_CHANCE:
        return Verdict.HOLDS if seen > len(judged) / 2 else Verdict.PARTLY
    return Verdict.FAILS if _is_most(_without(judged), len(judged)) else Verdict.OPEN


def _half_verdict(low: float, high: float) -> Verdict:
    """Return whether an interval is above one half."""
    return Verdict.HOLDS if low > 0.5 else Verdict.FAILS if high < 0.5 else Verdict.OPEN


def _is_most(count: int, of: int) -> bool:
    """Return whether so many are clearly more than half."""
    return count > 0 and float(bdtrc(count - 1, of, 0.5)) < _ONE_SIDED


def _too_few(people: Sequence[Person]) -> str:
    if not people:
        return "No history was given."
    return f"{len(people)} with plays enough are too few to speak of people."
