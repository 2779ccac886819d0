"""The paper's claims about histories beside what was measured; the rules are stated with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import bdtrc

from bandstand.reports.history_words import duration, percent
from bandstand.reports.reproduce.study import Finding, Verdict
from bandstand.statistics.summaries import mean_estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.reports.studies.histories.people import Person
    from bandstand.statistics.zipf import Zipf

PAPER_SHARE: Final = 0.683
FEWEST_PLAYS: Final = 100
_FEWEST_PEOPLE: Final = 5
_ONE_SIDED: Final = 0.025
_CHANCE: Final = 0.025  # that a person without one seems to show a rest: the lower end of 95 %


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
        verdict = Verdict.HOLDS if low > 0.5 else Verdict.FAILS if high < 0.5 else Verdict.PARTLY
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
        f"{FEWEST_PLAYS} plays, lies above one half; does not hold if it lies below. A longer "
        "history has more repeats, so the share itself depends on how long people were watched.",
    )


def zipf_finding(people: Sequence[Person], law: Zipf | None) -> Finding:
    """Return whether plays fall with the rank by Zipf's law."""
    judged = [person.law for person in people if person.law is not None]
    likeliest = sum(name == "Zipf" for name in judged)
    if law is None or len(judged) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        is_line = law.r_squared >= 0.9 and 0.7 <= law.exponent <= 1.3
        is_majority = float(bdtrc(likeliest - 1, len(judged), 0.5)) < _ONE_SIDED
        verdict = (
            Verdict.HOLDS
            if is_line and is_majority
            else Verdict.PARTLY
            if is_line or is_majority
            else Verdict.FAILS
        )
        measured = (
            f"All people's songs in one ranking: plays fall as rank^-{law.exponent:.2f} with "
            f"R² = {law.r_squared:.2f}. Person by person, Zipf's law is the likeliest of three "
            f"for {likeliest} of {len(judged)}."
        )
    return Finding(
        paper="Ranked together on logarithmic axes, the frequencies of all people's songs follow "
        "Zipf's law approximately.",
        place="Section 3.1, Figure 3",
        measured=measured,
        verdict=verdict,
        why="Holds if the line has R² of at least 0.9 and an exponent within 0.3 of 1, and if for "
        "clearly more than half of the people (binomial test, p < 0.025) Zipf's law is likelier "
        "than an exponential fall and than equal plays; partly if only one of both. Ranking many "
        "people together makes a line of curves that are none: the busiest people fill the first "
        "ranks.",
    )


def favourites_finding(people: Sequence[Person]) -> Finding:
    """Return whether a small set of songs has most of the plays."""
    shares = [person.share_of_favourites for person in people]
    if len(people) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        low, high = mean_estimate(shares).interval() or (0.0, 1.0)
        verdict = Verdict.HOLDS if low > 0.5 else Verdict.FAILS if high < 0.5 else Verdict.PARTLY
        measured = (
            f"The most played fifth of a person's songs has {percent(float(np.median(shares)))} "
            f"of the plays (median; mean {percent(float(np.mean(shares)))}, 95 %: "
            f"{percent(low)} to {percent(high)})."
        )
    return Finding(
        paper="Only a small set of songs is repeated most of the time, all others much less often.",
        place="Section 3.1, Figure 3",
        measured=measured,
        verdict=verdict,
        why="Holds if the 95 % interval of the mean share that a person's most played fifth of "
        "the songs has lies above one half; does not hold if it lies below.",
    )


def novelty_finding(people: Sequence[Person]) -> Finding:
    """Return whether people let a song rest after its play."""
    judged = [person.recovery for person in people if person.recovery is not None]
    seen = [each.recovery_time for each in judged if each.recovery_time is not None]
    if len(judged) < _FEWEST_PEOPLE:
        verdict, measured = Verdict.OPEN, _too_few(people)
    else:
        by_chance = float(bdtrc(len(seen) - 1, len(judged), _CHANCE)) if seen else 1.0
        verdict = _novelty_verdict(len(seen), len(judged), by_chance)
        measured = f"{len(seen)} of {len(judged)} people show a rest after a play"
        if seen:
            low, middle, high = (
                duration(60 * float(each)) for each in np.quantile(seen, [0.25, 0.5, 0.75])
            )
            measured += f"; their s is {middle} (median; quartiles {low} and {high})"
        measured += "."
    return Finding(
        paper="A song loses its novelty when it is heard and recovers it as 1 - exp(-t/s), with "
        "a recovery time s that differs between people.",
        place="Section 3.1, Equation 2",
        measured=measured,
        verdict=verdict,
        why="From gaps alone: a person shows a rest if the 95 % interval of s, fitted to how much "
        "likelier than by chance a song is some time after its play, does not reach down to five "
        "minutes. Holds if more than half show one, partly if more than chance explains "
        "(p < 0.01). A play is not a rating: people put on albums and playlists, and play a new "
        "favourite over and over, which hides a rest.",
    )


def _novelty_verdict(seen: int, judged: int, by_chance: float) -> Verdict:
    if by_chance >= 0.01:
        return Verdict.FAILS
    return Verdict.HOLDS if seen > judged / 2 else Verdict.PARTLY


def _too_few(people: Sequence[Person]) -> str:
    if not people:
        return "No history was given."
    return f"{len(people)} with plays enough are too few to speak of people."
