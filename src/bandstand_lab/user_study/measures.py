"""The paper's measures beside ratings: uncertainty, repetition, learned novelty.

uncertainty  1/S Σ_k SD[p(U_k | D_n)] over all songs, by the exact model for every algorithm, at
             the moment of the n-th rating
repetition   how often the same song came back in an arm, and whether plays by rank follow
             Zipf's law
novelty      β't, the curve that the variational engine learns from a person's ratings, with
             one standard deviation; in units of its own value for an unheard song, since
             only the product with the content factor is known. The prior of the slopes keeps
             it low after a short time for any ratings. So it is compared with the curve that the
             same engine learns from the same plays, all rated with the person's average

Every arm is measured as its algorithm met it: elapsed times count within the arm. A model here
learns what the study's own models learn: stars, at the moment they were given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

import numpy as np

from bandstand._util.power_laws import plays_by_rank
from bandstand.core.model.priors import radio_prior
from bandstand.core.recommender import Answer, Recommender
from bandstand.errors import InvalidInputError
from bandstand.study.records import Record, SongSnapshot, StudyData
from bandstand.types import MONTH, Matrix, Vector, frozen
from bandstand_lab.paper.novelty_learned import learned_curve, places
from bandstand_lab.paper.repetition import Played, measured
from bandstand_lab.user_study.analysis import Curve, mean_curve

EXACT: Final = "bayes-ucb-cn-x"
VARIATIONAL: Final = "bayes-ucb-cn-v"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """The mean uncertainty of one algorithm's listeners after numbers of ratings."""

    people: tuple[int, ...]
    values: Matrix  # people × numbers of ratings, in stars; NaN beyond a person's last rating
    curve: Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyCurve:
    """The novelty learned from one person's arm; 1 is an unheard song."""

    participant: int
    algorithm: str
    minutes: Vector
    mean: Vector
    standard_deviation: Vector
    # The same if every song had been rated with the person's average: only where the learned
    # curve parts from this one do the ratings speak, and elsewhere the prior.
    untired_mean: Vector
    untired_standard_deviation: Vector
    repeats: Vector  # minutes after which songs came back: only there the data speak

    @property
    def longest(self) -> float:
        """The longest time in minutes after which a song came back; 0 where none did."""
        return float(self.repeats.max(initial=0.0))

    def at(self, minutes: float, values: Vector) -> float:
        """Return one of the curves at a moment between its places."""
        return float(np.interp(np.log(minutes), np.log(self.minutes), values))

    def parting(self) -> Vector:
        """Return by how many standard deviations of both the two curves differ."""
        spread = np.hypot(self.standard_deviation, self.untired_standard_deviation)
        return np.asarray((self.mean - self.untired_mean) / spread)


def uncertainty(data: StudyData, algorithm: str, *, moments: Sequence[int]) -> Uncertainty | None:
    """Return how uncertain the exact model is along an algorithm's arms; None without ratings."""
    arms = _arms(data, algorithm)
    if not arms:
        return None
    longest = max(len(records) for records in arms.values())
    reached = np.array([n for n in sorted(set(moments)) if 1 <= n <= longest], dtype=np.intp)
    rows = [
        uncertainty_along(data.catalogue, records, reached.tolist()) for records in arms.values()
    ]
    values = np.array(rows).reshape(len(rows), len(reached))
    return Uncertainty(
        people=tuple(arms), values=frozen(values), curve=mean_curve(algorithm, reached, values)
    )


def uncertainty_along(
    catalogue: SongSnapshot, records: Sequence[Record], moments: Sequence[int]
) -> Vector:
    """Return the uncertainty of one arm after each number of ratings; NaN beyond the last."""
    radio = _radio(catalogue, EXACT)
    answers = list(_answers(records))
    found = np.full(len(moments), np.nan)
    learned = 0
    for place, moment in enumerate(moments):
        if learned < moment <= len(answers):
            radio.replay(answers[learned:moment])
            learned = moment
            spread: Any = radio.predict().standard_deviation()
            found[place] = spread.mean()
    return found


def plays(data: StudyData, algorithm: str) -> Played:
    """Return how songs came back for each person who has begun the algorithm's arm."""
    ranked = (
        plays_by_rank([record.song for record in records])
        for records in _arms(data, algorithm).values()
    )
    runs = tuple(measured(each, library=len(data.catalogue)) for each in ranked)
    return Played(algorithm=algorithm, runs=runs)


def novelty_curves(data: StudyData, algorithm: str) -> tuple[NoveltyCurve, ...]:
    """Return what the variational engine learns about novelty from each person's ratings.

    An arm from which it learns nothing at all has no curve.
    """
    curves = (
        _novelty_curve(data.catalogue, person, algorithm, records)
        for person, records in _arms(data, algorithm).items()
    )
    return tuple(curve for curve in curves if curve is not None)


def _arms(data: StudyData, algorithm: str) -> dict[int, tuple[Record, ...]]:
    """Return the arms of one algorithm by the number of the person."""
    if algorithm not in data.design.algorithms:
        known = ", ".join(data.design.algorithms)
        msg = f"an algorithm must be one of the study's ({known}), got {algorithm}"
        raise InvalidInputError(msg)
    return {
        person: records for (person, name), records in data.by_arm().items() if name == algorithm
    }


def _radio(catalogue: SongSnapshot, algorithm: str) -> Recommender:
    """Return a model that has learned nothing yet, as each arm of a study begins."""
    return Recommender(
        features=catalogue.features,
        ids=catalogue.ids,
        raw=True,
        prior=radio_prior(catalogue.features.shape[1]),
        algorithm=algorithm,
    )


def _answers(records: Sequence[Record]) -> Iterator[Answer]:
    """Yield the answers for a model; if a clock was set back, time stands still."""
    latest = 0
    for record in records:
        latest = max(latest, record.rated_at)
        yield Answer(song=record.song, rating=float(record.stars), time=Decimal(latest) / 1_000)


def _novelty_curve(
    catalogue: SongSnapshot, person: int, algorithm: str, records: Sequence[Record]
) -> NoveltyCurve | None:
    answers = list(_answers(records))
    average = float(np.mean([answer.rating for answer in answers]))
    radio = _radio(catalogue, VARIATIONAL)
    learned = _learned_novelty(radio, answers)
    untired = _learned_novelty(
        _radio(catalogue, VARIATIONAL), [replace(answer, rating=average) for answer in answers]
    )
    if learned is None or untired is None:
        return None
    elapsed = radio.history.elapsed
    return NoveltyCurve(
        participant=person,
        algorithm=algorithm,
        minutes=frozen(places()),
        mean=learned[0],
        standard_deviation=learned[1],
        untired_mean=untired[0],
        untired_standard_deviation=untired[1],
        repeats=frozen(np.sort(elapsed[elapsed < MONTH])),
    )


def _learned_novelty(radio: Recommender, answers: Sequence[Answer]) -> tuple[Vector, Vector] | None:
    """Return β't and its deviation in units of an unheard song; None where nothing is learned."""
    radio.replay(answers)
    belief: Any = radio.model.belief
    return learned_curve(belief, places()) if belief.means[1].any() else None
