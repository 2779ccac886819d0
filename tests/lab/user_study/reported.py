"""Small simulated studies, and their reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bandstand.study.design import Design
from bandstand_lab.user_study.simulated import simulated_study

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bandstand.study.records import StudyData

ALGORITHMS = ("random", "greedy-cn", "bayes-ucb-cn-x")
# Of these about a seventh is reached after six songs.
EFFECTS = {"bayes-ucb-cn-x": 14.0, "random": -4.0}


def simulated(
    people: int = 7,
    *,
    ratings: int = 6,
    effects: Mapping[str, float] = EFFECTS,
    algorithms: tuple[str, ...] = ALGORITHMS,
    title: str = "A small study",
) -> StudyData:
    """Return a study of so many simulated people, quick to report."""
    design = Design(title=title, algorithms=algorithms, ratings_per_arm=ratings, least_songs=12)
    rng = np.random.default_rng(1)
    return simulated_study(design, people=people, effects=effects, rng=rng)


def real(data: StudyData) -> StudyData:
    """Return the same as if people had said it."""
    return replace(data, simulated=False, remarks=())


def first_only(data: StudyData, count: int, *, parts: int = 1) -> StudyData:
    """Return what is there when everybody has rated so many songs of their first parts."""
    kept = (each for each in data.records if each.number <= count and each.place <= parts)
    return replace(data, records=tuple(kept))


def all_files(folder: Path) -> dict[str, bytes]:
    """Return everything below a folder by its place in it."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def uneven(data: StudyData) -> StudyData:
    """Return a study in which everybody is somewhere else: the later ones have done less."""
    kept = (each for each in data.records if each.number + each.place + each.participant <= 9)
    return replace(data, records=tuple(kept))
