"""The page of a study: the answer first, then the evidence for it, then how to repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from bandstand import __version__
from bandstand.study.study_files import FILES
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.page import chapter_html, document, environment, problems_of
from bandstand_lab.user_study.analysis import LEVEL, MIN_PEOPLE_CLEAR
from bandstand_lab.user_study.chapters import TEXTS, begun, means, shared_step
from bandstand_lab.user_study.participation import late_choices

if TYPE_CHECKING:
    from bandstand.study.design import Design
    from bandstand.study.records import StudyData
    from bandstand_lab.report.page import Written
    from bandstand_lab.user_study.analysis import Analysis, Comparison

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
        return problems_of(self.chapters)


def answer(data: StudyData, analysis: Analysis) -> str:
    """Return averages, clear differences and late choices, in one paragraph."""
    curves = begun(analysis)
    step = shared_step(curves)
    people = _people(data)
    signs = [(each, each.clear_sign(), each.sign_at_some_step()) for each in analysis.comparisons]
    return TEXTS(
        "answer",
        ratings=len(data.records),
        planned=people * len(data.design.algorithms) * data.design.ratings_per_arm,
        people=people,
        step=step,
        averages=means(curves, step),
        level=LEVEL,
        min_people=MIN_PEOPLE_CLEAR,
        most=max((int(each.counts[-1]) for each in analysis.comparisons), default=0),
        clear=[_above(each, sign) for each, sign, _ in signs if sign],
        pairs=len(analysis.comparisons),
        passing=[_above(each, sign) for each, clear, sign in signs if sign and not clear],
        late=len(late_choices(data)),
        limit=data.design.answer_seconds,
    )


def _people(data: StudyData) -> int:
    """Return the number of people who have rated a song."""
    return len({record.participant for record in data.records})


def _above(each: Comparison, sign: int) -> str:
    higher, lower = (each.first, each.second)[::sign]
    return f"{spoken(higher)} above {spoken(lower)}"


def page(report: StudyReport) -> bytes:
    """Return the report as HTML; the same ratings give the same bytes."""
    data, design = report.data, report.data.design
    text = TEXTS.part(f"page.{'simulated' if data.simulated else 'people'}")
    terms = {term: TEXTS(f"terms.{name}") for name, term in _TERMS.items()}
    names = in_order(design.algorithms)
    content = _template().render(
        report=report,
        data=data,
        text=text,
        banner=TEXTS("page.banner"),
        sizes={
            text("participants"): _people(data),
            "algorithms": len(design.algorithms),
            "ratings": len(data.records),
            "songs to choose from": len(data.catalogue),
        },
        chapters=[chapter_html(number, each) for number, each in enumerate(report.chapters, 1)],
        terms=terms | {look_of(name).label: TEXTS(f"algorithms.{name}") for name in names},
        files=FILES,
        facts=_facts(design) | {"songs": f"{len(data.catalogue):,}", "Bandstand": __version__},
    )
    return document(design.title, Markup(content))  # noqa: S704  (templates escape)


def _facts(design: Design) -> dict[str, Any]:
    return {
        "algorithms": ", ".join(design.algorithms),
        "ratings each": f"{design.ratings_per_arm:,}",
        "listening": f"at least {design.listen_seconds:g} s before a rating, unless known",
        "rests": f"{design.rest_seconds:g} s after every {design.rest_after} ratings",
        "parts": f"at most {design.arms_per_day} within 24 hours, {design.gap_hours:g} hours apart",
        "answers": f"{design.answer_seconds:g} s after a song was asked for, for every algorithm",
        "seed": design.seed,
    }


@cache
def _template() -> Any:
    file = Path(__file__).with_name("templates") / "page.html"
    return environment().from_string(file.read_text(encoding="utf-8"))
