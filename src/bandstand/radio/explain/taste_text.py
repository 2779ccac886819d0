"""What has been learnt about a listener, in a few plain sentences."""

from __future__ import annotations

from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING, Final

from bandstand._util.words import counted_in_words, rough_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.radio.explain.favourites import Favourites
    from bandstand.radio.explain.preferences import Leaning
    from bandstand.radio.explain.taste import Recovery, Taste

_NOTHING_HEARD: Final = "You have not heard anything yet, so there is nothing to tell."
_NOTHING_LEARNT: Final = "Nothing has been learnt yet: rate a song, or listen to one to its end."
# A leaning below this many stars, or less sure than that, is not worth a sentence.
_WORTH_SAYING: Final = 0.1
_LIKELY: Final = 0.8
_SURE: Final = 0.975
# A curve of novelty that is less sure than this, where it crosses, is far from sure.
_DOUBTFUL: Final = 0.1
# So unsure of a new song, in stars, nobody can say who is liked best; nor if the best and the
# least liked are closer than that on the scale of ratings.
_TOO_UNSURE: Final = 1.5
_APART: Final = 0.2
_WORST, _BEST = 1.0, 5.0


def sentences(taste: Taste) -> tuple[str, ...]:
    """Return what there is to say, one sentence each, what matters most first."""
    if not taste.counts.plays:
        return (_NOTHING_HEARD,)
    said = (
        *_leanings_texts(taste.leanings),
        _favourites_text(taste),
        recovery_text(taste),
        _uncertainty_text(taste),
        _plays_text(taste),
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
    is_sure = _is_sure(recovery)
    if recovery.fresh_after is None:
        if is_sure:
            return "A song takes more than three months to be fresh again for you."
        return "I cannot tell yet when songs are fresh again for you."
    text = f"A song is fresh again for you after about {rough_duration(recovery.fresh_after)}"
    return f"{text}." if is_sure else f"{text}, but I am far from sure of it."


def _is_sure(recovery: Recovery) -> bool:
    """Return whether the curve is known where it comes to nine tenths, or at its end."""
    spread = recovery.curve.standard_deviation
    if spread is None:
        return True
    last = len(spread) - 1
    if recovery.fresh_after is None:
        return spread[last] < _DOUBTFUL
    return spread[min(bisect_left(recovery.curve.minutes, recovery.fresh_after), last)] < _DOUBTFUL


def _plays_text(taste: Taste) -> str:
    counts = taste.counts
    kinds = [
        counted_in_words(number, noun)
        for number, noun in (
            (counts.ratings, "rating"),
            (counts.skips, "skip"),
            (counts.listens, "full listen"),
        )
        if number
    ]
    songs, plays = counted_in_words(counts.songs, "song"), counted_in_words(counts.plays, "play")
    heard = f"You have heard {songs} in {plays}"
    return f"{heard}: {_listed(kinds)}." if kinds else f"{heard}."


def _leanings_texts(leanings: Sequence[Leaning]) -> list[str]:
    """Return what is liked for sure, then what is likely."""
    told = [leaning for leaning in leanings if leaning.stars >= _WORTH_SAYING]
    sure = [each for each in told if each.certainty is None or each.certainty >= _SURE]
    likely = [each for each in told if each not in sure and (each.certainty or 1) >= _LIKELY]
    return [
        f"{begin} {_sides(some)}: a clearly {some[0].likes} one gets {some[0].stars:.1f} stars "
        "more than the average."
        for begin, some in (("You rate", sure), ("You probably rate", likely))
        if some
    ]


def _sides(leanings: Sequence[Leaning]) -> str:
    likes = _listed([leaning.likes for leaning in leanings])
    dislikes = _listed([leaning.dislikes for leaning in leanings])
    return f"{likes} songs higher than {dislikes} ones"


def _favourites_text(taste: Taste) -> str:
    if _unsure(taste) >= _TOO_UNSURE:
        return ""
    said = [
        (f"all {noun}s", f"{found.most[0].name} best and {found.least[0].name} least")
        for noun, found in (("artist", taste.artists), ("genre", taste.genres))
        if found.most and found.least and _apart(found) >= _APART
    ]
    if not said:
        return ""
    (names, ends), *others = said
    more = "".join(f", of {other} {sides}" for other, sides in others)
    return f"Of {names} you should like {ends}{more}."


def _apart(found: Favourites) -> float:
    """Return how many stars lie between the best and the least liked."""
    ends = (found.most[0].expected, found.least[0].expected)
    best, worst = (min(max(stars, _WORST), _BEST) for stars in ends)
    return best - worst


def _uncertainty_text(taste: Taste) -> str:
    if not taste.uncertainty:
        return ""
    if _unsure(taste) >= _TOO_UNSURE:
        return "I hardly know yet what a new song is worth to you."
    return f"I know what a new song is worth to you to within about {_unsure(taste):.1f} stars."


def _unsure(taste: Taste) -> float:
    """Return how unsure the radio is of a new song, in stars."""
    return taste.uncertainty[-1].stars if taste.uncertainty else inf


def _listed(words: Sequence[str]) -> str:
    """Return words as one says them.

    >>> _listed(["slow"]), _listed(["slow", "dark", "dense"])
    ('slow', 'slow, dark and dense')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
