"""What has been learnt about a listener: everything that a page about it can draw.

All of it follows from the listener's log and the songs on the shelf. Before the first answer
there is nothing to tell: numbers are None, lists are empty, and a sentence says so.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.exact.engine import Exact, ExactBelief
from bandstand.core.model.priors import radio_prior
from bandstand.radio.explain import habits
from bandstand.radio.explain.favourites import Favourites, favourites, groups_on
from bandstand.radio.explain.learned import (
    NoveltyCurve,
    curve_times,
    likings,
    novelty_curve,
    preference_of,
)
from bandstand.radio.explain.preferences import Leaning, leanings
from bandstand.radio.explain.taste_text import sentences
from bandstand.radio.explain.uncertainty import UncertaintyPoint, sample_rows, uncertainty_over_time

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from bandstand.core.engines.engine import Engine
    from bandstand.core.model.priors import ListenerPrior
    from bandstand.music.audio.projection import Projection
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.log.fold import Ledger
    from bandstand.radio.selection.learner import Learner
    from bandstand.radio.selection.listener_recommender import ListenerRecommender

# A song counts as fresh again when so much of its novelty is back.
FRESH: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How soon songs are fresh again for this listener; times in minutes."""

    mean: float | None  # of s, after which 63 % of the novelty is back
    standard_deviation: float | None
    fresh_after: float | None  # until 90 % is expected to be back; None: not in three months
    curve: NoveltyCurve


@dataclass(frozen=True, slots=True, kw_only=True)
class Taste:
    """What has been learnt about a listener."""

    counts: habits.Counts
    ratings: tuple[habits.RatingPoint, ...]
    repeats: habits.Repeats | None
    recovery: Recovery | None = None
    noise: float | None = None  # standard deviation of a rating around what is expected
    uncertainty: tuple[UncertaintyPoint, ...] = ()
    leanings: tuple[Leaning, ...] = ()
    artists: Favourites = field(default_factory=Favourites)
    genres: Favourites = field(default_factory=Favourites)
    sentences: tuple[str, ...] = ()


def taste_of(
    model: ListenerRecommender,
    projection: Projection | None,
    *,
    known: MutableMapping[bytes, float] | None = None,
) -> Taste:
    """Return what `model` has learnt; `known` keeps what takes longest for the next time."""
    habit, learner = _habits(model.ledger), model.learner
    if learner is None or not len(learner.belief.history):
        return _worded(habit)
    return _worded(_learnt(habit, learner, model.shelf, projection, known))


def as_json(taste: Taste) -> dict[str, Any]:
    """Return everything by name, ready for JSON."""
    return asdict(taste)


def _habits(ledger: Ledger) -> Taste:
    """Return what can be told from the plays alone."""
    plays = ledger.columns()
    return Taste(
        counts=habits.counts(plays),
        ratings=habits.ratings_over_time(plays),
        repeats=habits.repeats(plays),
    )


def _learnt(
    habit: Taste,
    learner: Learner,
    shelf: Catalogue,
    projection: Projection | None,
    known: MutableMapping[bytes, float] | None,
) -> Taste:
    """Return `habit` with what the engine has learnt."""
    engine, belief, features = learner.engine, learner.belief, learner.catalogue.features
    columns, rows = features.shape[1], np.flatnonzero(shelf.has_features)
    found = replace(
        habit,
        recovery=_recovery(engine, belief, columns),
        noise=engine.summary(belief).noise_sd,
        uncertainty=uncertainty_over_time(
            _exact_prior(learner, shelf),
            belief.history,
            np.asarray(features[sample_rows(rows)], dtype=np.float64),
            belief=belief if isinstance(belief, ExactBelief) else None,
            known=known,
        ),
        leanings=leanings(engine, belief, columns, projection),
    )
    preference = preference_of(engine, belief, columns)
    if preference is None:
        return found
    liking = np.where(shelf.has_features, likings(features, preference), np.nan)
    artists, genres = groups_on(shelf)
    return replace(found, artists=favourites(liking, artists), genres=favourites(liking, genres))


def _recovery(engine: Engine[Any], belief: Any, columns: int) -> Recovery | None:
    curve = novelty_curve(engine, belief, columns, curve_times())
    if curve is None:
        return None
    summary = engine.summary(belief)
    return Recovery(
        mean=summary.recovery_time_mean,
        standard_deviation=summary.recovery_time_sd,
        fresh_after=curve.reaches(FRESH),
        curve=curve,
    )


def _exact_prior(learner: Learner, shelf: Catalogue) -> ListenerPrior:
    """Return the prior of the exact model, by which uncertainty is measured for all engines."""
    if isinstance(learner.engine, Exact):
        return learner.engine.prior
    has_intercept = learner.catalogue is shelf.song_features
    return radio_prior(learner.catalogue.features.shape[1], intercept=has_intercept)


def _worded(taste: Taste) -> Taste:
    return replace(taste, sentences=sentences(taste))
