"""Small studies whose every rating is said: for tests of what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.study.design import Design
from bandstand.study.records import FrozenSongs, Participant, Record, StudyData

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ONE, OTHER, THIRD = "greedy-cn", "bayes-ucb-cn-x", "random"
SONGS = 12


def catalogue(seed: int = 1) -> FrozenSongs:
    features = np.random.default_rng(seed).standard_normal((SONGS, 3))
    features[:, -1] = 1.0
    return FrozenSongs.of([f"song {number}" for number in range(SONGS)], features)


def study(
    stars: Mapping[tuple[int, str], Sequence[int]],
    *,
    algorithms: tuple[str, ...] = (ONE, OTHER),
    ratings_per_arm: int = 19,
) -> StudyData:
    """Return a study in which people have given these stars, one song after the other."""
    songs = catalogue()
    return StudyData(
        design=Design(algorithms=algorithms, ratings_per_arm=ratings_per_arm),
        study="0123456789abcdef",
        catalogue=songs,
        records=tuple(
            record(person, algorithm, algorithms.index(algorithm) + 1, number, given)
            for (person, algorithm), ratings in stars.items()
            for number, given in enumerate(ratings, start=1)
        ),
        participants=tuple(
            Participant(number=person, joined_at=1_000 + person)
            for person in sorted({person for person, _ in stars})
        ),
        simulated=False,
    )


def record(person: int, algorithm: str, place: int, number: int, stars: int) -> Record:
    begin = 1_767_607_200_000 + place * 86_400_000
    return Record(
        participant=person,
        algorithm=algorithm,
        place=place,
        number=number,
        song=f"song {(number * number + person) % SONGS}",
        stars=stars,
        known=number % 3 == 0,
        offered_at=begin + (number - 1) * 50_000,
        rated_at=begin + (number - 1) * 50_000 + 31_234,
        played_seconds=31.2 if number % 2 else None,
        choose_seconds=0.1 / number,
    )


def drawn_stars(rng: np.random.Generator, count: int) -> list[int]:
    return [int(each) for each in rng.integers(1, 6, count)]
