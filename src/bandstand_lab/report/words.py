"""The words of the report that are the same every time: what it is about, and what terms mean."""

from __future__ import annotations

from typing import Final

PAPER: Final = (
    "Exploration in Interactive Personalized Music Recommendation: A Reinforcement Learning "
    "Approach"
)
AUTHORS: Final = "X. Wang, Y. Wang, D. Hsu and Y. Wang, ACM TOMCCAP, 2013"

ABOUT: Final = """
A music player that always picks the song with the best guess so far never finds out what else
its listener would love. The paper treats the choice of the next song as a bandit problem: each
song is played both to please now and to learn. It says that a listener's enjoyment is the
product of two things, how much they like the sound of a song (content) and how long ago they
last heard it (novelty), learns both from ratings, and picks songs by Bayes-UCB: not by the mean
of what is believed about a song, but by a high quantile, so that doubt counts in its favour.

This report runs the paper's experiments again, on an independent implementation, and some that
the paper did not have. Each claim stands beside what was measured here. Verdicts follow from the
numbers by a rule that is printed with them; nobody wrote them by hand.
"""

QUICK: Final = (
    "This is the quick size, made in minutes from small samples: enough to see the shape of "
    "things, not to settle what is close. The full size takes up to two hours."
)

TERMS: Final = {
    "Listener": """
        Here mostly a simulated one, whose taste, forgetting and mood swings are known, so that
        each choice can be compared with the best one.""",
    "Regret": """
        How much enjoyment was lost so far against always having played the best song of that
        moment. Lower is better. A line that flattens has learnt.""",
    "Novelty": """
        A song just heard is worth nothing, and its worth comes back with time: 1 − exp(−t/s)
        after t minutes. The recovery time s is the listener's own, and has to be learnt.""",
    "Random": """
        Plays any song. What every method must beat.""",
    "LinUCB-C, LinUCB-CN": """
        A well-known linear bandit that explores, on the sound alone (C) or with the elapsed time
        as one more feature (CN).""",
    "Greedy-CN": """
        Fits content and novelty by least squares and plays the best guess; it never explores.
        MAP is the same with the prior as a penalty.""",
    "Bayes-UCB-CN": """
        The paper's method. What is believed is computed by sampling (MCMC, slow), by the paper's
        variational approximation (fast), or exactly by quadrature (ours).""",
    "Thompson, optimistic, ε-greedy": """
        Other ways to explore, on the same exact beliefs.""",
    "Standard error, 95 % interval": """
        How far a mean over listeners may be off by chance. Algorithms meet the same listeners
        and the same noise, so differences are taken listener by listener (paired).""",
    "Holds partly, cannot be told": """
        Partly: some of the cases, or the direction but not the size. Cannot be told: the sample
        is too small to say either way, or data for it were not given.""",
}
