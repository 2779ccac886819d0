"""The report: one HTML file that needs nothing else (see `document`).

Everything that came from elsewhere is escaped (see `markup`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.report import words
from bandstand_lab.report.chapter_page import (
    SYMBOLS,
    chapter_html,
    class_of,
    problems_html,
    verdict_html,
)
from bandstand_lab.report.document import document, entry, fact
from bandstand_lab.report.folder import options
from bandstand_lab.report.markup import Markup, element, join, paragraphs, prose
from bandstand_lab.report.study import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.report.chapters import Written
    from bandstand_lab.report.study import Plan

_TITLE: Final = "A music recommender's claims, run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyTime:
    """How long the jobs of a study took."""

    title: str
    jobs: int
    seconds: float  # of all jobs, one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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


def page(report: Report) -> bytes:
    """Return the report as HTML."""
    return document(
        _TITLE,
        _masthead(report),
        element(
            "main",
            _summary(report),
            _contents(report),
            (chapter_html(number, each) for number, each in enumerate(report.chapters, 1)),
            _terms(),
            _repeat(report),
            _durations(report),
        ),
    )


def tally(chapters: tuple[Written, ...], *, ours: bool = False) -> dict[Verdict, int]:
    """Return how many of the paper's claims, or of our own questions, have each verdict."""
    counts = Counter(
        finding.verdict
        for chapter in chapters
        for finding in chapter.findings
        if finding.is_ours == ours
    )
    return {verdict: counts[verdict] for verdict in Verdict}


def counted(claims: int, *, ours: bool = False) -> str:
    """Return how many claims of the paper there are, or how many questions of our own.

    >>> counted(45), counted(1, ours=True)
    ('45 claims of the paper', '1 question of our own')
    """
    ending = "" if claims == 1 else "s"
    what = f"question{ending} of our own" if ours else f"claim{ending} of the paper"
    return f"{claims} {what}"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> [duration(x) for x in (0.4, 12.3, 100.0, 3_725.0)]
    ['0.4 s', '12 s', '1 min 40 s', '1 h 2 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


def _masthead(report: Report) -> Markup:
    size = f"{report.plan.size} size, seed {report.plan.seed}"
    return element(
        "header",
        element("p", f"Bandstand · reproduction report · {size}", class_="kicker"),
        element("h1", _TITLE),
        element("p", element("cite", words.PAPER), f". {words.AUTHORS}.", class_="paper"),
        paragraphs(words.ABOUT),
        element("p", words.QUICK, class_="size") if report.plan.size == "quick" else None,
    )


def _summary(report: Report) -> Markup:
    counts, own = tally(report.chapters), tally(report.chapters, ours=True)
    claims, questions = sum(counts.values()), sum(own.values())
    heading = f"{counted(claims)}, and what became of them"
    return element(
        "section",
        element("h2", heading if claims else "No claim was examined"),
        problems_html(report.problems),
        _tally(counts) if claims else None,
        element("h3", f"And {counted(questions, ours=True)}") if questions else None,
        _tally(own) if questions else None,
        _claims(report) if claims or questions else None,
        id="summary",
    )


def _tally(counts: Mapping[Verdict, int]) -> Markup:
    shares = (
        element("i", class_=class_of(verdict), style=f"flex-grow:{count}")
        for verdict, count in counts.items()
        if count
    )
    return join(
        element(
            "ul",
            (
                element(
                    "li",
                    element("b", str(count)),
                    element("span", f"{SYMBOLS[verdict]} {verdict}"),
                    class_=class_of(verdict),
                )
                for verdict, count in counts.items()
                if count
            ),
            class_="tally",
        ),
        element("div", shares, class_="shares", aria_hidden="true"),
    )


def _claims(report: Report) -> Markup:
    """Return every claim with its verdict; more about each is in its chapter."""
    groups = (
        element(
            "tbody",
            element(
                "tr",
                element(
                    "th",
                    element("a", f"{number} {chapter.title}", href=f"#{chapter.name}"),
                    colspan=3,
                    scope="rowgroup",
                ),
            ),
            (
                element(
                    "tr",
                    element("td", prose(finding.paper)),
                    element("td", finding.place, class_="place"),
                    element("td", verdict_html(finding.verdict)),
                )
                for finding in chapter.findings
            ),
        )
        for number, chapter in enumerate(report.chapters, 1)
        if chapter.findings
    )
    names = ("Claim", "Where in the paper", "Seen here")
    head = element("thead", element("tr", (element("th", name, scope="col") for name in names)))
    return element("table", head, groups, class_="claims")


def _contents(report: Report) -> Markup:
    chapters = [(chapter.name, chapter.title) for chapter in report.chapters]
    last = [("words", "Words used here"), ("repeat", "How to repeat it"), ("durations", "Times")]
    absent = "; ".join(report.absent)
    return element(
        "nav",
        element("h2", "Contents"),
        element("ol", (entry(*each) for each in chapters)),
        element("ul", (entry(*each) for each in last)),
        element("p", f"Not in this report, because not run: {absent}.") if absent else None,
        aria_label="Contents",
    )


def _terms() -> Markup:
    listed = (
        join(element("dt", term), element("dd", " ".join(text.split())))
        for term, text in words.TERMS.items()
    )
    return element(
        "section",
        element("h2", "Words used here"),
        element("dl", listed, class_="terms"),
        id="words",
    )


def _repeat(report: Report) -> Markup:
    given = {
        "size": report.plan.size,
        "seed": report.plan.seed,
        **{name: value for name, value in report.machine.items() if value is not None},
    }
    return element(
        "section",
        element("h2", "How to repeat it"),
        element("pre", f"bandstand reproduce OUT {options(report.plan)}"),
        element(
            "p",
            "The same seed gives the same numbers, however many processes work on it; only times "
            "are this computer's own. Every result is kept in ",
            element("code", "work/"),
            ", so an interrupted run goes on where it was. All claims in one file: ",
            element("a", "findings.json", href="findings.json"),
            "; this run: ",
            element("a", "run.json", href="run.json"),
            ".",
        ),
        element("dl", (fact(*each) for each in given.items()), class_="facts"),
        id="repeat",
    )


def _durations(report: Report) -> Markup:
    rows = (
        element(
            "tr",
            element("td", time.title),
            element("td", f"{time.jobs:,}", class_="number"),
            element("td", duration(time.seconds), class_="number"),
        )
        for time in report.times
    )
    total = sum(time.seconds for time in report.times)
    last = f" The last ended {report.finished}." if report.finished else ""
    names = (("study", None), ("jobs", "number"), ("working time", "number"))
    head = element("tr", (element("th", name, scope="col", class_=kind) for name, kind in names))
    return element(
        "section",
        element("h2", "Times"),
        element(
            "p",
            f"All jobs together worked for {duration(total)}, those that measure time one by one "
            f"and the others side by side.{last}",
        ),
        element("table", element("thead", head), element("tbody", rows), class_="times"),
        id="durations",
    )
