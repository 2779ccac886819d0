"""The page of a study: the answer first, then the evidence for it, then how it was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bandstand import __version__
from bandstand_lab.report.figures import in_order, look_of
from bandstand_lab.report.page import (
    Markup,
    chapter_html,
    document,
    element,
    entry,
    fact,
    join,
    paragraphs,
    problems_html,
)
from bandstand_lab.user_study import words
from bandstand_lab.user_study.repeating import commands, needs_file

if TYPE_CHECKING:
    from bandstand.study.design import Design
    from bandstand.study.records import StudyData
    from bandstand_lab.report.page import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport:
    """All that the page shows."""

    data: StudyData
    answer: str
    chapters: tuple[Written, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong, by chapter."""
        return tuple(
            f"{chapter.title}: {problem}"
            for chapter in self.chapters
            for problem in chapter.problems
        )


def page(report: StudyReport) -> bytes:
    """Return the report as HTML; the same ratings give the same bytes."""
    return document(
        report.data.design.title,
        _masthead(report),
        element(
            "main",
            _summary(report),
            _contents(report),
            (chapter_html(number, each) for number, each in enumerate(report.chapters, 1)),
            _terms(report.data.design),
            _repeat(report.data),
        ),
    )


def _masthead(report: StudyReport) -> Markup:
    kind = "simulated study" if report.data.simulated else "study with people"
    return element(
        "header",
        element("p", f"Bandstand · {kind} · report", class_="kicker"),
        element("h1", report.data.design.title),
        _banner(report.data),
        paragraphs(words.ABOUT_SIMULATED if report.data.simulated else words.ABOUT),
    )


def _banner(data: StudyData) -> Markup | None:
    """Return the word that nobody may miss: no person has rated anything here."""
    if not data.simulated:
        return None
    return element(
        "div",
        element("strong", "Simulated participants. "),
        words.SIMULATED,
        (join(" ", remark) for remark in data.remarks),
        class_="problem",
        role="note",
    )


def _summary(report: StudyReport) -> Markup:
    remarks = "" if report.data.simulated else " ".join(report.data.remarks)
    return element(
        "section",
        element("h2", "The answer"),
        problems_html(report.problems),
        paragraphs(report.answer, class_="question"),
        _sizes(report.data),
        paragraphs(remarks),
        id="answer",
    )


def _sizes(data: StudyData) -> Markup:
    people = {record.participant for record in data.records}
    sizes = (
        (len(people), "simulated people" if data.simulated else "people who rated"),
        (len(data.design.algorithms), "algorithms"),
        (len(data.records), "ratings"),
        (len(data.catalogue), "songs to choose from"),
    )
    return element(
        "ul",
        (element("li", element("b", f"{count:,}"), element("span", what)) for count, what in sizes),
        class_="tally",
    )


def _contents(report: StudyReport) -> Markup:
    last = [("words", "Words used here"), ("repeat", "How to repeat it")]
    return element(
        "nav",
        element("h2", "Contents"),
        element("ol", (entry(each.name, each.title) for each in report.chapters)),
        element("ul", (entry(*each) for each in last)),
        aria_label="Contents",
    )


def _terms(design: Design) -> Markup:
    algorithms = {
        look_of(name).label: words.ALGORITHMS[name] for name in in_order(design.algorithms)
    }
    listed = (
        join(element("dt", term), element("dd", " ".join(text.split())))
        for term, text in (words.TERMS | algorithms).items()
    )
    return element(
        "section",
        element("h2", "Words used here"),
        element("dl", listed, class_="terms"),
        id="words",
    )


def _repeat(data: StudyData) -> Markup:
    design = data.design
    given = {
        "algorithms": ", ".join(design.algorithms),
        "ratings each": f"{design.ratings_per_arm:,}",
        "listening": f"at least {design.listen_seconds:g} s before a rating, unless known",
        "rests": f"{design.rest_seconds:g} s after every {design.rest_after} ratings",
        "parts": f"at most {design.arms_per_day} within 24 hours, {design.gap_hours:g} hours apart",
        "answers": f"{design.answer_seconds:g} s after a song was asked for, whoever chose it",
        "songs": f"{len(data.catalogue):,} (at least {design.least_songs:,} were asked for)",
        "seed": design.seed,
        "Bandstand": __version__,
    }
    return element(
        "section",
        element("h2", "How to repeat it"),
        paragraphs(_repeat_said(data)),
        element("pre", commands(data)),
        element(
            "p",
            "All ratings are in ",
            (
                join(" · " if place else None, element("a", file, href=f"export/{file}"))
                for place, file in enumerate(words.EXPORTED)
            ),
            ". ",
            words.EXPORT_SIMULATED if data.simulated else words.EXPORT,
        ),
        element("dl", (fact(*each) for each in given.items()), class_="facts"),
        id="repeat",
    )


def _repeat_said(data: StudyData) -> str:
    if not data.simulated:
        return words.REPEAT
    return words.REPEAT_SIMULATED + (words.REPEAT_FILE if needs_file(data) else "")
