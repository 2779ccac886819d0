"""Chapters with their files, and the report: one HTML file that needs nothing else.

Pictures are in it; there is no script, and a policy forbids the browser to fetch anything. The
templates of page.html escape all text.
"""

import csv
import io
import re
import tomllib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from bandstand._util.words import duration
from bandstand_lab.report.figures import new_figure, png, style
from bandstand_lab.report.folder import (
    as_bytes,
    options,
    problem_line,
    remove_others,
    write_whole,
)
from bandstand_lab.report.study import Cell, Chapter, Drawing, Finding, Json, Plan, Table, Verdict

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"
_CODE: Final = re.compile(r"`([^`\n]+)`")
# Symbols too, for people who do not see the colours.
_SYMBOLS: Final = dict(zip(Verdict, "✓◐✗?", strict=True))
_KINDS: Final = dict(zip(Verdict, ("holds", "partly", "fails", "open"), strict=True))
_NUMBER: Final = re.compile(r"[-−+±<>≤≥]?\s?\.?\d|[–-]?$")
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Longer tables have a window of their own on the screen; in print they are whole.
_MAX_SHOWN_ROWS: Final = 24
_MAX_LETTERS_ON_ONE_LINE: Final = 40  # of a cell
# Letters in a figure are about as large as those around it; wider ones may leave the column.
_PIXELS_PER_INCH: Final = 108
_WIDE: Final = 9.0  # inches


def prose(text: str) -> Markup:
    """Return one sentence or more, in which `words in backticks` are code.

    >>> print(prose("run `a < b` now"))
    run <code>a &lt; b</code> now
    """
    code = Markup("<code>{}</code>")
    parts = enumerate(_CODE.split(text))
    return Markup("").join(code.format(part) if number % 2 else part for number, part in parts)


def paragraphs(text: str, class_: str | None = None) -> Markup:
    """Return text as paragraphs, which blank lines part."""
    begin = Markup('<p class="{}">').format(class_) if class_ else Markup("<p>")
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return Markup("").join(begin + prose(part) + Markup("</p>") for part in parts if part)


def document(title: str, body: Markup) -> bytes:
    """Return the whole file, in the style of all reports."""
    # Our own style sheet, not escaped: a quotation mark in it is one.
    sheet = Markup(_file("report.css"))  # noqa: S704
    whole = _rendered("document", title=title, policy=_POLICY, sheet=sheet, body=body)
    return f"{whole.strip()}\n".encode()


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


def write_chapter(name: str, title: str, make: Callable[[], Chapter], *, place: Path) -> Written:
    """Return the chapter that `make` returns, when its files are written to a folder.

    The report looks for them in data/NAME.
    """
    try:
        chapter = make()
        files = _raw_files(name, chapter)
    except Exception as problem:  # noqa: BLE001  # the other chapters are none the worse
        failure = f"the chapter could not be made of its results: {problem_line(problem)}"
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


def finding_json(finding: Finding) -> dict[str, Json]:
    """Return a claim with its verdict."""
    return {**asdict(finding), "verdict": str(finding.verdict)}


def _raw_files(name: str, chapter: Chapter) -> dict[str, bytes]:
    files = {
        f"{name}.json": as_bytes(dict(chapter.data), indent=1),
        "findings.json": as_bytes([finding_json(each) for each in chapter.findings], indent=2),
    }
    return files | {f"{table.name}.csv": _as_csv(table) for table in chapter.tables}


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
            problems.append(
                f"the figure {drawing.name} could not be drawn: {problem_line(problem)}"
            )
    return pictures, problems


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTime:
    """How long the jobs of a study took."""

    title: str
    jobs: int
    seconds: float  # of all jobs, one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionReport:
    """All that the page shows."""

    plan: Plan
    chapters: tuple[Written, ...]
    absent: tuple[str, ...]  # titles of studies that were not asked for
    machine: Mapping[str, Any]
    times: tuple[StudyTime, ...]
    finished: str  # when the last job was

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong, by chapter."""
        return problems_of(self.chapters)


def problems_of(chapters: Sequence[Written]) -> tuple[str, ...]:
    """Return what went wrong, by chapter."""
    return tuple(f"{one.title}: {problem}" for one in chapters for problem in one.problems)


def page(report: ReproductionReport) -> bytes:
    """Return the report as HTML."""
    words = tomllib.loads(_file("words.toml"))
    given = {"size": report.plan.size, "seed": report.plan.seed, **report.machine}
    return document(
        words["title"],
        _rendered(
            "whole",
            report=report,
            words=words,
            counts=tally(report.chapters),
            chapters=[chapter_html(number, each) for number, each in enumerate(report.chapters, 1)],
            command=options(report.plan),
            facts={name: value for name, value in given.items() if value is not None},
            total=sum(time.seconds for time in report.times),
        ),
    )


def chapter_html(number: int, written: Written) -> Markup:
    """Return a chapter, or what went wrong in place of one."""
    chapter = written.chapter
    if chapter is None:
        return _rendered("chapter", number=number, written=written, figures=[], tables=[])
    return _rendered(
        "chapter",
        number=number,
        written=written,
        figures=[
            _figure(each, written.pictures[each.name])
            for each in chapter.drawings
            if each.name in written.pictures
        ],
        tables=[_table(each, f"data/{written.name}/{each.name}.csv") for each in chapter.tables],
    )


def tally(chapters: Iterable[Written]) -> dict[Verdict, int]:
    """Return the number of claims by verdict."""
    counts = Counter(finding.verdict for chapter in chapters for finding in chapter.findings)
    return {verdict: counts[verdict] for verdict in Verdict}


def shown(cell: Cell) -> str:
    """Return a number as people read it: three digits that count; the CSV has them all.

    >>> [shown(cell) for cell in (None, 12345, 12345.6, 0.012345, 2e-7, 0.0, -0.5)]
    ['–', '12,345', '12,346', '0.0123', '2 × 10⁻⁷', '0', '−0.5']
    """
    match cell:
        case None:
            return "–"
        case bool():
            return "yes" if cell else "no"
        case int():
            text = f"{cell:,}"
        case float() if abs(cell) >= 100:
            text = f"{cell:,.0f}"
        case float():
            digits, _, power = f"{cell:.3g}".partition("e")
            text = f"{digits} × 10{str(int(power)).translate(_SUPERSCRIPTS)}" if power else digits
        case _:
            return cell
    return text.replace("-", "−", 1) if text.startswith("-") else text


def _figure(drawing: Drawing, picture: bytes) -> dict[str, Any]:
    return {
        "name": drawing.name,
        "caption": drawing.caption,
        "content": b64encode(picture).decode(),
        "width": round(_PIXELS_PER_INCH * drawing.width),
        "height": round(_PIXELS_PER_INCH * drawing.height),
        "wide": drawing.width > _WIDE,
    }


def _table(table: Table, file: str) -> dict[str, Any]:
    """Return the cells with how they are set: numbers to the right, a few words on one line."""
    columns = range(len(table.columns))
    numeric = [all(_reads_as_number(row[place]) for row in table.rows) for place in columns]
    right = ["number" if each else None for each in numeric]
    return {
        "title": table.title,
        "note": table.note,
        "file": file,
        "is_long": len(table.rows) > _MAX_SHOWN_ROWS,
        "heads": list(zip(table.columns, right, strict=True)),
        "rows": [
            [(shown(cell), kind or _short(cell)) for cell, kind in zip(row, right, strict=True)]
            for row in table.rows
        ],
    }


def _short(cell: Cell) -> str | None:
    return "short" if len(str(cell)) <= _MAX_LETTERS_ON_ONE_LINE else None


def _reads_as_number(cell: Cell) -> bool:
    """Return whether a cell is a number, or words that begin with one: "0.12 ± 0.03"."""
    return not isinstance(cell, str) or _NUMBER.match(cell) is not None


def _rendered(macro: str, **values: Any) -> Markup:
    rendered = getattr(environment().get_template("page.html").module, macro)(**values)
    return Markup(rendered)  # noqa: S704  (templates escape)


@cache
def environment() -> Environment:
    """Return what fills templates of HTML, which may import the macros of page.html."""
    made = Environment(
        loader=FunctionLoader(_file),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, paragraphs=paragraphs, duration=duration)
    made.globals.update(symbols=_SYMBOLS, kinds=_KINDS)
    return made


def _file(name: str) -> str:
    return resources.files("bandstand_lab.report").joinpath(name).read_text(encoding="utf-8")
