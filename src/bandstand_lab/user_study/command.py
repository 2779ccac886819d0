"""A study's report in a folder of its own.

OUT/index.html        the page
OUT/data/CHAPTER/     what the figures and tables show, as PNG, CSV and JSON
OUT/export/           all ratings, from which the same report can be made again
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.study.exchange import STUDY_FILE, write_export
from bandstand_lab.report.folder import write_whole
from bandstand_lab.report.page import write_chapter
from bandstand_lab.user_study import (
    comparisons,
    novelty,
    participation,
    ratings,
    repetition,
    uncertainty,
)
from bandstand_lab.user_study.analysis import analyse
from bandstand_lab.user_study.answer import answer
from bandstand_lab.user_study.page import StudyReport, page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bandstand.study.records import StudyData
    from bandstand_lab.report.study import Chapter
    from bandstand_lab.user_study.analysis import Analysis

_OURS: Final = frozenset({"index.html", "data", "export"})


class _Part(NamedTuple):
    name: str
    title: str
    make: Callable[[], Chapter]


def check_folder(out: Path) -> None:
    """Refuse a folder with things of somebody else, which the report could overwrite."""
    if out.is_dir():
        names = {entry.name for entry in out.iterdir()}
        is_report = (out / "export" / STUDY_FILE).is_file() and names <= _OURS
        is_begun = names <= {"export"}  # the first thing that is written
        if is_report or is_begun:
            return
    if out.exists():
        msg = (
            "expected a new or empty folder, or one of an earlier `bandstand study report`, "
            f"got {out}, which is something else"
        )
        raise InvalidInputError(msg)


def write_report(
    data: StudyData, out: Path, *, on_done: Callable[[int, int], None] | None = None
) -> StudyReport:
    """Return the report when everything of it is written; `on_done` hears of each chapter."""
    check_folder(out)
    write_export(data, out / "export")
    # With more than 15 people the correction draws; the same study draws the same.
    analysis = analyse(data, rng=np.random.default_rng(data.design.seed))
    parts = _parts(data, analysis)
    chapters = []
    for number, part in enumerate(parts, start=1):
        place = out / "data" / part.name
        chapters.append(write_chapter(part.name, part.title, part.make, place=place))
        if on_done is not None:
            on_done(number, len(parts))
    report = StudyReport(data=data, answer=answer(data, analysis), chapters=tuple(chapters))
    write_whole(out / "index.html", page(report))
    return report


def _parts(data: StudyData, analysis: Analysis) -> tuple[_Part, ...]:
    return (
        _Part("ratings", ratings.TITLE, partial(ratings.ratings_chapter, data, analysis)),
        _Part(
            "comparisons",
            comparisons.TITLE,
            partial(comparisons.comparisons_chapter, data, analysis),
        ),
        _Part("uncertainty", uncertainty.TITLE, partial(uncertainty.uncertainty_chapter, data)),
        _Part("repetition", repetition.TITLE, partial(repetition.repetition_chapter, data)),
        _Part("novelty", novelty.TITLE, partial(novelty.novelty_chapter, data)),
        _Part(
            "participation",
            participation.TITLE,
            partial(participation.participation_chapter, data),
        ),
    )
