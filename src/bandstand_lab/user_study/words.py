"""The words of a study's report that are the same every time."""

from __future__ import annotations

from typing import Final

ABOUT: Final = """
Several programs chose songs, one after the other, and people rated each song with one to five
stars. Nobody was told which program chose. Each program began without knowing the person, and
learnt from every rating at once. The question is which of them finds, after how many songs, what
people like to hear.
"""

ABOUT_SIMULATED: Final = """
In a study with people, several programs choose songs, one after the other, and people who are not
told which program chose rate each song with one to five stars. Here nobody did: the ratings are
drawn from a formula, and no program ran. The question is what a study like this one could find.
"""

SIMULATED: Final = (
    "No person has rated anything here, so this page says nothing about the algorithms. It shows "
    "what a study of this size looks like, and whether its analysis finds what was planted."
)

REPEAT: Final = """
The study is described by one file, whose numbers are below; the songs were fixed when it was
opened. Everything on this page follows from the ratings: the export gives the same page again,
byte for byte, with the same version of Bandstand.
"""

REPEAT_SIMULATED: Final = """
The numbers of the study are below. The first command simulates the same people again; the second
makes the page of the exported ratings. Both give the same page, byte for byte, with the same
version of Bandstand.
"""

REPEAT_FILE: Final = "The study's file, study.toml, has these numbers."

COMMANDS: Final = """\
bandstand study new study.toml
bandstand study run study.toml ~/Music
bandstand study report study.toml OUT
bandstand study report --from OUT/export AGAIN"""

EXPORTED: Final = ("study.json", "participants.csv", "ratings.csv", "songs.csv")
EXPORT: Final = (
    "People have numbers there, and no names. Their ratings and moments are their own data all "
    "the same: pass them on only if the consent text says so."
)

EXPORT_SIMULATED: Final = "The people in it do not exist."

TERMS: Final = {
    "Part": """
        One algorithm as one participant met it: so many songs in a row, chosen by it. Everybody
        met every algorithm, in different orders.""",
    "Average rating after n songs": """
        The mean of a participant's first n ratings in a part. It looks back to the start, so it
        changes slowly: early songs, chosen by a program that knew nothing, stay in it.""",
    "Standard error": """
        How far a mean over people may be off by chance. Bands are one to each side.""",
    "Paired": """
        Each person is compared with themselves. Whether somebody is strict or generous with
        stars cancels out.""",
    "p-value": """
        How often chance alone would make a difference at least as large if there were none. Small
        is evidence for a difference; large is no evidence that there is none.""",
    "Corrected p-value": """
        The same for the most extreme of all the tests that were made, so that looking at hundreds
        of them finds nothing by their number alone. Called clear here is what is at most 0.05 in
        the end, with at least six people.""",
    "Novelty": """
        A song just heard is worth little, and its worth comes back with time. How fast is the
        listener's own.""",
}

ALGORITHMS: Final = {
    "random": "Plays any song. What every other must beat.",
    "linucb-c": "A well-known linear bandit that explores, on the sound of songs alone.",
    "linucb-cn": "The same with the time since a song was last heard as one more feature.",
    "greedy-cn": """
        Fits liking (content) and novelty by least squares and plays the best guess; it never
        tries a song in order to learn.""",
    "greedy-cn-map": "Greedy-CN with the prior as a penalty.",
    "greedy-cn-x": "Plays the song whose expected rating is highest, by the exact model.",
    "epsilon-greedy-cn-x": "The best guess of the exact model, and now and then any song.",
    "thompson-cn-x": "Plays what is best for a taste drawn from what is believed.",
    "optimistic-cn-x": "As Thompson, but no draw counts for less than the mean.",
    "bayes-ucb-cn": """
        The paper's method, by sampling: content times novelty, and songs judged by a high quantile
        of what is believed, so that doubt counts in their favour.""",
    "bayes-ucb-cn-v": "The paper's method with its fast approximation, variational inference.",
    "bayes-ucb-cn-x": "The paper's method, its model solved exactly in place of sampling.",
    "bayes-ucb-cnd-v": "The approximation with a third factor, diversity.",
}


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with what it counts.

    >>> counted(1, "song"), counted(1_200, "song"), counted(2, "person", "people")
    ('1 song', '1,200 songs', '2 people')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def listed(names: list[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def p_said(p_value: float) -> str:
    """Return a p-value as people write it.

    >>> p_said(0.0412), p_said(0.00003), p_said(1.0)
    ('p = 0.041', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def stars(value: float) -> str:
    """Return a difference in stars.

    >>> stars(0.42), stars(-0.2)
    ('+0.42', '−0.20')
    """
    return f"{value:+.2f}".replace("-", "−")
