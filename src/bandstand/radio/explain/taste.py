"""What has been learned about a listener: everything that a page about it can draw.

All of it follows from the listener's log and the songs of the catalogue. Before the first answer
there is nothing to say: numbers are None, lists are empty, and a sentence says so.

Every engine predicts songs, whatever its belief: E[θ] is the prediction of songs with one feature
each, and the novelty curve the prediction of one song at many times. A song is new when it was
never heard, which the radio counts as `LONGEST` ago; of longer times no play tells anything.

code             maths              shape  meaning
`preference_of`  E[θ]               (p,)   liking of each feature, at full novelty
`NoveltyCurve`   E[u(t)], SD[u(t)]  (T,)   how far a song has recovered after t minutes

A preference for fast or slow, bright or dark, is the expected rating of songs one standard
deviation above the library's average on an index (audio.loadings), beyond that of the average
song, when all are new.

Uncertainty is the paper's measure: the mean, over songs, of the standard deviation of p(U | D)
under the exact model, whatever algorithm chooses the songs, after 1, 3, 10, 32, 100, … answers and
after all of them. All songs are taken as new, so it measures what is known of the listener and not
what was played today.
"""

import hashlib
from bisect import bisect_left
from collections.abc import MutableMapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any, Final

import numpy as np
from scipy.special import ndtr

from bandstand._util.words import counted_in_words, rough_duration
from bandstand.core.engines.engine import BeliefT, Engine
from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.engines.variational.engine import FactorPrediction
from bandstand.core.model.history import History, Songs
from bandstand.core.model.prediction import Prediction
from bandstand.core.model.priors import ListenerPrior
from bandstand.errors import InvalidInputError
from bandstand.music.audio import loadings
from bandstand.music.catalogue.design import Columns
from bandstand.radio.explain import profile
from bandstand.radio.explain.profile import Favourites
from bandstand.radio.explain.why import liking_of, rating_deviation
from bandstand.radio.selection.select import RadioListener
from bandstand.radio.selection.training_data import LONGEST
from bandstand.types import Indices, Minutes, Vector

# The share of its novelty that makes a song fresh again.
FRESH: Final = 0.9
# Minutes of the novelty curve: from one to three months, evenly in the logarithm.
CURVE_MINUTES: Final = np.geomspace(1.0, 129_600.0, 61)
# The mean over these songs is that over all of them to a few per cent.
_UNCERTAINTY_SONGS: Final = 100
_STEPS_PER_DECADE: Final = 2

_NOTHING_HEARD: Final = "You have not heard anything yet, so there is nothing to tell."
_NOTHING_LEARNED: Final = "Nothing has been learned yet: rate a song, or listen to one to its end."
# A preference below these stars, or less likely than that, is not worth a sentence.
_MIN_STARS: Final = 0.1
_LIKELY: Final = 0.8
_SURE: Final = 0.975
# Standard deviation of the novelty curve, where it crosses, above which it is far from sure.
_DOUBTFUL: Final = 0.1
# Uncertainty of a new song, in stars, above which no favourites are named. Nor are those that are
# nearer to the usual one than that uncertainty, or than this, on the scale of ratings.
_TOO_UNSURE: Final = 1.5
# With fewer answers artists and genres are not ranked.
_ENOUGH_FOR_NAMES: Final = 20
# With fewer ratings among the answers nothing is said of how songs are rated.
_ENOUGH_RATINGS: Final = 10
_MIN_DISTANCE: Final = 0.2
_WORST, _BEST = 1.0, 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyCurve:
    """How far a song has recovered after some time, from 0 to 1."""

    minutes: tuple[float, ...]
    mean: tuple[float, ...]
    standard_deviation: tuple[float, ...] | None  # None: the engine has one curve and no doubt

    def reaches(self, level: float) -> float | None:
        """Return the minutes after which the mean first is at `level`; None if it never is.

        >>> curve = NoveltyCurve(minutes=(1.0, 100.0), mean=(0.4, 0.6), standard_deviation=None)
        >>> round(curve.reaches(0.5), 6), curve.reaches(0.7)
        (10.0, None)
        """
        mean = np.asarray(self.mean)
        above = np.flatnonzero(mean >= level)
        if not above.size:
            return None
        last = int(above[0])
        if last == 0:
            return self.minutes[0]
        share = (level - mean[last - 1]) / (mean[last] - mean[last - 1])
        logs = np.log(self.minutes[last - 1 : last + 1])
        return float(np.exp(logs[0] + share * (logs[1] - logs[0])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A listener's preference in one group of descriptors."""

    group: str  # tempo, brightness, …
    likes: str  # fast, bright, …: the side that is rated higher
    dislikes: str
    stars: float  # how much a song that is clearly so gets above the average song, ≥ 0
    standard_deviation: float | None  # of `stars`; None where the engine has none
    certainty: float | None  # probability that it is this side and not the other, ½ to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UncertaintyPoint:
    """How unsure the radio was after a number of answers."""

    answers: int
    stars: float  # mean standard deviation of the expected rating of a new song


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How soon songs are fresh again for this listener; times in minutes."""

    mean: float | None  # of s, after which 63 % of the novelty is back
    standard_deviation: float | None
    fresh_after: float | None  # until 90 % is expected to be back; None: not in three months
    repeats: int  # answers about songs heard before; without any it is the prior alone
    curve: NoveltyCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """What has been learned about a listener."""

    counts: profile.Counts
    ratings: tuple[profile.RatingPoint, ...]
    repeats: profile.Repeats | None
    recovery: Recovery | None = None
    noise: float | None = None  # standard deviation of a rating around its expectation
    uncertainty: tuple[UncertaintyPoint, ...] = ()
    preferences: tuple[Preference, ...] = ()
    artists: Favourites = field(default_factory=Favourites)
    genres: Favourites = field(default_factory=Favourites)
    sentences: tuple[str, ...] = ()


def taste_of(
    listener: RadioListener, *, known: MutableMapping[bytes, float] | None = None
) -> Taste:
    """Return what a listener's model has learned; `known` caches the slow part."""
    plays = listener.ledger.plays
    taste = Taste(
        counts=profile.counts(plays),
        ratings=profile.ratings_over_time(plays),
        repeats=profile.repeats(plays),
    )
    if len(listener.history):
        taste = _learned(taste, listener, known)
    return replace(taste, sentences=sentences(taste))


def as_json(taste: Taste) -> dict[str, Any]:
    """Return everything by name, ready for JSON."""
    names = {"preferences": "leanings"}
    return {names.get(name, name): value for name, value in asdict(taste).items()}


def _learned(
    taste: Taste, listener: RadioListener, known: MutableMapping[bytes, float] | None
) -> Taste:
    """Return `taste` with what the engine has learned."""
    engine, belief, catalogue = listener.engine, listener.belief, listener.catalogue
    songs, reader = listener.song_features, listener.reader
    columns, rows = songs.features.shape[1], np.flatnonzero(catalogue.has_features)
    some = sample_rows(rows)
    found = replace(
        taste,
        recovery=_recovery(engine, belief, columns, listener.learned.repeats),
        noise=engine.summary(belief).noise_sd,
        uncertainty=uncertainty_over_time(
            reader.prior(),
            belief.history,
            Songs.of(
                features=songs.features[some],
                elapsed=reader.never,
                groups=None if songs.groups is None else songs.groups.take(some),
            ),
            belief=belief if isinstance(belief, ExactBelief) else None,
            known=known,
        ),
        preferences=preferences(engine, belief, columns, reader.columns, never=reader.never),
    )
    new = liking_of(listener.predict(Minutes(0.0)))
    if new is None or len(belief.history) < _ENOUGH_FOR_NAMES:
        return found
    liking = np.where(catalogue.has_features, new, np.nan)
    artists, genres = profile.groups_of(catalogue)
    return replace(
        found,
        artists=profile.favourites(liking, artists),
        genres=profile.favourites(liking, genres),
    )


# ── Novelty ──────────────────────────────────────────────────────────────────────────────


def _recovery(
    engine: Engine[BeliefT], belief: BeliefT, columns: int, repeats: int
) -> Recovery | None:
    curve = novelty_curve(engine, belief, columns, CURVE_MINUTES)
    if curve is None:
        return None
    summary = engine.summary(belief)
    return Recovery(
        mean=summary.recovery_time_mean,
        standard_deviation=summary.recovery_time_sd,
        fresh_after=curve.reaches(FRESH),
        repeats=repeats,
        curve=curve,
    )


def novelty_curve(
    engine: Engine[BeliefT], belief: BeliefT, columns: int, minutes: Vector
) -> NoveltyCurve | None:
    """Return the novelty curve at some times; None for an engine that knows no novelty."""
    elapsed = np.concatenate([minutes, 2 * minutes, [LONGEST]])
    songs = Songs.of(features=np.zeros((len(elapsed), columns)), elapsed=elapsed)
    prediction = engine.predict(belief, songs)
    found = prediction.parts().get("novelty")
    if found is None:
        return None
    mean = found[: len(minutes)]
    is_certain = engine.summary(belief).recovery_time_sd is None
    spread = _spread(prediction, found, len(minutes), is_certain=is_certain)
    return NoveltyCurve(
        minutes=tuple(minutes.tolist()),
        mean=tuple(mean.tolist()),
        standard_deviation=None if spread is None else tuple(spread.tolist()),
    )


def _spread(
    prediction: Prediction, found: Vector, count: int, *, is_certain: bool
) -> Vector | None:
    """Return the standard deviation of the curve at the first `count` times.

    u = 1 − exp(−t/s) has u(t)² = 2u(t) − u(2t), so its variance is known from its mean alone,
    at t and at 2t. A piecewise curve is normal at every time.
    """
    mean = found[:count]
    if isinstance(prediction, FactorPrediction):
        return _spread_of_factor(prediction, found)[:count]
    if is_certain:
        return None
    with np.errstate(under="ignore"):
        return np.sqrt(np.maximum(2 * mean - found[count : 2 * count] - mean**2, 0.0))


def _spread_of_factor(prediction: FactorPrediction, found: Vector) -> Vector:
    """Return the spread of the piecewise curve, in the scale that its mean is shown in."""
    row = [factor.name for factor in prediction.factors].index("novelty")
    largest = int(np.argmax(np.abs(found)))
    if found[largest] == 0:  # a curve that is 0 everywhere is shown as it is
        return np.asarray(prediction.factor_deviations[row])
    scale = prediction.factor_means[row][largest] / found[largest]
    return np.asarray(prediction.factor_deviations[row] / abs(scale))


# ── Preferences ──────────────────────────────────────────────────────────────────────────


def preferences(
    engine: Engine[BeliefT],
    belief: BeliefT,
    count: int,
    columns: Columns,
    *,
    never: Minutes = LONGEST,
) -> tuple[Preference, ...]:
    """Return the preferences, the strongest first; none where the features have no groups.

    `count` is the number of columns, and `never` how long ago a song never heard counts as heard.
    """
    directions = {} if columns.projection is None else loadings.towards(columns.projection)
    first = columns.first_sound
    if not directions or not 0 <= count - first - len(next(iter(directions.values()))) <= 1:
        return ()
    features = np.zeros((len(directions) + 1, count))  # the last: a song without any sound
    for row, direction in enumerate(directions.values()):
        # The intercept stays 0: a difference.
        features[row, first : first + len(direction)] = direction
    prediction = engine.predict(belief, Songs.of(features=features, elapsed=never))
    likings = prediction.parts().get("content")
    if likings is None:
        return ()
    deviations = prediction.standard_deviation()
    spreads = None
    if deviations is not None:  # without what its unknown artist, album and title may be worth
        squares = np.square(deviations[:-1]) - deviations[-1] ** 2
        spreads = np.sqrt(np.maximum(squares, 0.0))
    found = [
        _preference(name, float(likings[row]), None if spreads is None else float(spreads[row]))
        for row, name in enumerate(directions)
    ]
    return tuple(sorted(found, key=lambda each: -each.stars))


def _preference(name: str, liking: float, spread: float | None) -> Preference:
    (group,) = (group for group in loadings.GROUPS if group.name == name)
    sides = (group.more, group.less) if liking >= 0 else (group.less, group.more)
    stars = abs(liking)
    certainty = None
    if spread is not None:
        # The belief is a mixture of bell curves; about its sign a single one says the same.
        certainty = float(ndtr(stars / spread)) if spread > 0 else 1.0
    return Preference(
        group=name,
        likes=sides[0],
        dislikes=sides[1],
        stars=stars,
        standard_deviation=spread,
        certainty=certainty,
    )


# ── Uncertainty ──────────────────────────────────────────────────────────────────────────


def sample_rows(has_features: Indices) -> Indices:
    """Return the rows of the songs it is measured on: evenly spread, always the same ones."""
    count = len(has_features)
    return has_features[
        np.unique(np.linspace(0, count - 1, min(count, _UNCERTAINTY_SONGS), dtype=np.intp))
    ]


def uncertainty_over_time(
    prior: ListenerPrior,
    history: History,
    songs: Songs,
    *,
    belief: ExactBelief | None = None,
    known: MutableMapping[bytes, float] | None = None,
) -> tuple[UncertaintyPoint, ...]:
    """Return how unsure the radio was after some of the answers, and after all of them.

    `belief` is the exact one after all answers, if it is at hand. A belief from fewer answers is
    fitted to the first part of the history; later answers do not change it, so `known` caches it.
    """
    if not len(history) or not len(songs):
        return ()
    engine = Exact(prior=prior)
    kept = {} if known is None else known
    points = []
    for answers in moments(len(history)):
        if answers == len(history) and belief is not None:
            stars = _mean_deviation(engine, belief, songs)
        else:
            key = _key(history, answers, songs)
            if key not in kept:
                fitted = engine.fit(history.first(answers))
                kept[key] = _mean_deviation(engine, fitted, songs)
            stars = kept[key]
        points.append(UncertaintyPoint(answers=answers, stars=stars))
    return tuple(points)


def moments(answers: int) -> list[int]:
    """Return the numbers of answers after which it is measured.

    >>> moments(50)
    [1, 3, 10, 32, 50]
    """
    powers = np.arange(0, _STEPS_PER_DECADE * np.log10(answers) + 1e-9) / _STEPS_PER_DECADE
    return sorted({*np.round(10**powers).astype(int).tolist(), answers})


def _mean_deviation(engine: Exact, belief: ExactBelief, songs: Songs) -> float:
    deviation = engine.predict(belief, songs).standard_deviation()
    if deviation is None:
        msg = "the prior of the noise must have a shape above 1, so that all deviations exist"
        raise InvalidInputError(msg)
    return float(deviation.mean())


def _key(history: History, count: int, songs: Songs) -> bytes:
    """Return a key of the first answers and the songs."""
    digest = hashlib.sha256(np.ascontiguousarray(songs.features).tobytes())
    groups = history.groups.stacked().T
    columns = (history.features, history.elapsed, history.ratings, history.weights, groups)
    for column in columns:
        digest.update(np.ascontiguousarray(column[:count]).tobytes())
    return digest.digest()


# ── Sentences ────────────────────────────────────────────────────────────────────────────


def sentences(taste: Taste) -> tuple[str, ...]:
    """Return one sentence for each thing worth saying, the most important first."""
    if not taste.counts.plays:
        return (_NOTHING_HEARD,)
    said = (
        *_preferences_texts(taste),
        _favourites_text(taste),
        recovery_text(taste),
        _uncertainty_text(taste),
        _plays_text(taste),
    )
    found = tuple(sentence for sentence in said if sentence)
    return found if taste.uncertainty or taste.recovery else (*found, _NOTHING_LEARNED)


def recovery_text(taste: Taste) -> str:
    """Return how soon songs are fresh again; nothing where nothing was learned of it."""
    recovery = taste.recovery
    if recovery is None or not recovery.repeats:
        return ""
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


def _preferences_texts(taste: Taste) -> list[str]:
    """Return the preferences that are sure, then the likely ones."""
    strong = [each for each in taste.preferences if each.stars >= _MIN_STARS]
    sure = [each for each in strong if each.certainty is None or each.certainty >= _SURE]
    likely = [each for each in strong if each not in sure and (each.certainty or 1) >= _LIKELY]
    you = "You" if _has_rated(taste) else "You would"  # a skip is no rating
    return [
        f"{begin} {_sides(some)}: a clearly {some[0].likes} one gets {some[0].stars:.1f} stars "
        "more than the average."
        for begin, some in ((f"{you} rate", sure), (f"{you} probably rate", likely))
        if some
    ]


def _sides(preferences: Sequence[Preference]) -> str:
    likes = _listed([each.likes for each in preferences])
    dislikes = _listed([each.dislikes for each in preferences])
    return f"{likes} songs higher than {dislikes} ones"


def _favourites_text(taste: Taste) -> str:
    if _unsure(taste) >= _TOO_UNSURE:
        return ""
    apart = max(_MIN_DISTANCE, _unsure(taste))
    said = [
        (f"all {noun}s", ends)
        for noun, found in (("artist", taste.artists), ("genre", taste.genres))
        if (ends := _standing_out(found, apart))
    ]
    if not said:
        return ""
    (names, ends), *others = said
    more = "".join(f", of {other} {sides}" for other, sides in others)
    return f"Of {names} you probably like {ends}{more}."


def _standing_out(found: Favourites, apart: float) -> str:
    """Return the best and the least liked name, as far as they are no usual ones."""
    usual = _on_scale(found.usual or 0.0)
    best = [
        f"{one.name} best" for one in found.most[:1] if _on_scale(one.expected) >= usual + apart
    ]
    least = [
        f"{one.name} least" for one in found.least[:1] if _on_scale(one.expected) <= usual - apart
    ]
    return " and ".join([*best, *least])


def _on_scale(stars: float) -> float:
    return min(max(stars, _WORST), _BEST)


def _uncertainty_text(taste: Taste) -> str:
    if not taste.uncertainty:
        return ""
    if _unsure(taste) >= _TOO_UNSURE:
        return "I hardly know yet what a new song is worth to you."
    if not _has_rated(taste):
        given = counted_in_words(taste.counts.ratings, "rating")
        return f"After {given} I can hardly say what a song is worth to you in stars."
    doubt = rating_deviation(_unsure(taste), taste.noise)
    if doubt is None:
        return (
            "I know what a new song is worth to you on average, give or take about "
            f"{_unsure(taste):.1f} stars."
        )
    return f"I can guess what you would give a new song, give or take about {doubt:.1f} stars."


def _has_rated(taste: Taste) -> bool:
    """Return whether there are enough ratings to speak of stars."""
    return taste.counts.ratings >= _ENOUGH_RATINGS


def _unsure(taste: Taste) -> float:
    """Return how unsure the radio is of a new song, in stars."""
    return taste.uncertainty[-1].stars if taste.uncertainty else inf


def _listed(words: Sequence[str]) -> str:
    """Return words in a list of prose.

    >>> _listed(["slow"]), _listed(["slow", "dark", "dense"])
    ('slow', 'slow, dark and dense')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
