"""A study's chapter, and the files that it leaves beside the report.

    data/STUDY/STUDY.json      the chapter's numbers
    data/STUDY/findings.json   its claims and their verdicts
    data/STUDY/TITLE.csv       each table, with all digits
    data/STUDY/NAME.png        each figure

Whatever goes wrong in one chapter, or in one of its figures, stays in it and is told there.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from bandstand.errors import BandstandError
from bandstand_lab.report.figures import new_figure, png, style
from bandstand_lab.report.files import as_bytes, remove_others, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from bandstand_lab.report.folder import Folder
    from bandstand_lab.report.study import (
        Chapter,
        Drawing,
        Finding,
        Json,
        Plan,
        Study,
        Table,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A chapter with its pictures, or the reasons why there is none."""

    name: str
    title: str
    chapter: Chapter | None
    pictures: Mapping[str, bytes] = field(default_factory=dict)  # by name
    files: tuple[str, ...] = ()  # beside the report, relative to it
    problems: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The claims and their verdicts."""
        return () if self.chapter is None else self.chapter.findings


def write_chapter(study: Study, plan: Plan, results: Mapping[str, Json], folder: Folder) -> Written:
    """Return the chapter that the results amount to, when its files are written."""
    return write_made(
        study.name,
        study.title,
        lambda: study.chapter(plan, results),
        place=folder.data(study.name),
    )


def write_made(name: str, title: str, make: Callable[[], Chapter], *, place: Path) -> Written:
    """Return the chapter that `make` returns, when its files are written to a folder.

    The report looks for them in data/NAME.
    """
    try:
        chapter = make()
        files = _raw_files(name, chapter)
    except Exception as problem:  # noqa: BLE001  # the other chapters are none the worse
        failure = f"the chapter could not be made of its results: {said(problem)}"
        return Written(name=name, title=title, chapter=None, problems=(failure,))
    pictures, problems = _drawn(chapter.drawings)
    files |= {f"{drawn}.png": content for drawn, content in pictures.items()}
    for file, content in files.items():
        write_whole(place / file, content)
    remove_others(place, set(files))
    return Written(
        name=name,
        title=title,
        chapter=chapter,
        pictures=pictures,
        files=tuple(f"data/{name}/{file}" for file in sorted(files)),
        problems=tuple(problems),
    )


def failed(study: Study, problems: Sequence[str]) -> Written:
    """Return a chapter that only says what went wrong."""
    return Written(name=study.name, title=study.title, chapter=None, problems=tuple(problems))


def file_name_of(title: str) -> str:
    """Return a title as a file's name.

    >>> file_name_of("Regret at n = 100 (SE)")
    'regret-at-n-100-se'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:80] or "table"


def table_names(tables: Sequence[Table]) -> list[str]:
    """Return the tables' files, different where titles are not."""
    names: list[str] = []
    for table in tables:
        name = file_name_of(table.title)
        same = sum(earlier == name or earlier.startswith(f"{name}~") for earlier in names)
        names.append(f"{name}~{same + 1}" if same else name)
    return [f"{name}.csv" for name in names]


def finding_json(finding: Finding) -> dict[str, Json]:
    """Return a claim with its verdict."""
    return {**asdict(finding), "verdict": str(finding.verdict)}


def _raw_files(name: str, chapter: Chapter) -> dict[str, bytes]:
    files = {
        f"{name}.json": as_bytes(dict(chapter.data), indent=1),
        "findings.json": as_bytes([finding_json(each) for each in chapter.findings], indent=2),
    }
    tables = zip(table_names(chapter.tables), chapter.tables, strict=True)
    return files | {file: _as_csv(table) for file, table in tables}


def _as_csv(table: Table) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue().encode()


def _drawn(drawings: Sequence[Drawing]) -> tuple[dict[str, bytes], list[str]]:
    """Return the pictures, and what went wrong with those that could not be drawn."""
    pictures, problems = {}, []
    for drawing in drawings:
        try:
            with style():
                figure = new_figure(drawing.width, drawing.height)
                drawing.draw(figure)
                pictures[drawing.name] = png(figure)
        except Exception as problem:  # noqa: BLE001  # the rest of the chapter stays
            problems.append(f"the figure {drawing.name} could not be drawn: {said(problem)}")
    return pictures, problems


def said(problem: Exception) -> str:
    """Return what went wrong in one line."""
    words = " ".join(str(problem).split())
    return words if isinstance(problem, BandstandError) else f"{type(problem).__name__}: {words}"
