"""Why a song was chosen, in one plain sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand.audio.loadings import GROUPS
from bandstand.radio.reasons.time_words import ago_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.radio.reasons.why import Why

# In stars: less would be shown as 0.0, and is not worth a word.
_WORTH_A_WORD: Final = 0.05
# A group is named beside the strongest one if it has at least this share of its part.
_ALSO: Final = 0.5
_MOST_NAMED: Final = 2
# In standard deviations of the library: fast, not just faster than the average.
_MARKED: Final = 0.5
_FRESH: Final = 0.9
_STALE: Final = 0.5
_AT_RANDOM: Final = "it was drawn at random"


def sentence(why: Why, *, how: str, note: str, character: Mapping[str, float]) -> str:
    """Return one sentence; `character` is how marked the song is in each group.

    `note` says where more than the model decided.
    """
    if how == "random":
        return _as_sentence(note or _AT_RANDOM)
    first = "it is what you asked for" if how == "wish" else note
    clauses = [first, _familiarity(why), _sound(why, character)]
    return _as_sentence("; ".join(clause for clause in clauses if clause) + _learning(why))


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _familiarity(why: Why) -> str:
    minutes, novelty = why.minutes_since_heard, why.novelty
    if minutes is None:
        return "you have not heard it"
    heard = f"you heard it {ago_text(minutes)}"
    if novelty is None:
        return heard
    if novelty >= _FRESH:
        return f"{heard} and it is fresh again"
    if novelty >= _STALE:
        return f"{heard} and it is nearly fresh again"
    return f"{heard}, so it is not fresh yet"


def _sound(why: Why, character: Mapping[str, float]) -> str:
    """Return what in its sound counts most, for or against it."""
    if why.liking is None:
        return ""
    ups = {name: part for name, part in why.groups.items() if part >= _WORTH_A_WORD}
    downs = {name: -part for name, part in why.groups.items() if part <= -_WORTH_A_WORD}
    if ups and sum(ups.values()) >= sum(downs.values()):
        return f"{_what(ups, character)} like what you rate highly"
    if downs:
        return f"{_what(downs, character)} not quite what you rate highly"
    return "nothing in its sound speaks for or against it"


def _what(parts: Mapping[str, float], character: Mapping[str, float]) -> str:
    """Return what has the largest parts, with a verb: "its bright, fast sound is"."""
    largest = max(parts.values())
    ranked = sorted(parts, key=lambda name: -parts[name])
    named = [name for name in ranked if parts[name] >= _ALSO * largest][:_MOST_NAMED]
    words = [word for name in named if (word := word_for(name, character.get(name, 0.0)))]
    if words:
        return f"its {', '.join(words)} sound is"
    nouns = [name for name in named if name in _NAMES] or ["sound"]
    return f"its {' and '.join(nouns)} {'is' if len(nouns) == 1 else 'are'}"


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


def _learning(why: Why) -> str:
    exploration = why.exploration or 0.0
    if why.mainly_to_learn:
        return ", and I chose it mainly to learn what you think of such songs"
    if exploration >= _WORTH_A_WORD:
        return ", and it would teach me something about you"
    return ""
