"""One chapter as HTML: question, claims, figures, tables, method, files."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.chapters import table_names
from bandstand_lab.report.markup import Markup, element, join, paragraphs, prose
from bandstand_lab.report.study import Verdict

if TYPE_CHECKING:
    from bandstand_lab.report.chapters import Written
    from bandstand_lab.report.study import Cell, Chapter, Drawing, Finding, Table

# Symbols too, for people who do not see the colours.
SYMBOLS: Final = {
    Verdict.HOLDS: "✓",
    Verdict.PARTLY: "◐",
    Verdict.FAILS: "✗",
    Verdict.OPEN: "?",
}
_CLASSES: Final = {
    Verdict.HOLDS: "holds",
    Verdict.PARTLY: "partly",
    Verdict.FAILS: "fails",
    Verdict.OPEN: "open",
}
_NUMBER: Final = re.compile(r"[-−+±<>≤≥]?\s?\.?\d|[–-]?$")
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Longer tables have a window of their own on the screen; in print they are whole.
_LONG_TABLE: Final = 24  # rows
_WIDE_TABLE: Final = 6  # columns
_SHORT_WORDS: Final = 40  # letters of a cell that stay on one line
# Letters in a figure are about as large as those around it; wider ones may leave the column.
_PIXELS_PER_INCH: Final = 108
_WIDE: Final = 9.0  # inches


def chapter_html(number: int, written: Written) -> Markup:
    """Return a chapter, or what went wrong in place of one."""
    return element(
        "section",
        element("h2", element("span", f"{number}", class_="number"), " ", written.title),
        problems_html(written.problems),
        None if written.chapter is None else _parts(written, written.chapter),
        _files_html(written),
        id=written.name,
        class_="chapter",
    )


def _parts(written: Written, chapter: Chapter) -> Markup:
    figures = [_figure(each, written) for each in chapter.drawings if each.name in written.pictures]
    files = (f"data/{written.name}/{name}" for name in table_names(chapter.tables))
    tables = [_table(table, file) for table, file in zip(chapter.tables, files, strict=True)]
    return join(
        paragraphs(chapter.introduction, class_="question"),
        figures[:1],
        _findings(chapter),
        figures[1:],
        tables,
        element("h3", "How it was done"),
        paragraphs(chapter.method, class_="method"),
    )


def verdict_html(verdict: Verdict) -> Markup:
    """Return a verdict as a symbol and words."""
    symbol = element("span", SYMBOLS[verdict], aria_hidden="true")
    return element("span", symbol, f" {verdict}", class_=f"verdict {class_of(verdict)}")


def class_of(verdict: Verdict) -> str:
    """Return the name of a verdict's colour."""
    return _CLASSES[verdict]


def problems_html(problems: tuple[str, ...]) -> Markup | None:
    """Return what went wrong, so that nobody reads over it."""
    if not problems:
        return None
    return element(
        "div",
        element("strong", "Incomplete."),
        element("ul", (element("li", each) for each in problems)),
        class_="problem",
    )


def _findings(chapter: Chapter) -> Markup | None:
    if not chapter.findings:
        return None
    return element(
        "div",
        element("h3", f"{_whose(chapter.findings)}, and what was seen"),
        (_finding(each) for each in chapter.findings),
        class_="findings",
    )


def _whose(findings: tuple[Finding, ...]) -> str:
    ours = [finding.is_ours for finding in findings]
    if all(ours):
        return "Our questions"
    return "The paper's claims, our questions" if any(ours) else "The paper's claims"


def _finding(finding: Finding) -> Markup:
    """Return one claim: the paper's side or our question, what was seen, the verdict and why."""
    paper = join(prose(finding.paper), " ", element("span", finding.place, class_="place"))
    asked = "Our question" if finding.is_ours else "The paper"
    sides = ((asked, paper), ("Here", prose(finding.measured)), ("Why", prose(finding.why)))
    return element(
        "div",
        verdict_html(finding.verdict),
        element(
            "dl",
            (join(element("dt", name), element("dd", text)) for name, text in sides if text),
        ),
        class_=f"finding {class_of(finding.verdict)}",
    )


def _figure(drawing: Drawing, written: Written) -> Markup:
    content = b64encode(written.pictures[drawing.name]).decode()
    image = element(
        "img",
        src=f"data:image/png;base64,{content}",
        alt=drawing.caption.replace("`", ""),
        width=round(_PIXELS_PER_INCH * drawing.width),
        height=round(_PIXELS_PER_INCH * drawing.height),
    )
    scroller = element("div", image, **_scrollable(f"Figure {drawing.name}"))
    return element(
        "figure",
        scroller,
        element("figcaption", prose(drawing.caption)),
        class_="wide" if drawing.width > _WIDE else None,
    )


def _table(table: Table, file: str) -> Markup:
    is_number = [
        all(_reads_as_number(row[place]) for row in table.rows)
        for place in range(len(table.columns))
    ]
    whole = element(
        "table",
        element("thead", element("tr", map(_head, table.columns, is_number))),
        element("tbody", (_row(row, is_number) for row in table.rows)),
    )
    return element(
        "div",
        element("h3", table.title),
        element("div", whole, **_scrollable(table.title)),
        paragraphs(table.note, class_="note"),
        _source(len(table.rows), file),
        class_=" ".join(
            ["numbers"]
            + ["long"] * (len(table.rows) > _LONG_TABLE)
            + ["wide"] * (len(table.columns) > _WIDE_TABLE)
        ),
    )


def _source(rows: int, file: str) -> Markup:
    """Return where the numbers are, and that a table goes on where its window ends."""
    more = f"{rows:,} rows; scroll, or the " if rows > _LONG_TABLE else None
    return element("p", more, element("a", "CSV", href=file), class_="raw")


def _reads_as_number(cell: Cell) -> bool:
    """Return whether a cell is a number, or words that begin with one: "0.12 ± 0.03"."""
    return not isinstance(cell, str) or _NUMBER.match(cell) is not None


def _scrollable(label: str) -> dict[str, str]:
    """Return the attributes of what may be wider than the screen, also for keyboards."""
    return {"class_": "scroll", "role": "region", "aria_label": label, "tabindex": "0"}


def _head(name: str, is_number: bool) -> Markup:  # noqa: FBT001  # called by map
    return element("th", prose(name), scope="col", class_="number" if is_number else None)


def _row(row: tuple[Cell, ...], is_number: list[bool]) -> Markup:
    return element(
        "tr",
        (
            element(
                "td",
                prose(cell) if isinstance(cell, str) else shown(cell),
                class_=_kind(cell, numeric=numeric),
            )
            for cell, numeric in zip(row, is_number, strict=True)
        ),
    )


def _kind(cell: Cell, *, numeric: bool) -> str | None:
    """Return how a cell is set: numbers to the right, a few words on one line."""
    if numeric:
        return "number"
    return "short" if len(str(cell)) <= _SHORT_WORDS else None


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
            text = _with_power(f"{cell:.3g}")
        case _:
            text = str(cell)
    return text.replace("-", "−", 1) if text.startswith("-") else text


def _with_power(text: str) -> str:
    digits, _, power = text.partition("e")
    return f"{digits} × 10{str(int(power)).translate(_SUPERSCRIPTS)}" if power else text


def _files_html(written: Written) -> Markup | None:
    if not written.files:
        return None
    links = (element("a", file.rsplit("/", 1)[1], href=file) for file in written.files)
    listed = join(*(join(" · " if number else None, link) for number, link in enumerate(links)))
    return element("p", element("strong", "Raw numbers and pictures: "), listed, class_="raw")
