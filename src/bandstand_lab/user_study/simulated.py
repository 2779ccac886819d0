"""A study with simulated people: ratings drawn from a model of each arm.

No algorithm runs here. The planted effects are known, so the analysis can be tested: whether it
finds an effect that is there, and how often it finds one that is not.

    rating = base + person + person_arm + effect · min(1, n / 40) + noise, rounded into 1 … 5

code              meaning, in stars
`effects`         how much better an algorithm is from its 40th song on; 0 unless given
`person_sd`       standard deviation of how generous people are; it cancels in pairs
`person_arm_sd`   of how much a person happens to like one arm more than another
`noise_sd`        of single ratings

Times keep to the design. Songs are drawn with repeats, by every person's own ranking of them.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.study.assignment import order
from bandstand.study.design import Design
from bandstand.study.protocol import DAY, HOUR, SECOND
from bandstand.study.records import Participant, Record, SongSnapshot, StudyData
from bandstand.types import Indices

_FULL_FROM: Final = 40  # ratings, after which an effect has its full size
_MEAN_STARS: Final = 3.0  # stars of the average person
_START: Final = 1_767_607_200_000  # 2026-01-05T10:00:00Z, a Monday
_FEATURES: Final = 8
_ZIPF_EXPONENT: Final = 0.8  # exponent of the law by which songs come back
_KNOWN_SHARE: Final = 0.1  # share of songs that people say they know
_MAX_DELAY: Final = 25.0  # seconds that a person takes to rate after listening
_CHOICE_SECONDS: Final = (0.01, 0.1)  # seconds that a choice takes


class _Spreads(NamedTuple):
    """Standard deviations, in stars."""

    person: float
    person_arm: float
    noise: float


def simulated_study(
    design: Design,
    *,
    people: int,
    effects: Mapping[str, float],
    rng: np.random.Generator,
    person_sd: float = 0.4,
    person_arm_sd: float = 0.3,
    noise_sd: float = 1.0,
) -> StudyData:
    """Return the ratings of `people` simulated participants, each to the end.

    >>> from bandstand.study.design import Design
    >>> design = Design(algorithms=("random", "greedy-cn"), ratings_per_arm=20)
    >>> effects, rng = {"greedy-cn": 0.5}, np.random.default_rng(1)
    >>> data = simulated_study(design, people=3, effects=effects, rng=rng)
    >>> len(data.records), data.simulated, data.remarks[1]
    (120, True, 'Planted effects, in stars: greedy-cn +0.5.')
    """
    spreads = _Spreads(person_sd, person_arm_sd, noise_sd)
    _check(design, people, effects, spreads)
    songs = _songs(design, rng)
    joined = tuple(
        Participant(number=number, joined_at=_START + number * HOUR)
        for number in range(1, people + 1)
    )
    return StudyData(
        design=design,
        study="simulated",
        catalogue=songs,
        records=tuple(
            record
            for person in joined
            for record in _person(design, person, songs, effects, spreads, rng)
        ),
        participants=joined,
        simulated=True,
        remarks=_remarks(people, effects, spreads),
    )


def _person(
    design: Design,
    person: Participant,
    songs: SongSnapshot,
    effects: Mapping[str, float],
    spreads: _Spreads,
    rng: np.random.Generator,
) -> Iterator[Record]:
    """Yield all ratings of one person, arm by arm."""
    own = _MEAN_STARS + rng.normal(0.0, spreads.person)
    ranking = rng.permutation(len(songs))
    ends: list[int] = []
    for place, index in enumerate(order(person.number, len(design.algorithms)), start=1):
        algorithm = design.algorithms[index]
        liking = own + rng.normal(0.0, spreads.person_arm)
        numbers = np.arange(1, design.ratings_per_arm + 1)
        exact = liking + effects.get(algorithm, 0.0) * np.minimum(1.0, numbers / _FULL_FROM)
        heard = exact + rng.normal(0.0, spreads.noise, design.ratings_per_arm)
        moments = _moments(design, _begin(design, person.joined_at, ends), rng)
        ends.append(moments["rated_at"][-1])
        chosen = ranking[_repeating(len(songs), design.ratings_per_arm, rng)]
        for row in range(design.ratings_per_arm):
            yield Record(
                participant=person.number,
                algorithm=algorithm,
                place=place,
                number=row + 1,
                song=songs.ids[chosen[row]],
                stars=int(min(5, max(1, round(heard[row])))),
                **{name: values[row] for name, values in moments.items()},
            )


def _begin(design: Design, joined_at: int, ends: list[int]) -> int:
    """Return the start of the next arm: as soon as the design allows it."""
    earliest = [joined_at]
    if ends:
        earliest.append(ends[-1] + math.ceil(design.gap_hours * HOUR))
    if len(ends) >= design.arms_per_day:
        earliest.append(ends[-design.arms_per_day] + DAY)
    return max(earliest)


def _moments(design: Design, begin: int, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return the fields of an arm's records that have to do with time, rating by rating."""
    count = design.ratings_per_arm
    played = (design.listen_seconds + rng.uniform(0.0, _MAX_DELAY, count)).round(1)
    rests = np.zeros(count)
    rests[design.rest_after :: design.rest_after] = design.rest_seconds
    waits = np.ceil((rests + design.answer_seconds) * SECOND).astype(np.int64)
    heard = np.ceil(played * SECOND).astype(np.int64)
    rated_at = begin + np.cumsum(waits + heard)
    return {
        "offered_at": (rated_at - heard).tolist(),
        "rated_at": rated_at.tolist(),
        "played_seconds": played.tolist(),
        "choose_seconds": rng.uniform(*_CHOICE_SECONDS, count).round(4).tolist(),
        "known": (rng.random(count) < _KNOWN_SHARE).tolist(),
    }


def _repeating(songs: int, count: int, rng: np.random.Generator) -> Indices:
    """Return the ranks of the songs of one arm: the first ones most often."""
    weights = np.arange(1.0, songs + 1) ** -_ZIPF_EXPONENT
    return np.asarray(rng.choice(songs, size=count, p=weights / weights.sum()), dtype=np.intp)


def _songs(design: Design, rng: np.random.Generator) -> SongSnapshot:
    """Return songs with standardised features and a last column of ones, as a radio has them."""
    drawn = rng.standard_normal((design.least_songs, _FEATURES)).astype(np.float32)
    ids = [f"song-{number:04d}" for number in range(1, design.least_songs + 1)]
    return SongSnapshot.of(ids, np.column_stack([drawn, np.ones(len(drawn))]))


def _remarks(people: int, effects: Mapping[str, float], spreads: _Spreads) -> tuple[str, ...]:
    sizes = [f"{name} {size:+g}" for name, size in effects.items() if size]
    who = (
        f"The {people} participants are simulated: their ratings are drawn from a model of each "
        "arm, and no algorithm has run."
    )
    how = (
        f"Standard deviations, in stars: {spreads.person:g} between people, "
        f"{spreads.person_arm:g} between a person's arms, {spreads.noise:g} between ratings."
    )
    return who, f"Planted effects, in stars: {', '.join(sizes) or 'none'}.", how


def _check(design: Design, people: int, effects: Mapping[str, float], spreads: _Spreads) -> None:
    if people < 1:
        msg = f"there must be at least one simulated person, got {people}"
        raise InvalidInputError(msg)
    for name, size in effects.items():
        if name not in design.algorithms:
            msg = f"effects must be of {', '.join(design.algorithms)}, got one of {name}"
            raise InvalidInputError(msg)
        if not math.isfinite(size):
            msg = f"the effect of {name} must be a finite number of stars, got {size}"
            raise InvalidInputError(msg)
    for size in spreads:
        if not 0 <= size < math.inf:
            msg = f"standard deviations must be finite and not negative, got {size}"
            raise InvalidInputError(msg)
