"""Why a song was chosen: the parts of its score, which add up, and one sentence.

    base + groups = liking
    liking + staleness = expected
    expected + exploration = score

code           maths                 meaning, in stars
`base`         E[θ₀]                 what the average song of the library gets when it is new
`groups`       Σ_j (C'E[θ])_j ẑ_j    what the sound adds, by groups of descriptors: audio.loadings
`liking`       E[θ]'x                expected rating of the song when it is new
`staleness`    E[U | D] − E[θ]'x     what it loses because it, or its like, was heard not long ago
`expected`     E[U | D]              expected rating now, with SD[U | D] in `standard_deviation`
`exploration`  score − E[U | D]      what is added (or taken off) because the rating is uncertain
`novelty`      E[1 − exp(−t/s)]      how far it has recovered from its last play, 0 to 1; no stars

What an algorithm does not have is None, and no groups: LinUCB knows no novelty, a random choice
has no score, and of somebody who has said nothing yet nothing is known.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bandstand.music.audio import loadings
from bandstand.radio.explain.learned import preference_of
from bandstand.radio.explain.why_text import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.core.model.prediction import Prediction
    from bandstand.music.audio.projection import Projection
    from bandstand.radio.selection.chosen import Chosen, How
    from bandstand.radio.selection.listener_recommender import ListenerRecommender
    from bandstand.types import Vector

OTHER: Final = "other"  # rounding, and whatever belongs to no group
SOUND: Final = "sound"  # everything that the features say, where it cannot be told apart
# Of the songs that may be played now, so many must promise more for one to be a lesson.
_TENTH: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why one song was chosen."""

    score: float | None = None
    expected: float | None = None
    standard_deviation: float | None = None  # of what the song may be worth, in stars
    exploration: float | None = None
    liking: float | None = None
    base: float | None = None
    groups: Mapping[str, float]
    staleness: float | None = None
    novelty: float | None = None
    minutes_since_heard: float | None = None  # None: never
    mainly_to_learn: bool = False
    answers: int = 0  # that all of this was learnt from
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """What is known of a choice when it is made."""

    how: How
    note: str = ""  # in words, where more than the model decided
    score: float | None = None  # by which it was chosen; None: it was not chosen by a score
    prediction: Prediction | None = None  # of this one song; None: nothing is known of it
    features: Vector | None = None  # of this one song, as the engine sees it
    preference: Vector | None = None  # E[θ], as `preference_of` has it
    better: float | None = None  # share of the songs that may be played that promise more
    minutes_since_heard: float | None = None
    answers: int = 0  # plays that have said something of the listener so far


def explain(model: ListenerRecommender, chosen: Chosen, projection: Projection | None) -> Why:
    """Return why `model` chose a song; `projection` is the one that its features come from."""
    reasons = Reasons(
        how=chosen.how, note=chosen.note, minutes_since_heard=chosen.minutes_since_heard
    )
    learner = model.learner
    if learner is None or chosen.prediction is None or chosen.situation is None:
        return explained(reasons, projection)
    features = chosen.situation.features[0]
    known = replace(
        reasons,
        score=chosen.score,
        prediction=chosen.prediction,
        features=features,
        preference=preference_of(learner.engine, learner.belief, len(features)),
        better=chosen.better,
        answers=len(learner.told.history),
    )
    return explained(known, projection)


def explained(reasons: Reasons, projection: Projection | None) -> Why:
    """Return the parts of a choice, and the sentence that sums them up."""
    found = _with_score(_predicted(reasons, projection), reasons)
    marked = {}
    if projection is not None and reasons.features is not None and OTHER in found.groups:
        marked = loadings.character(projection, reasons.features[: projection.columns])
    return replace(
        found, sentence=sentence(found, how=reasons.how, note=reasons.note, character=marked)
    )


def as_json(why: Why) -> dict[str, Any]:
    """Return the parts by name, ready for JSON."""
    return {**asdict(replace(why, groups={})), "groups": dict(why.groups)}


def _predicted(reasons: Reasons, projection: Projection | None) -> Why:
    """Return what the engine says of the song: everything but the score."""
    nothing = Why(
        groups={}, minutes_since_heard=reasons.minutes_since_heard, answers=reasons.answers
    )
    if reasons.prediction is None:
        return nothing
    parts, expected = reasons.prediction.parts(), _only(reasons.prediction.mean())
    liking, novelty = _only(parts.get("content")), _only(parts.get("novelty"))
    if novelty is not None:  # a curve of straight pieces may overshoot, a sum may by rounding
        novelty = min(max(novelty, 0.0), 1.0)
    base, groups = _sound(reasons, projection, liking)
    staleness = None
    if expected is not None and liking is not None and ("novelty" in parts or "time" in parts):
        staleness = expected - liking
    return replace(
        nothing,
        expected=expected,
        standard_deviation=_only(reasons.prediction.standard_deviation()),
        liking=liking,
        base=base,
        groups=groups,
        staleness=staleness,
        novelty=novelty,
    )


def _with_score(why: Why, reasons: Reasons) -> Why:
    if reasons.score is None or why.expected is None:
        return replace(why, score=reasons.score)
    exploration = reasons.score - why.expected
    better = reasons.better or 0.0
    return replace(
        why,
        score=reasons.score,
        exploration=exploration,
        mainly_to_learn=exploration > 0 and better >= _TENTH,
    )


def _sound(
    reasons: Reasons, projection: Projection | None, liking: float | None
) -> tuple[float | None, dict[str, float]]:
    """Return the part of the intercept, and the parts of the sound by group."""
    features, preference = reasons.features, reasons.preference
    if liking is None or features is None or preference is None:
        return None, {}
    sound = -1 if projection is None else projection.columns
    if projection is None or len(preference) not in {sound, sound + 1}:
        return None, {SOUND: liking}  # the features of another projection, if of any
    base = float(preference[sound:] @ features[sound:])
    if not loadings.has_groups(projection):
        return base, {SOUND: liking - base}
    groups = loadings.parts(projection, preference[:sound], features[:sound])
    return base, {**groups, OTHER: liking - base - sum(groups.values())}


def _only(values: Vector | None) -> float | None:
    return None if values is None else float(values[0])
