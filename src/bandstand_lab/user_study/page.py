"""The page of a study: the answer first, then the evidence for it, then how to repeat it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand import __version__
from bandstand.study.design import Design
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.page import (
    chapter_html,
    document,
    element,
    entry,
    fact,
    join,
    paragraphs,
    problems_html,
)
from bandstand_lab.user_study.analysis import LEVEL, MIN_PEOPLE_CLEAR
from bandstand_lab.user_study.chapters import TEXTS, average, begun, shared_step
from bandstand_lab.user_study.participation import late_choices

if TYPE_CHECKING:
    from markupsafe import Markup

    from bandstand.study.records import StudyData
    from bandstand_lab.report.page import Written
    from bandstand_lab.user_study.analysis import Analysis, Comparison

_EXPORTED: Final = ("study.json", "participants.csv", "ratings.csv", "songs.csv")
_AGAIN: Final = "bandstand study report --from OUT/export AGAIN"
_COMMANDS: Final = (
    "bandstand study new study.toml",
    "bandstand study run study.toml ~/Music",
    "bandstand study report study.toml OUT",
    _AGAIN,
)
_PLANTED: Final = re.compile(r"Planted effects, in stars: (.*)\.")
_EFFECT: Final = re.compile(r"([a-z0-9-]+) ([-+][0-9.]+(?:e[-+][0-9]+)?)")
_TERMS: Final = {
    "part": "Part",
    "average": "Average rating after n songs",
    "standard_error": "Standard error",
    "paired": "Paired",
    "p_value": "p-value",
    "corrected": "Corrected p-value",
    "novelty": "Novelty",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReport:
    """The contents of the page."""

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


def answer(data: StudyData, analysis: Analysis) -> str:
    """Return averages, clear differences and late choices, in one paragraph."""
    curves = begun(analysis)
    step = shared_step(curves)
    people = len({record.participant for record in data.records})
    signs = [(each, each.clear_sign(), each.sign_at_some_step()) for each in analysis.comparisons]
    return TEXTS(
        "answer",
        ratings=len(data.records),
        planned=people * len(data.design.algorithms) * data.design.ratings_per_arm,
        people=people,
        step=step,
        averages=[f"{spoken(each.algorithm)} {average(each, step)}" for each in curves],
        level=LEVEL,
        min_people=MIN_PEOPLE_CLEAR,
        most=max((int(each.counts[-1]) for each in analysis.comparisons), default=0),
        clear=[_above(each, sign) for each, sign, _ in signs if sign],
        pairs=len(analysis.comparisons),
        passing=[_above(each, sign) for each, clear, sign in signs if sign and not clear],
        late=len(late_choices(data)),
        limit=data.design.answer_seconds,
    )


def _above(each: Comparison, sign: int) -> str:
    higher, lower = (each.first, each.second)[::sign]
    return f"{spoken(higher)} above {spoken(lower)}"


def page(report: StudyReport) -> bytes:
    """Return the report as HTML; the same ratings give the same bytes."""
    return document(
        report.data.design.title,
        _masthead(report.data),
        element(
            "main",
            _summary(report),
            _contents(report),
            (chapter_html(number, each) for number, each in enumerate(report.chapters, 1)),
            _terms(report.data.design),
            _repeat(report.data),
        ),
    )


def _text(data: StudyData, name: str) -> str:
    """Return a text of the page in its form for simulated people or for real ones."""
    return TEXTS(f"page.{'simulated' if data.simulated else 'people'}.{name}")


def _masthead(data: StudyData) -> Markup:
    return element(
        "header",
        element("p", f"Bandstand · {_text(data, 'kind')} · report", class_="kicker"),
        element("h1", data.design.title),
        _banner(data),
        paragraphs(_text(data, "about")),
    )


def _banner(data: StudyData) -> Markup | None:
    """Return the warning that the ratings are simulated."""
    if not data.simulated:
        return None
    return element(
        "div",
        element("strong", "Simulated participants. "),
        TEXTS("page.banner"),
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
    sizes = {
        _text(data, "participants"): len({record.participant for record in data.records}),
        "algorithms": len(data.design.algorithms),
        "ratings": len(data.records),
        "songs to choose from": len(data.catalogue),
    }
    return element(
        "ul",
        (
            element("li", element("b", f"{count:,}"), element("span", what))
            for what, count in sizes.items()
        ),
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
    terms = {term: TEXTS(f"terms.{name}") for name, term in _TERMS.items()}
    terms |= {
        look_of(name).label: TEXTS(f"algorithms.{name}") for name in in_order(design.algorithms)
    }
    return element(
        "section",
        element("h2", "Words used here"),
        element(
            "dl",
            (join(element("dt", term), element("dd", text)) for term, text in terms.items()),
            class_="terms",
        ),
        id="words",
    )


def _repeat(data: StudyData) -> Markup:
    design = data.design
    facts = {
        "algorithms": ", ".join(design.algorithms),
        "ratings each": f"{design.ratings_per_arm:,}",
        "listening": f"at least {design.listen_seconds:g} s before a rating, unless known",
        "rests": f"{design.rest_seconds:g} s after every {design.rest_after} ratings",
        "parts": f"at most {design.arms_per_day} within 24 hours, {design.gap_hours:g} hours apart",
        "answers": f"{design.answer_seconds:g} s after a song was asked for, for every algorithm",
        "songs": f"{len(data.catalogue):,} (at least {design.least_songs:,} were asked for)",
        "seed": design.seed,
        "Bandstand": __version__,
    }
    files = (
        join(" · " if place else None, element("a", file, href=f"export/{file}"))
        for place, file in enumerate(_EXPORTED)
    )
    return element(
        "section",
        element("h2", "How to repeat it"),
        paragraphs(_text(data, "repeat")),
        element("pre", commands(data)),
        element("p", "All ratings are in ", files, ". ", _text(data, "export")),
        element("dl", (fact(*each) for each in facts.items()), class_="facts"),
        id="repeat",
    )


def commands(data: StudyData) -> str:
    """Return the commands that give this report again; simulated people are simulated again."""
    if not data.simulated:
        return "\n".join(_COMMANDS)
    file = "" if data.design == Design() else "study.toml "
    effects = "".join(f" --effect {name}={size}" for name, size in _planted_effects(data).items())
    simulate = f"bandstand study report {file}OUT --simulate {len(data.participants)}{effects}"
    return f"{simulate}\n{_AGAIN}"


def _planted_effects(data: StudyData) -> dict[str, str]:
    """Return the effects of the remarks, in stars, by algorithm; {} if they name none."""
    texts = (found[1] for remark in data.remarks if (found := _PLANTED.fullmatch(remark)))
    effects = (_EFFECT.fullmatch(part) for text in texts for part in text.split(", "))
    return {
        each[1]: each[2].lstrip("+")
        for each in effects
        if each and each[1] in data.design.algorithms
    }
