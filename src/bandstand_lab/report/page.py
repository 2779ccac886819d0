"""Chapters with their files, and the report: one HTML file that needs nothing else.

Pictures are in it; there is no script, and a policy forbids the browser to fetch anything. All
text is escaped unless it was made here: by `element`, or by the templates of page.html.

>>> element("p", "1 < 2 & ", element("b", "bold"), class_="lead")
'<p class="lead">1 &lt; 2 &amp; <b>bold</b></p>'
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from base64 import b64encode
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from bandstand_lab.report.figures import new_figure, png, style
from bandstand_lab.report.folder import (
    as_bytes,
    options,
    problem_line,
    remove_others,
    write_whole,
)
from bandstand_lab.report.study import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from bandstand_lab.report.study import Cell, Chapter, Drawing, Finding, Json, Plan, Table

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'"
_WITHOUT_END: Final = frozenset({"br", "col", "hr", "img", "link", "meta"})
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


Child: TypeAlias = "str | Iterable[Child] | None"


def element(name: str, /, *children: Child, **attributes: str | int | None) -> Markup:
    """Return an element; children that are plain text are escaped, None is left out.

    An attribute's underscores are hyphens; one at the end is for names that Python has taken.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    end = "" if name in _WITHOUT_END else f"{join(*children)}</{name}>"
    return Markup(f"<{name}{written}>{end}")  # noqa: S704  (its parts are escaped)


def join(*children: Child) -> Markup:
    """Return the children one after the other, as HTML."""
    known = (child for child in children if child is not None)
    parts = (escape(child) if isinstance(child, str) else join(*child) for child in known)
    return Markup("").join(parts)


def prose(text: str) -> Markup:
    """Return one sentence or more, in which `words in backticks` are code.

    >>> prose("run `a < b` now")
    'run <code>a &lt; b</code> now'
    """
    parts = _CODE.split(text)
    return join(element("code", part) if number % 2 else part for number, part in enumerate(parts))


def paragraphs(text: str, class_: str | None = None) -> Markup:
    """Return text as paragraphs, which blank lines part."""
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text)]
    return join(element("p", prose(part), class_=class_) for part in parts if part)


def document(title: str, *body: Child) -> bytes:
    """Return the whole file, in the style of all reports."""
    # Our own style sheet, not escaped: a quotation mark in it is one.
    sheet = Markup(_file("report.css"))  # noqa: S704
    whole = _rendered("document", title=title, policy=_POLICY, sheet=sheet, body=join(*body))
    return f"{whole.strip()}\n".encode()


def entry(name: str, title: str) -> Markup:
    """Return a line of the contents that leads to a section."""
    return element("li", element("a", title, href=f"#{name}"))


def fact(name: str, value: object) -> Markup:
    """Return a name beside its value."""
    return element("div", element("dt", name.replace("_", " ")), element("dd", str(value)))


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
        return tuple(
            f"{chapter.title}: {problem}"
            for chapter in self.chapters
            for problem in chapter.problems
        )


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
    names = table_names(chapter.tables)
    return _rendered(
        "chapter",
        number=number,
        written=written,
        figures=[
            _figure(each, written.pictures[each.name])
            for each in chapter.drawings
            if each.name in written.pictures
        ],
        tables=[
            _table(table, f"data/{written.name}/{name}")
            for table, name in zip(chapter.tables, names, strict=True)
        ],
    )


def problems_html(problems: tuple[str, ...]) -> Markup:
    """Return what went wrong, as a box that cannot be overlooked; nothing without problems."""
    return _rendered("problems", found=problems)


def tally(chapters: Iterable[Written]) -> dict[Verdict, int]:
    """Return the number of claims by verdict."""
    counts = Counter(finding.verdict for chapter in chapters for finding in chapter.findings)
    return {verdict: counts[verdict] for verdict in Verdict}


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> [duration(x) for x in (0.4, 12.3, 100.0, 3_725.0)]
    ['0.4 s', '12 s', '1 min 40 s', '1 h 2 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


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
    return Markup(getattr(_templates(), macro)(**values))  # noqa: S704  (templates escape)


@cache
def _templates() -> Any:
    environment = Environment(
        undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(prose=prose, paragraphs=paragraphs, duration=duration)
    environment.globals.update(symbols=_SYMBOLS, kinds=_KINDS)
    return environment.from_string(_file("page.html")).module


def _file(name: str) -> str:
    return resources.files("bandstand_lab.report").joinpath(name).read_text(encoding="utf-8")
