"""What has been learnt about a listener, in a few plain sentences."""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING, Final

from bandstand.radio.reasons.time_words import counted, length_text

if TYPE_CHECKING:
    from bandstand.radio.reasons.leanings import Leaning
    from bandstand.radio.reasons.taste import Taste

_NOTHING_HEARD: Final = "You have not heard anything yet, so there is nothing to tell."
_NOTHING_LEARNT: Final = "Nothing has been learnt yet: rate a song, or listen to one to its end."
# A leaning below this many stars, or less sure than that, is not worth a sentence.
_WORTH_SAYING: Final = 0.1
_LIKELY: Final = 0.8
_SURE: Final = 0.975
# A curve of novelty that is less sure than this, where it crosses, is far from sure.
_DOUBTFUL: Final = 0.1
# So unsure of a new song, in stars, nobody can say who is liked best.
_TOO_UNSURE: Final = 1.5


def sentences(taste: Taste) -> tuple[str, ...]:
    """Return what there is to say, one sentence each."""
    if not taste.counts.plays:
        return (_NOTHING_HEARD,)
    said = (
        _plays_text(taste),
        recovery_text(taste),
        *(_leaning_text(leaning) for leaning in taste.leanings if _is_worth_saying(leaning)),
        *(_favourites_text(taste, noun) for noun in ("artist", "genre")),
        _uncertainty_text(taste),
    )
    found = tuple(sentence for sentence in said if sentence)
    return found if taste.uncertainty or taste.recovery else (*found, _NOTHING_LEARNT)


def recovery_text(taste: Taste) -> str:
    """Return how soon songs are fresh again; nothing where the radio knows no novelty."""
    recovery, repeats = taste.recovery, taste.repeats
    if recovery is None:
        return ""
    if repeats is None or not repeats.share:
        return "You have heard no song twice, so when songs are fresh again is only a guess."
    if recovery.fresh_after is None:
        return "A song takes more than three months to be fresh again for you."
    text = f"A song is fresh again for you after about {length_text(recovery.fresh_after)}"
    spread = recovery.curve.standard_deviation
    if spread is None:
        return f"{text}."
    there = bisect_left(recovery.curve.minutes, recovery.fresh_after)
    is_sure = spread[min(there, len(spread) - 1)] < _DOUBTFUL
    return f"{text}." if is_sure else f"{text}, but I am far from sure of it."


def _plays_text(taste: Taste) -> str:
    counts = taste.counts
    kinds = [
        counted(number, noun)
        for number, noun in (
            (counts.ratings, "rating"),
            (counts.skips, "skip"),
            (counts.listens, "full listen"),
        )
        if number
    ]
    heard = f"You have heard {counted(counts.songs, 'song')} in {counted(counts.plays, 'play')}"
    return f"{heard}: {', '.join(kinds)}." if kinds else f"{heard}."


def _is_worth_saying(leaning: Leaning) -> bool:
    likely = leaning.certainty is None or leaning.certainty >= _LIKELY
    return likely and leaning.stars >= _WORTH_SAYING


def _leaning_text(leaning: Leaning) -> str:
    text = (
        f"You rate {leaning.likes} songs higher than {leaning.dislikes} ones: "
        f"a clearly {leaning.likes} one gets {leaning.stars:.1f} stars more than the average"
    )
    if leaning.certainty is None:
        return f"{text}."
    return f"{text} ({'sure' if leaning.certainty >= _SURE else 'likely'})."


def _favourites_text(taste: Taste, noun: str) -> str:
    found = taste.artists if noun == "artist" else taste.genres
    if not found.most or not found.least or _unsure(taste) >= _TOO_UNSURE:
        return ""
    best, worst = found.most[0], found.least[0]
    return f"Of all {noun}s you should like {best.name} best and {worst.name} least."


def _uncertainty_text(taste: Taste) -> str:
    if not taste.uncertainty:
        return ""
    if _unsure(taste) >= _TOO_UNSURE:
        return "I hardly know yet what a new song is worth to you."
    return f"I know what a new song is worth to you to within about {_unsure(taste):.1f} stars."


def _unsure(taste: Taste) -> float:
    """Return how unsure the radio is of a new song, in stars."""
    return taste.uncertainty[-1].stars if taste.uncertainty else inf
