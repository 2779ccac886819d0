"""Why a song was chosen, in one plain sentence that claims no more than is known.

answers so far  what the sentence claims of the sound
fewer than 5    a guess, and from how little it comes
fewer than 20   what it seems
more            what it is

How much the sound counts for or against the song, in which ways it is marked and how much would
be learnt from it decide on the words: the same facts are always said the same way, and other
facts in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand._util.words import ago, counted_in_words
from bandstand.music.audio.loadings import GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.radio.explain.why import Why

# In stars: less would be shown as 0.0, and is not worth a word.
_WORTH_A_WORD: Final = 0.05
# In stars: what the sound adds or takes off in all is a little, much, or something between.
_LITTLE: Final = 0.25
_MUCH: Final = 1.0
# A group counts beside the strongest one if it has at least this share of its part.
_ALSO: Final = 0.2
_MOST_NAMED: Final = 2
# In standard deviations of the library: fast, not just faster than the average.
_MARKED: Final = 0.5
_FRESH: Final = 0.9
_STALE: Final = 0.5
# In stars: so much doubt that the answer will teach something, or a lot.
_TEACHES: Final = 0.5
_TEACHES_A_LOT: Final = 1.5
_FAVOURITE: Final = 4.5  # stars, from which on a song should be one
# Answers: below the first a guess, below the second an impression.
_GUESS: Final = 5
_IMPRESSION: Final = 20
_AT_RANDOM: Final = "it was drawn at random"
_SAYS_NOTHING: Final = "nothing in its sound speaks for or against it"


def sentence(why: Why, *, how: str, note: str, character: Mapping[str, float]) -> str:
    """Return one sentence; `character` is how marked the song is in each group.

    `note` says where more than the model decided.
    """
    if how == "random":
        return _as_sentence(note or _AT_RANDOM)
    first = "it is what you asked for" if how == "wish" else note
    total, sound = _sound(why, character)
    said = _joined(_familiarity(why), sound, is_surprise=_is_surprise(why, total))
    clauses = "; ".join(clause for clause in (first, said) if clause)
    return _as_sentence(clauses + _outlook(why, total, character))


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _familiarity(why: Why) -> str:
    minutes, novelty = why.minutes_since_heard, why.novelty
    if minutes is None:
        return "you have not heard it"
    heard = f"you heard it {ago(minutes)}"
    if novelty is None:
        return heard
    if novelty >= _FRESH:
        return f"{heard} and it is fresh again"
    if novelty >= _STALE:
        return f"{heard} and it is nearly fresh again"
    return f"{heard}, so it is not fresh yet"


def _is_surprise(why: Why, total: float) -> bool:
    """Return whether a song that was never heard is known to be the right one."""
    return why.minutes_since_heard is None and why.answers >= _GUESS and total >= _LITTLE


def _joined(familiarity: str, sound: str, *, is_surprise: bool) -> str:
    if not sound:
        return familiarity
    return f"{familiarity}{', but' if is_surprise else ';'} {sound}"


def _sound(why: Why, character: Mapping[str, float]) -> tuple[float, str]:
    """Return what its sound adds in all, in stars, and what in it counts, for or against it."""
    if why.liking is None:
        return 0.0, ""
    ups = {name: part for name, part in why.groups.items() if part >= _WORTH_A_WORD}
    downs = {name: -part for name, part in why.groups.items() if part <= -_WORTH_A_WORD}
    if not ups and not downs:
        return 0.0, _SAYS_NOTHING
    total = sum(ups.values()) - sum(downs.values())
    words, are = _what(ups if total >= 0 else downs, character)
    if why.answers < _GUESS:
        return total, _guess(why.answers, words, are, is_for=total >= 0)
    if why.answers < _IMPRESSION:
        return total, _impression(words, are, is_for=total >= 0)
    return total, f"{words} {_verdict(total, are)}"


def _guess(answers: int, words: str, are: str, *, is_for: bool) -> str:
    suits = "suit" if are == "are" else "suits"
    guessed = f"{words} {suits} you" if is_for else f"{words} {are} not quite for you"
    return f"it is a guess so far, from {counted_in_words(answers, 'answer')}, that {guessed}"


def _impression(words: str, are: str, *, is_for: bool) -> str:
    seems = "seem" if are == "are" else "seems"
    return f"{words} {seems} to be {'what' if is_for else 'less than what'} you like"


def _verdict(total: float, are: str) -> str:
    """Return how far the sound is like what pleases, by all that it adds or takes off."""
    if total >= _MUCH:
        return f"{are} just what you rate highly"
    if total >= _LITTLE:
        return f"{are} like what you rate highly"
    if total >= 0:
        return f"{'speak' if are == 'are' else 'speaks'} for it a little"
    if total > -_LITTLE:
        return f"{'speak' if are == 'are' else 'speaks'} against it a little"
    if total > -_MUCH:
        return f"{are} not quite what you rate highly"
    return f"{are} far from what you rate highly"


def _what(parts: Mapping[str, float], character: Mapping[str, float]) -> tuple[str, str]:
    """Return what counts in its sound, and its verb: "its bright, fast sound" and "is".

    Of what has a large part, that by which one knows the song: the most marked comes first.
    """
    least = _ALSO * max(parts.values())
    ranked = sorted(parts, key=lambda name: -parts[name])
    named = [name for name in ranked if parts[name] >= least]
    words = _words({name: character.get(name, 0.0) for name in named})
    if words:
        return f"its {words} sound", "is"
    nouns = [name for name in named if name in _NAMES][:_MOST_NAMED] or ["sound"]
    return f"its {' and '.join(nouns)}", "is" if len(nouns) == 1 else "are"


def _words(character: Mapping[str, float]) -> str:
    """Return in which ways a song is marked most: "slow, dark"; nothing if it is in none."""
    ranked = sorted(character, key=lambda name: -abs(character[name]))
    words = [word for name in ranked if (word := word_for(name, character[name]))]
    return ", ".join(words[:_MOST_NAMED])


_NAMES: Final = {group.name: group for group in GROUPS}


def word_for(name: str, character: float) -> str | None:
    """Return the word for a song that is marked in that way, or None if it is not.

    >>> word_for("tempo", 1.2), word_for("tempo", -0.7), word_for("tempo", 0.1)
    ('fast', 'slow', None)
    """
    group = _NAMES.get(name)
    if group is None or abs(character) < _MARKED:
        return None
    return group.more if character > 0 else group.less


def _outlook(why: Why, total: float, character: Mapping[str, float]) -> str:
    """Return what is to come of it: something learnt, or a favourite."""
    if why.mainly_to_learn:
        such = _words(character) or "such"
        return f", and I chose it mainly to learn what you think of {such} songs"
    if why.answers < _IMPRESSION:
        return ""  # that every answer teaches something goes without saying
    if (why.expected or 0.0) >= _FAVOURITE:
        is_new = why.minutes_since_heard is None
        return ", so it may become a favourite" if is_new else ", so it should please you again"
    exploration = why.exploration or 0.0
    if exploration < _TEACHES or total >= _MUCH:
        return ""  # its sound is reason enough
    much = "something" if exploration < _TEACHES_A_LOT else "a lot"
    return f", and it would teach me {much} about you"
