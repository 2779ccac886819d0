"""How often songs came back: the paper's Figure 12."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bandstand_lab.paper.repeated_plays import Measures, Played, curvature
from bandstand_lab.paper.repetition import (
    TEXTS,
    others_finding,
    product_finding,
    rank_frequency,
)
from bandstand_lab.paper.repetition_runs import EXACT, OTHERS, PRODUCT
from bandstand_lab.report.figures import in_order, look_of
from bandstand_lab.report.study import Chapter, Table
from bandstand_lab.statistics.concentration import effective_songs
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.user_study.judging import judged
from bandstand_lab.user_study.measures import repetition

if TYPE_CHECKING:
    from bandstand.study.records import StudyData
    from bandstand_lab.report.study import Cell, Finding
    from bandstand_lab.statistics.summaries import MeanEstimate
    from bandstand_lab.user_study.measures import Repetition

TITLE: Final = "How often songs came back"
_INTRODUCTION: Final = (
    "People play a few songs very often and many songs once: by Zipf's law, the song of rank k "
    "about 1/k times as often as the first. A program that chooses for them should repeat songs in "
    "a similar way. Here is how often each algorithm played the same song again within a part."
)
_METHOD: Final = (
    "For each person and part the songs are ordered by how often they were played. On two "
    "logarithmic axes Zipf's law is a straight line. The share of repeats is 1 − different songs / "
    "plays. Sorting alone makes any plays fall with the rank, so by likelihood Zipf's law is "
    "compared with an exponential fall and with equal plays. A part is a few hours of listening: "
    "what comes back after days is not seen."
)


def repetition_chapter(data: StudyData) -> Chapter:
    """Return how songs came back; where nothing was played, that it cannot be told."""
    results = {
        name: Played(algorithm=name, runs=tuple(_measures(each) for each in found))
        for name in in_order(data.design.algorithms)
        if (found := repetition(data, name))
    }
    if not results:
        introduction = f"{_INTRODUCTION}\n\nNobody has rated a song yet, so nothing can be told."
        return Chapter(introduction=introduction, method=_METHOD)
    return Chapter(
        introduction=_INTRODUCTION,
        method=_METHOD,
        findings=tuple(judged(data, each) for each in _findings(results)),
        tables=(_table(results),),
        drawings=(rank_frequency(results, ()),),
        data={name: [run.as_json() for run in each.runs] for name, each in results.items()},
    )


def _measures(found: Repetition) -> Measures:
    line = found.line
    return Measures(
        plays_by_rank=found.plays_by_rank,
        repeat_share=found.repeat_share,
        effective_songs=effective_songs(found.plays_by_rank),
        slope=None if line is None else -line.exponent,
        r_squared=None if line is None else line.r_squared,
        curvature=None if line is None else curvature(found.plays_by_rank),
        laws=found.laws,
    )


def _findings(results: dict[str, Played]) -> list[Finding]:
    found = []
    if results.keys() & {*PRODUCT, EXACT}:
        found.append(replace(product_finding(results, "Its user study"), why=TEXTS("rule")))
    if results.keys() & set(OTHERS):
        found.append(others_finding(results, "Its user study"))
    return found


def _table(results: dict[str, Played]) -> Table:
    return Table(
        title="Repeats",
        columns=(
            "algorithm",
            "people",
            "plays",
            "different songs",
            "share of repeats",
            "slope",
            "R²",
            "people nearer to Zipf",
        ),
        rows=tuple(_row(played) for played in results.values()),
        note=(
            "Means over people ± standard error. Slope and R² are of the line through log plays "
            "over log rank; none where all songs of somebody were played equally often."
        ),
    )


def _row(played: Played) -> tuple[Cell, ...]:
    people = len(played.runs)
    return (
        look_of(played.algorithm).label,
        people,
        sum(int(run.plays_by_rank.sum()) for run in played.runs),
        _said(played.mean("songs"), ".0f"),
        _said(played.mean("repeat_share"), ".3f"),
        _said(played.mean("slope"), ".2f"),
        _said(played.mean("r_squared"), ".2f"),
        f"{played.shapes[Shape.ZIPF]} of {people}",
    )


def _said(estimate: MeanEstimate | None, digits: str) -> str | None:
    if estimate is None:
        return None
    error = estimate.standard_error
    spread = "" if error is None else f" ± {error:{digits}}"
    return f"{estimate.mean:{digits}}{spread}".replace("-", "−")
