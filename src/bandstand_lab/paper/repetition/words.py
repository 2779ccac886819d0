"""What the playlist study asks, and what was done: its introduction and its method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.paper.repetition.findings import RULE
from bandstand_lab.paper.repetition.jobs import PIECE, listeners, plays
from bandstand_lab.paper.repetition.plays import DRAWS, LEARN_EACH, LEARN_EVERY
from bandstand_lab.paper.repetition.settings import PAPER, WEEKS

if TYPE_CHECKING:
    from bandstand_lab.report.study import Plan

INTRODUCTION: Final = (
    "Most of what people listen to they have heard before, and a few songs far more often than "
    "all others: by Zipf's law the song of rank k is played 1/k times as often as the first. The "
    "paper says that a radio which multiplies how much a song is liked with how much its novelty "
    "has recovered repeats songs in just this way, and that other radios do not. Does it, once it "
    "has been listened to for weeks? And how far is each algorithm from real people?"
)
_KNOWN: Final = "‘Taste known’ is no algorithm: it always plays the song of largest Uc · Un."
_LAWS: Final = (
    "R² of a line on two logarithmic axes is a weak test: plays spread evenly over 1,000 songs "
    "reach 0.7. So three laws of one parameter each (Zipf, exponential, equal) are compared by "
    "their likelihood, the order of the songs being unknown: which of the three is nearest, not "
    "whether it fits."
)


def method(plan: Plan, *, people: int, shorter: int, sampled: bool) -> str:
    """Return what was done, so that another could do it again."""
    parts = (
        _weeks_said(plan),
        _sampled_said() if sampled else _not_sampled_said(),
        _KNOWN,
        _paper_said(plan),
        _people_said(plan, people, shorter),
        _LAWS,
        RULE,
    )
    return " ".join(parts)


def _weeks_said(plan: Plan) -> str:
    count = plays(plan, WEEKS)
    return (
        f"Each algorithm plays {count:,} songs out of {WEEKS.songs:,} for the same "
        f"{listeners(plan, WEEKS)} simulated listeners (20 features N(0, 1), θ ~ N(0, I), "
        "s ~ U(100, 1000) minutes, noise of standard deviation 1): 20 songs of four minutes, three "
        f"times a day, which takes {WEEKS.days(count):.0f} days."
    )


def _sampled_said() -> str:
    return (
        "Bayes-UCB by MCMC, which costs far more than all others, meets one of them. It has "
        f"{DRAWS} effective draws, made anew after each of the first {LEARN_EACH} answers and then "
        f"after every {LEARN_EVERY}th, and plays in pieces of {PIECE} songs that each go on from "
        "what the exact algorithm, which has the same posterior, had played until there."
    )


def _not_sampled_said() -> str:
    return "Bayes-UCB by MCMC has the same posterior as the exact one, which stands for it here."


def _paper_said(plan: Plan) -> str:
    return (
        f"The second setting is as long as the paper's user study: {plays(plan, PAPER)} plays out "
        f"of {PAPER.songs:,} songs with 91 features, 50 seconds each, {listeners(plan, PAPER)} "
        "listeners whose songs are ranked in one list, as in its figure; the exact algorithm "
        "stands for the sampled one."
    )


def _people_said(plan: Plan, people: int, shorter: int) -> str:
    if not people:
        return "No history of a real person with as many plays was given."
    return (
        f"Real histories are cut to stretches of {plays(plan, WEEKS):,} plays in a row, at most "
        f"four of each person: {people} people have as many plays, {shorter} have fewer. The "
        "distance between two profiles is the least share of plays that would have to go to other "
        "songs to make them equal; it is also given to the same people's plays of their "
        f"{WEEKS.songs:,} favourites, since the simulated library has no more."
    )
