"""A session with a window into the radio: why each song was played, and what is known by now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand.algorithms.recommender import Recommender
from bandstand.arrays import frozen
from bandstand.policies import ScorePolicy
from bandstand.simulation.session import follow
from bandstand.units import MONTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from bandstand.arrays import Vector
    from bandstand.domain import Songs
    from bandstand.inference.engine import Engine, Summary
    from bandstand.model.prediction import Prediction
    from bandstand.policies import Policy
    from bandstand.simulation.clock import Clock
    from bandstand.simulation.listener import Listener
    from bandstand.simulation.session import Step

_MONTH_SECONDS: Final = 60 * MONTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a song was played; `None` is what the algorithm does not know."""

    liking: float | None = None  # expected rating of the song when it is new
    novelty: float | None = None  # how new it is again, 0 to 1
    expected_rating: float | None = None  # as the radio sees it, not the truth
    curiosity: float | None = None  # what the song's score adds to the expected rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """One song, the song that a random radio played meanwhile, and what is known after both."""

    step: Step
    random: Step
    reason: Reason
    summary: Summary
    uncertainty: float | None  # mean over all songs of the standard deviation of their liking


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """All that was seen while a radio learnt, with the truth beside it."""

    glimpses: tuple[Glimpse, ...]
    recovery_time: float  # the listener's own, minutes
    liking: Vector  # the listener's own, of each song when it is new
    learnt_liking: Vector | None
    learnt_liking_standard_deviation: Vector | None


def watch(
    radio: Recommender, listener: Listener, *, steps: int, clock: Clock, seed: int
) -> Iterator[Glimpse]:
    """Yield a glimpse after each of the next `steps` songs.

    A random radio with the same songs plays for the same listener, whose noise is the same.
    """
    unguided = Recommender(
        features=radio.catalogue.features, raw=True, algorithm="random", seed=seed
    )
    played = follow(radio, listener, steps=steps, clock=clock, seed=seed)
    drawn = follow(unguided, listener, steps=steps, clock=clock, seed=seed)
    for number in range(radio.step, radio.step + steps):
        outlook = _Outlook.of(radio, clock.moment(number))
        step, random = next(played), next(drawn)
        spread = _when_all_is_new(radio, step.moment).standard_deviation()
        yield Glimpse(
            step=step,
            random=random,
            reason=outlook.reason(step.row),
            summary=radio.summary(),
            uncertainty=None if spread is None else float(spread.mean()),
        )


def learning(radio: Recommender, listener: Listener, glimpses: Sequence[Glimpse]) -> Learning:
    """Return the whole record: the glimpses, and the liking of every song, learnt and true."""
    last = glimpses[-1].step.moment if glimpses else 0.0
    prediction = _when_all_is_new(radio, last)
    return Learning(
        glimpses=tuple(glimpses),
        recovery_time=listener.recovery_time,
        liking=frozen(listener.liking(radio.catalogue.features)),
        learnt_liking=_kept(prediction.mean()),
        learnt_liking_standard_deviation=_kept(prediction.standard_deviation()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outlook:
    """The radio as it is just before it chooses: its belief is a value, so it can be kept."""

    engine: Engine[Any]
    belief: Any
    policy: Policy
    songs: Songs
    step: int
    rng: np.random.Generator

    @classmethod
    def of(cls, radio: Recommender, moment: float) -> _Outlook:
        return cls(
            engine=radio.engine,
            belief=radio.belief,
            policy=radio.policy,
            songs=radio.songs(at=moment),
            step=radio.step,
            # The radio's own draw, so that the score is the one the song was chosen by.
            rng=radio.randomness(),
        )

    def reason(self, row: int) -> Reason:
        """Return why the song in `row` would be chosen; the other songs are not looked at."""
        prediction = self.engine.predict(self.belief, self.songs.take([row]))
        parts, expected = prediction.parts(), _only(prediction.mean())
        score = self._score(prediction)
        return Reason(
            liking=_only(parts.get("content")),
            novelty=_only(parts.get("novelty")),
            expected_rating=expected,
            curiosity=None if expected is None or score is None else score - expected,
        )

    def _score(self, prediction: Prediction) -> float | None:
        """Return the policy's score, or None where the choice was a throw of the dice."""
        if self.step == 1 or not isinstance(self.policy, ScorePolicy):
            return None
        return _only(self.policy.preferences(prediction, step=self.step, rng=self.rng))


def _when_all_is_new(radio: Recommender, moment: float) -> Prediction:
    """Return the prediction for a month later, when every song counts as never heard."""
    return radio.predict(at=moment + _MONTH_SECONDS)


def _only(values: Vector | None) -> float | None:
    return None if values is None else float(values[0])


def _kept(values: Vector | None) -> Vector | None:
    return None if values is None else frozen(values)
