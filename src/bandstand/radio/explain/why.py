"""Why a song was chosen: the parts of its score, which add up, and one sentence.

    base + groups = liking
    liking + staleness = expected
    expected + exploration = score

code           maths                 meaning, in stars
`base`         E[θ₀]                 rating of the library's average song when it is new
`groups`       Σ_j (C'E[θ])_j ẑ_j    share of the sound, by groups of descriptors: audio.loadings;
                                     of sounds like it (the curved columns), of its tags, and of
                                     the effects E[e] of its artist, its album and the song itself
`liking`       E[θ'x + e]            expected rating of the song when it is new
`staleness`    E[U | D] − liking     loss because it, or its like, was heard not long ago
`expected`     E[U | D]              expected rating now, with SD[U | D] in `standard_deviation`
                                     and that of the rating itself in `rating_deviation`
`exploration`  score − E[U | D]      added (or taken off) because the rating is uncertain
`novelty`      E[1 − exp(−t/s)]      how far it has recovered from its last play, 0 to 1; no
                                     stars; None before any answer about a song heard again

What an algorithm does not have is None, and no groups: LinUCB knows no novelty, a random choice
has no score, and before the first answer nothing is known of a listener.

The sentence claims no more than is known:

answers so far  claim about the sound
fewer than 5    a guess, and from how little it comes
fewer than 20   an impression
more            a statement

How much the sound counts for or against the song, in which ways it is marked and how much would
be learned from it decide on the words: the same facts always get the same words, and other facts
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003  # the description of the API reads it
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand._util.words import ago, counted_in_words
from bandstand.core.model.history import Songs
from bandstand.music.audio import loadings
from bandstand.radio.selection.select import Learned
from bandstand.radio.selection.training_data import LONGEST

if TYPE_CHECKING:
    from bandstand.core.engines.engine import BeliefT, Engine
    from bandstand.core.model.prediction import Prediction
    from bandstand.music.catalogue.design import Columns
    from bandstand.radio.selection.select import Selection
    from bandstand.types import Vector

OTHER: Final = "other"  # rounding, and whatever belongs to no group
SOUND: Final = "sound"  # everything that the features say, where it has no parts
ALIKE: Final = "alike"  # what sounds like it are worth: curved likings
TAGS: Final = "tags"
EFFECTS: Final = ("artist", "album", "song")
# Share of the songs that may be played that must promise more for a song to be a lesson.
_LESSON_SHARE: Final = 0.1
# In stars: less would be shown as 0.0, and is not worth a word.
_WORTH_A_WORD: Final = 0.05
# In stars: what the sound adds or takes off in all is a little, much, or something between.
_LITTLE: Final = 0.25
_MUCH: Final = 1.0
# A group counts beside the strongest one if it has at least this share of its part.
_MIN_SHARE: Final = 0.2
_MAX_NAMED: Final = 2
# In standard deviations of the library: fast, not just faster than the average.
_MARKED: Final = 0.5
_FRESH: Final = 0.9
_STALE: Final = 0.5
# In stars: enough doubt for the answer to teach something, or a lot.
_TEACHES: Final = 0.5
_TEACHES_A_LOT: Final = 1.5
_FAVOURITE: Final = 4.5  # stars, from which on a song should be one
# Answers: below the first a guess, below the second an impression.
_GUESS: Final = 5
_IMPRESSION: Final = 20
_AT_RANDOM: Final = "it was drawn at random"
_SAYS_NOTHING: Final = "nothing in its sound speaks for or against it"
_NOT_LEARNED: Final = Learned()
_NAMED: Final = (TAGS, *EFFECTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why one song was chosen."""

    score: float | None = None
    expected: float | None = None
    standard_deviation: float | None = None  # of the expected rating, in stars
    rating_deviation: float | None = None  # of the rating that would be given, in stars
    exploration: float | None = None
    liking: float | None = None
    base: float | None = None
    groups: Mapping[str, float]
    tags: Mapping[str, float] = field(default_factory=dict)  # of which `groups` have the sum
    staleness: float | None = None
    novelty: float | None = None
    minutes_since_heard: float | None = None  # None: never
    mainly_to_learn: bool = False
    answers: int = 0  # that all of this was learned from
    sentence: str = ""


def preference_of(engine: Engine[BeliefT], belief: BeliefT, columns: int) -> Vector | None:
    """Return E[θ], the liking of each feature at full novelty; None where there is none.

    Engines hold their beliefs in many ways, but all of them predict songs: here, one song for
    each feature.
    """
    songs = Songs(features=np.eye(columns), elapsed=np.full(columns, LONGEST))
    return engine.predict(belief, songs).parts().get("content")


def liking_of(prediction: Prediction) -> Vector | None:
    """Return the expected rating of songs when they are new: (S,); None where there is none."""
    parts = prediction.parts()
    content = parts.get("content")
    if content is None:
        return None
    return np.asarray(sum((parts[name] for name in EFFECTS if name in parts), start=content))


def explained(
    selection: Selection,
    preference: Vector | None,
    columns: Columns | None,
    learned: Learned = _NOT_LEARNED,
) -> Why:
    """Return the parts of a choice, and the sentence that sums them up.

    `preference` is E[θ], `columns` say of what, and `learned` from what.
    """
    why = Why(groups={}, tags={}, minutes_since_heard=selection.minutes_since_heard)
    character: Mapping[str, float] = {}
    if selection.prediction is not None and selection.situation is not None:
        features = selection.situation.features[0]
        found = selection.prediction
        why = _predicted(why, selection, found, preference, columns, features)
        why = replace(
            why,
            answers=learned.answers,
            novelty=known_novelty(found, learned),
            rating_deviation=rating_deviation(why.standard_deviation, learned.noise),
        )
        if columns is not None and columns.projection is not None and OTHER in why.groups:
            sound = features[columns.first_sound :]
            character = loadings.character(columns.projection, sound)
    text = sentence(why, how=selection.how, note=selection.note, character=character)
    return replace(why, sentence=text)


def as_json(why: Why) -> dict[str, Any]:
    """Return the parts by name, ready for JSON."""
    plain = replace(why, groups={}, tags={})
    return {**asdict(plain), "groups": dict(why.groups), "tags": dict(why.tags)}


def _predicted(
    why: Why,
    selection: Selection,
    prediction: Prediction,
    preference: Vector | None,
    columns: Columns | None,
    features: Vector,
) -> Why:
    """Return `why` with the parts of the engine and the score."""
    parts, expected = prediction.parts(), only(prediction.mean())
    liking = only(liking_of(prediction))
    base, groups, tags = None, dict[str, float](), dict[str, float]()
    if liking is not None and preference is not None:
        effects: dict[str, float] = {
            name: float(parts[name][0]) for name in EFFECTS if name in parts
        }
        each = preference * features
        base, groups, tags = _content(
            each, features, preference, columns, liking - math.fsum(effects.values())
        )
        groups |= effects
    staleness = None
    if expected is not None and liking is not None and ("novelty" in parts or "time" in parts):
        staleness = expected - liking
    score = selection.score
    exploration = None if score is None or expected is None else score - expected
    better = selection.share_better or 0.0
    return replace(
        why,
        score=score,
        exploration=exploration,
        mainly_to_learn=(exploration or 0.0) > 0 and better >= _LESSON_SHARE,
        expected=expected,
        standard_deviation=only(prediction.standard_deviation()),
        liking=liking,
        base=base,
        groups=groups,
        tags=tags,
        staleness=staleness,
    )


def _content(
    each: Vector, features: Vector, preference: Vector, columns: Columns | None, content: float
) -> tuple[float | None, dict[str, float], dict[str, float]]:
    """Return the parts of E[θ]'x: of the intercept, of groups of columns, and of each tag.

    `each` are the parts of the columns, and `content` is their sum.
    """
    if columns is None or columns.projection is None:
        return None, {SOUND: content}, {}
    first = columns.first_sound
    groups = loadings.parts(columns.projection, preference[first:], features[first:])
    if not groups:
        return None, {SOUND: content}, {}  # the features of another design
    base = float(each[first + columns.projection.columns :].sum())
    named = each[columns.curved : first]
    tags = {tag: float(part) for tag, part in zip(columns.tags, named, strict=True) if part}
    if first:
        groups |= {ALIKE: float(each[: columns.curved].sum()), TAGS: math.fsum(tags.values())}
    return base, {**groups, OTHER: content - base - math.fsum(groups.values())}, tags


def known_novelty(prediction: Prediction, learned: Learned) -> float | None:
    """Return the novelty of the one song, 0 to 1; None where nothing was learned of recovery."""
    novelty = only(prediction.parts().get("novelty"))
    if novelty is None or not learned.repeats:
        return None
    # A curve of straight pieces may overshoot, a sum may by rounding.
    return min(max(novelty, 0.0), 1.0)


def rating_deviation(deviation: float | None, noise: float | None) -> float | None:
    """Return the standard deviation of a rating that is not given yet: doubt and noise together.

    >>> rating_deviation(0.3, 0.4), rating_deviation(0.3, None)
    (0.5, None)
    """
    return None if deviation is None or noise is None else math.hypot(deviation, noise)


def only(values: Vector | None) -> float | None:
    """Return the one number of an array; None where there is none."""
    return None if values is None else float(values[0])


# ── The sentence ─────────────────────────────────────────────────────────────────────────


def sentence(why: Why, *, how: str, note: str, character: Mapping[str, float]) -> str:
    """Return one sentence; `character` is how marked the song is in each group.

    `note` says where more than the model decided.
    """
    if how == "random":
        text = note or _AT_RANDOM
    else:
        total, sound = _reason(why, character)
        # A song that was never heard, and is known to be the right one.
        is_surprise = why.minutes_since_heard is None and why.answers >= _GUESS and total >= _LITTLE
        said = (", but " if is_surprise else "; ").join(filter(None, (_familiarity(why), sound)))
        first = "it is what you asked for" if how == "wish" else note
        text = "; ".join(filter(None, (first, said))) + _outlook(why, total, character)
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


def _reason(why: Why, character: Mapping[str, float]) -> tuple[float, str]:
    """Return what sound and names add in stars, and the words of the largest part on that side."""
    if why.liking is None:
        return 0.0, ""
    parts = {name: part for name, part in why.groups.items() if abs(part) >= _WORTH_A_WORD}
    if not parts:
        return 0.0, _SAYS_NOTHING
    total = math.fsum(parts.values())
    side = 1.0 if total >= 0 else -1.0
    sound = {name: side * part for name, part in parts.items() if name not in _NAMED}
    named = {name: side * part for name, part in parts.items() if name in _NAMED}
    named[SOUND] = math.fsum(sound.values())
    strongest = max(named, key=lambda name: named[name])
    if strongest == "song":
        way = "for" if side > 0 else "against"
        return total, f"what you said of it before speaks {way} it"
    words, are = _noun(strongest, why, side, sound, character)
    if why.answers < _GUESS:
        return total, _guess(why.answers, words, are, is_for=side > 0)
    if why.answers < _IMPRESSION:
        return total, _impression(words, are, is_for=side > 0)
    return total, f"{words} {_verdict(side * named[strongest], are)}"


def _noun(
    name: str, why: Why, side: float, sound: Mapping[str, float], character: Mapping[str, float]
) -> tuple[str, str]:
    """Return the words for a part, and their verb: "its bright, fast sound" and "is"."""
    if name == SOUND:
        return _what({part: stars for part, stars in sound.items() if stars > 0}, character)
    if name != TAGS:
        return f"its {name}", "is"
    tag = max(why.tags, key=lambda one: side * why.tags[one])
    return (f"the {tag}", "are") if tag[0].isdigit() else (tag, "is")


def _guess(answers: int, words: str, are: str, *, is_for: bool) -> str:
    suits = "suit" if are == "are" else "suits"
    guessed = f"{words} {suits} you" if is_for else f"{words} {are} not quite for you"
    return f"it is a guess so far, from {counted_in_words(answers, 'answer')}, that {guessed}"


def _impression(words: str, are: str, *, is_for: bool) -> str:
    if not is_for:
        return f"you may not like {words}"
    return f"{words} {'seem' if are == 'are' else 'seems'} to be what you like"


def _verdict(total: float, are: str) -> str:
    """Return how far something is like what pleases, by what it adds or takes off."""
    if total >= _MUCH:
        return f"{are} just what you like"
    if total >= _LITTLE:
        return f"{are} close to what you like"
    if total >= 0:
        return f"{'speak' if are == 'are' else 'speaks'} for it a little"
    if total > -_LITTLE:
        return f"{'speak' if are == 'are' else 'speaks'} against it a little"
    if total > -_MUCH:
        return f"{are} not quite what you like"
    return f"{are} far from what you like"


def _what(parts: Mapping[str, float], character: Mapping[str, float]) -> tuple[str, str]:
    """Return the words for its sound, and their verb: "its bright, fast sound" and "is".

    The largest part comes first: by its word where the song is marked in it, else by its name.
    """
    ranked = sorted(parts, key=lambda name: -parts[name])
    if ranked[0] not in _NAMES:
        return "its sound", "is"  # what has no word says most
    least = _MIN_SHARE * parts[ranked[0]]
    named = [name for name in ranked if name in _NAMES and parts[name] >= least]
    marked = [name for name in named if abs(character.get(name, 0.0)) >= _MARKED]
    if ranked[0] in marked:
        return (
            f"its {', '.join(_word(name, character) for name in marked[:_MAX_NAMED])} sound",
            "is",
        )
    nouns = named[:_MAX_NAMED]
    return f"its {' and '.join(nouns)}", "is" if len(nouns) == 1 else "are"


_NAMES: Final = {group.name: group for group in loadings.GROUPS}


def _words(character: Mapping[str, float]) -> str:
    """Return the ways in which a song is marked most; nothing if there are none.

    >>> _words({"tempo": -0.7, "timbre": 0.1, "brightness": -1.2})
    'dark, slow'
    """
    ranked = sorted(character, key=lambda name: -abs(character[name]))
    marked = [name for name in ranked if name in _NAMES and abs(character[name]) >= _MARKED]
    return ", ".join(_word(name, character) for name in marked[:_MAX_NAMED])


def _word(name: str, character: Mapping[str, float]) -> str:
    return _NAMES[name].more if character[name] > 0 else _NAMES[name].less


def _outlook(why: Why, total: float, character: Mapping[str, float]) -> str:
    """Return the outlook: something learned, or a favourite."""
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
