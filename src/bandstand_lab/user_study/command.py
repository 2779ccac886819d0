"""A study's report in a folder of its own.

OUT/index.html        the page
OUT/data/CHAPTER/     the numbers of figures and tables, as PNG, CSV and JSON
OUT/export/           all ratings, from which the same report can be made again
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.study.records import StudyData
from bandstand.study.study_files import STUDY_FILE, write_export
from bandstand_lab.report.folder import write_whole
from bandstand_lab.report.page import write_chapter
from bandstand_lab.report.study import Chapter, Verdict
from bandstand_lab.user_study.analysis import analyse
from bandstand_lab.user_study.chapters import (
    TEXTS,
    comparisons_chapter,
    novelty_chapter,
    ratings_chapter,
    repetition_chapter,
    uncertainty_chapter,
)
from bandstand_lab.user_study.page import StudyReport, answer, page
from bandstand_lab.user_study.participation import participation_chapter

_OURS: Final = frozenset({"index.html", "data", "export"})


def check_folder(out: Path) -> None:
    """Refuse a folder with other files, which the report could overwrite."""
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
    """Write all files of the report and return it; `on_done` is called after each chapter."""
    check_folder(out)
    write_export(data, out / "export")
    # With more than 15 people the correction draws; the same study draws the same.
    analysis = analyse(data, rng=np.random.default_rng(data.design.seed))
    makers: dict[str, Callable[[], Chapter]] = {
        "ratings": partial(ratings_chapter, data, analysis),
        "comparisons": partial(comparisons_chapter, data, analysis),
        "uncertainty": partial(uncertainty_chapter, data),
        "repetition": partial(repetition_chapter, data),
        "novelty": partial(novelty_chapter, data),
        "participation": partial(participation_chapter, data),
    }
    chapters = []
    for number, (name, make) in enumerate(makers.items(), start=1):
        judged = partial(_judged, data, make)
        title = TEXTS(f"{name}.title")
        chapters.append(write_chapter(name, title, judged, place=out / "data" / name))
        if on_done is not None:
            on_done(number, len(makers))
    report = StudyReport(data=data, answer=answer(data, analysis), chapters=tuple(chapters))
    write_whole(out / "index.html", page(report))
    return report


def _judged(data: StudyData, make: Callable[[], Chapter]) -> Chapter:
    """Return a chapter whose verdicts are open if the people were simulated."""
    chapter = make()
    if not data.simulated:
        return chapter
    why = TEXTS("page.simulated_finding")
    findings = (replace(each, verdict=Verdict.OPEN, why=why) for each in chapter.findings)
    return replace(chapter, findings=tuple(findings))
