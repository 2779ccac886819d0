"""A listener who rates what is chosen, step by step, with all that `explained` needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.algorithms.registry import algorithm_named
from bandstand.algorithms.situation import Catalogue, Listening
from bandstand.domain import History
from bandstand.model.priors import radio_prior
from bandstand.music.audio.projection import Projection, fit
from bandstand.radio.choice.dial import policy_with
from bandstand.radio.reasons.learnt import preference_of
from bandstand.radio.reasons.why import Reasons
from bandstand.types import Minutes
from tests.music.audio.descriptor_tables import library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bandstand.inference.engine import Engine
    from bandstand.policies import ScorePolicy
    from bandstand.types import Matrix, Vector

LONGEST = Minutes(2.0**17)
SONGS = 40  # few, so that they come again


@cache
def projected(feature_map: str = "identity", songs: int = SONGS) -> tuple[Projection, Matrix]:
    """Return a projection and the features of its songs as the catalogue keeps them."""
    table = library(7, songs)
    projection = fit(table, feature_map=feature_map)
    features = projection.apply(table).astype(np.float32).astype(np.float64)
    return projection, features


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice, and what all songs were worth when it was made."""

    row: int
    reasons: Reasons
    scores: Callable[[], Vector | None]  # of all songs; None: it was drawn at random
    engine: Engine[Any]
    belief: Any


def choices(
    algorithm: str,
    *,
    count: int,
    seed: int = 1,
    dial: float = 0.0,
    intercept: bool = True,
    feature_map: str = "identity",
) -> Iterator[Choice]:
    """Yield choices for a listener who rates some of them, at odd hours, also songs again."""
    rng = np.random.default_rng(seed)
    _, sound = projected(feature_map)
    features = np.column_stack([sound, np.ones(len(sound))]) if intercept else sound
    catalogue, columns = Catalogue.of(features), features.shape[1]
    named = algorithm_named(algorithm)
    engine = named.engine_for(radio_prior(columns, intercept=intercept))
    truth = rng.normal(size=columns) / np.sqrt(np.square(features).mean(axis=0).sum())
    history, listening = History.empty(columns), Listening.nothing(SONGS, longest=LONGEST)
    belief = engine.fit(history, rng=rng)
    now = Minutes(0.0)
    memory = engine.remember(catalogue.songs(listening, now))
    for step in range(1, count + 1):
        songs = catalogue.songs(listening, now)
        policy = policy_with(named.policy, step=step, dial=dial)
        allowed = np.sort(rng.choice(SONGS, size=int(rng.integers(5, SONGS)), replace=False))
        prediction = engine.predict(belief, songs, memory=memory)
        row = int(
            policy.choose(
                prediction,
                step=step,
                rng=np.random.default_rng([seed, step]),
                count=1,
                allowed=allowed,
            )[0]
        )
        yield Choice(
            row=row,
            reasons=_reasons(engine, belief, songs, row, allowed, policy, step, seed, listening),
            scores=partial(_scores, policy, prediction, step, seed),
            engine=engine,
            belief=belief,
        )
        liked = 3 + 2 * float(features[row] @ truth)
        fresh = -np.expm1(-float(songs.elapsed[row]) / 2_000)
        history = history.append(
            features=features[row],
            elapsed=float(songs.elapsed[row]),
            rating=float(np.clip(np.round(liked * fresh + 0.5 * rng.normal()), 1, 5)),
            weight=float(rng.choice([0.125, 0.25, 1.0])),
            diversity=float(songs.diversity[row]),
        )
        belief = engine.update(belief, history, rng=rng)
        listening = listening.after(row, now)
        now = Minutes(now + float(rng.exponential(rng.choice([4.0, 600.0, 5_000.0]))))


def _scores(policy: ScorePolicy, prediction: Any, step: int, seed: int) -> Vector | None:
    if step == 1:
        return None
    return policy.preferences(prediction, step=step, rng=np.random.default_rng([seed, step]))


def _reasons(
    engine: Engine[Any],
    belief: Any,
    songs: Any,
    row: int,
    allowed: Any,
    policy: ScorePolicy,
    step: int,
    seed: int,
    listening: Listening,
) -> Reasons:
    one = engine.predict(belief, songs.take(slice(row, row + 1)))
    score = _scores(policy, one, step, seed)
    means = engine.predict(belief, songs).mean()
    better = None if means is None else float((means[allowed] > means[row]).mean())
    was_heard = np.isfinite(listening.last_heard_of([row])[0])
    return Reasons(
        how="random" if score is None else "model",
        score=None if score is None else float(score[0]),
        prediction=one,
        features=songs.features[row],
        preference=preference_of(engine, belief, songs.features.shape[1]),
        better=better,
        minutes_since_heard=float(songs.elapsed[row]) if was_heard else None,
    )
