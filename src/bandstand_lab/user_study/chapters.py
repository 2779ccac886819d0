"""The chapters of a study's report about ratings and choices; the words are in the template."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from bandstand.study.records import StudyData
from bandstand.types import Matrix, Vector
from bandstand_lab.paper.novelty_learned import LONGEST_SHOWN
from bandstand_lab.paper.repetition import Played, others_finding, product_finding, rank_frequency
from bandstand_lab.paper.uncertainty import falling_finding, faster_finding, later_finding
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.study import Cell, Chapter, Finding, Table, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.user_study import figures
from bandstand_lab.user_study.analysis import LEVEL, MIN_PEOPLE_CLEAR, Analysis, Comparison, Curve
from bandstand_lab.user_study.measures import (
    NoveltyCurve,
    Uncertainty,
    novelty_curves,
    plays,
    uncertainty,
)

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "report.toml")
_GREEDY: Final = "greedy-cn"
_SAMPLED: Final = ("bayes-ucb-cn", "bayes-ucb-cn-x")  # the same model, sampled or solved
_VARIATIONAL: Final = "bayes-ucb-cn-v"
_WITH_NOVELTY: Final = ("linucb-cn", _GREEDY, *_SAMPLED, _VARIATIONAL)
_AVERAGES_AT: Final = (10, 20, 50, 100, 150, 200, 300, 500, 1_000)
# From the third rating on the standard deviation exists and means something.
_UNCERTAINTY_AT: Final = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
# The algorithm whose parts show novelty: the paper's, else the first of these in the study.
_NOVELTY_OF: Final = (_VARIATIONAL, "bayes-ucb-cn-x", "bayes-ucb-cn", _GREEDY)
_NOVELTY_AT: Final = (1.0, 10.0, 60.0, 600.0)  # minutes
_MAX_CURVES: Final = 20
_APART: Final = 2.0  # standard deviations between the learned curve and the untired one


def signed(value: float) -> str:
    """Return a difference in stars.

    >>> signed(0.42), signed(-0.2)
    ('+0.42', '−0.20')
    """
    return f"{value:+.2f}".replace("-", "−")


def _finite(values: Vector) -> list[float | None]:
    """Return numbers for JSON; one that is not finite is None."""
    return [float(value) if np.isfinite(value) else None for value in values]


# ── Ratings ──────────────────────────────────────────────────────────────────────────────


def begun(analysis: Analysis) -> list[Curve]:
    """Return the curves of the algorithms that have a rating, in the order of all figures."""
    found = {curve.algorithm: curve for curve in analysis.curves if len(curve.mean)}
    return [found[name] for name in in_order(found)]


def shared_step(curves: Sequence[Curve]) -> int:
    """Return the largest n that a person has reached with each of these algorithms."""
    return int(min((curve.steps[-1] for curve in curves), default=0))


def means(curves: Sequence[Curve], step: int) -> list[str]:
    """Return the mean of each algorithm after `step` ratings."""
    return [f"{spoken(each.algorithm)} {each.shown(step)}" for each in curves]


def ratings_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the average ratings after n songs: the paper's measure."""
    texts, curves = TEXTS.part("ratings"), begun(analysis)
    longest = max((len(curve.mean) for curve in curves), default=0)
    candidates = {*_AVERAGES_AT, data.design.ratings_per_arm, longest}
    steps = sorted(step for step in candidates if step <= longest)
    step = shared_step(curves)
    people = [f"{spoken(each.algorithm)} {each.counts.max(initial=0)}" for each in analysis.curves]
    table = texts.table("averages", _curve_rows(curves, steps), steps=steps)
    drawing = texts.drawing(
        "average-rating",
        partial(figures.draw_ratings, curves=curves),
        inches=(8.8, 5.6),
        step=step,
        means=means(curves, step),
    )
    return texts.chapter(
        method={"people": people},
        tables=(table,) if curves else (),
        drawings=(drawing,) if curves else (),
        data={curve.algorithm: _curve_json(curve) for curve in curves},
    )


def _curve_rows(curves: Sequence[Curve], steps: Sequence[int]) -> list[tuple[Cell, ...]]:
    return [(look_of(curve.algorithm).label, *map(curve.shown, steps)) for curve in curves]


def _curve_json(curve: Curve) -> dict[str, Any]:
    return {
        "n": curve.steps.tolist(),
        "people": curve.counts.tolist(),
        "mean": _finite(curve.mean),
        "standard_error": _finite(curve.standard_error),
    }


# ── Comparisons ──────────────────────────────────────────────────────────────────────────


def comparisons_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the tests of all pairs, and the pairs that cannot be tested yet."""
    texts, tested = TEXTS.part("comparisons"), analysis.comparisons
    values = {
        "tested": len(tested),
        "few": sum(each.counts[-1] < MIN_PEOPLE_CLEAR for each in tested),
        "first_step": analysis.first_step,
        "level": LEVEL,
        "min_people": MIN_PEOPLE_CLEAR,
        "flips": max((each.flips for each in tested), default=0),
        "clear": sum(each.clear_sign() != 0 for each in tested),
        "lasting": sum(each.significant_from() is not None for each in tested),
    }
    pairs = sorted(tested, key=lambda each: -abs(float(each.mean[-1])))
    rows, columns = figures.sides(tested)
    drawings = (
        texts.drawing(
            "differences",
            partial(figures.draw_differences, pairs=pairs),
            inches=(8.8, 1.3 + 0.3 * len(pairs)),
            **values,
        ),
        texts.drawing(
            "p-values",
            partial(figures.draw_p_values, analysis=analysis),
            inches=(max(5.0, 1.2 + 2.15 * len(columns)), 1.0 + 1.5 * len(rows)),
            **values,
        ),
    )
    return texts.chapter(
        method=values,
        findings=rating_findings(data, analysis),
        tables=_comparison_tables(texts, analysis),
        drawings=drawings if tested else (),
        data={
            "level": LEVEL,
            "pairs": [_pair_json(each) for each in tested],
            "untested": [asdict(each) for each in analysis.untested],
        }
        if tested
        else {},
    )


def _comparison_tables(texts: Texts, analysis: Analysis) -> tuple[Table, ...]:
    tables = (
        texts.table("corrected", map(_pair_row, analysis.comparisons), level=LEVEL),
        texts.table("uncorrected", map(_uncorrected_row, analysis.comparisons), level=LEVEL),
        texts.table(
            "untested",
            (
                (*_labels(each.first, each.second), each.people, each.reason)
                for each in analysis.untested
            ),
        ),
    )
    return tuple(table for table in tables if table.rows)


def _labels(first: str, second: str) -> tuple[str, str]:
    return look_of(first).label, look_of(second).label


def _pair_row(each: Comparison) -> tuple[Cell, ...]:
    low, high = each.interval()
    return (
        *_labels(each.first, each.second),
        int(each.counts[-1]),
        each.last,
        signed(float(each.mean[-1])),
        each.p_last_holm,
        f"{signed(low)} to {signed(high)}",
        each.p_any_holm,
        each.significant_from(),
    )


def _uncorrected_row(each: Comparison) -> tuple[Cell, ...]:
    return (*_labels(each.first, each.second), float(each.p_values[-1]), each.nominal_from())


def _pair_json(each: Comparison) -> dict[str, Any]:
    return {
        "first": each.first,
        "second": each.second,
        "n": each.steps.tolist(),
        "people": each.counts.tolist(),
        "mean_difference": _finite(each.mean),
        "standard_error": _finite(each.standard_error),
        "t": _finite(each.t),  # null where all people differ by the same
        "p": _finite(each.p_values),
        "p_corrected_over_n": _finite(each.p_over_steps),
        "p_corrected": _finite(each.p_corrected),
        "p_last_n_holm": each.p_last_holm,
        "p_any_n_holm": each.p_any_holm,
        "flips": each.flips,
        "all_flips": each.is_exact,
    }


def rating_findings(data: StudyData, analysis: Analysis) -> tuple[Finding, ...]:
    """Return verdicts on the paper's claims about ratings, for the pairs that were tested."""
    texts = TEXTS.part("comparisons")
    ours = next((name for name in _SAMPLED if name in data.design.algorithms), _SAMPLED[-1])
    claims = {
        "sampled": [(ours, _GREEDY)],
        "variational": [(_VARIATIONAL, _GREEDY)],
        "novelty": [(name, "linucb-c") for name in in_order(_WITH_NOVELTY)],
        "product": [(ours, "linucb-cn")],
    }
    tested = {
        claim: [each for pair in pairs if (each := _directed(analysis, *pair)) is not None]
        for claim, pairs in claims.items()
    }
    return tuple(
        Finding(
            paper=texts(f"claims.{claim}", ours=spoken(ours)),
            place=texts("place"),
            measured=texts("measured", pairs=[_pair_values(each) for each in found], level=LEVEL),
            verdict=_rating_verdict(found),
            why=texts("rule", level=LEVEL, min_people=MIN_PEOPLE_CLEAR),
        )
        for claim, found in tested.items()
        if found
    )


def _directed(analysis: Analysis, first: str, second: str) -> Comparison | None:
    """Return the comparison of two algorithms in this direction, in whichever it was tested."""
    found, other = analysis.between(first, second), analysis.between(second, first)
    if found is not None or other is None:
        return found
    return replace(other, first=first, second=second, mean=-other.mean, t=-other.t)


def _rating_verdict(tested: Sequence[Comparison]) -> Verdict:
    signs = [each.clear_sign() for each in tested]
    if -1 in signs:
        return Verdict.FAILS
    if all(sign == 1 for sign in signs):
        return Verdict.HOLDS
    at_some_step = [each.sign_at_some_step() for each in tested]
    return Verdict.PARTLY if 1 in signs or 1 in at_some_step else Verdict.OPEN


def _pair_values(each: Comparison) -> dict[str, Any]:
    return {
        "first": spoken(each.first),
        "second": spoken(each.second),
        "mean": signed(float(each.mean[-1])),
        "n": each.last,
        "people": int(each.counts[-1]),
        "p": f"{each.p_values[-1]:.2g}",
        "p_corrected": f"{each.p_last_holm:.2g}",
        "since": each.significant_from() or "none",
    }


# ── Uncertainty ──────────────────────────────────────────────────────────────────────────


def uncertainty_chapter(data: StudyData) -> Chapter:
    """Return how unsure the exact model still is after n ratings: the paper's Figure 11."""
    texts, whole = TEXTS.part("uncertainty"), data.design.ratings_per_arm
    moments = sorted({*(n for n in _UNCERTAINTY_AT if n < whole), whole})
    measured = {
        name: found
        for name in in_order(data.design.algorithms)
        if (found := uncertainty(data, name, moments=moments)) and len(found.curve.steps)
    }
    curves = [found.curve for found in measured.values()]
    steps = [int(n) for n in max((curve.steps for curve in curves), key=len, default=[])]
    table = texts.table("uncertainty", _curve_rows(curves, steps), steps=steps)
    step = shared_step(curves)
    drawing = texts.drawing(
        "uncertainty",
        partial(figures.draw_uncertainty, curves=curves),
        inches=(8.8, 4.5),
        n=step,
        means=means(curves, step),
    )
    return texts.chapter(
        method={"first": moments[0]},
        findings=_uncertainty_findings(measured),
        tables=(table,) if curves else (),
        drawings=(drawing,) if curves else (),
        data={
            name: {**_curve_json(found.curve), "values": [_finite(row) for row in found.values]}
            for name, found in measured.items()
        },
    )


def _uncertainty_findings(measured: Mapping[str, Uncertainty]) -> tuple[Finding, ...]:
    """Return verdicts on the paper's claims, over the people who have all parts of a claim."""
    found: list[Finding] = []
    curves, moments = _shared(measured, list(measured)) if measured else ({}, [])
    if len(moments) > 1:
        found.append(falling_finding(curves, moments))
    for name in (*_SAMPLED, _VARIATIONAL):
        if name in measured and _GREEDY in measured:
            curves, moments = _shared(measured, [name, _GREEDY])
            if moments:
                found += [
                    make(curves, moments, ours=name, theirs=_GREEDY)
                    for make in (faster_finding, later_finding)
                ]
    return tuple(found)


def _shared(
    measured: Mapping[str, Uncertainty], names: Sequence[str]
) -> tuple[dict[str, Matrix], list[int]]:
    """Return curves of people who completed all parts, cut where fewer than half remain."""
    people = sorted(set.intersection(*(set(measured[name].people) for name in names)))
    shortest = min((measured[name].curve.steps for name in names), key=len)
    rows = {
        name: measured[name].values[
            [measured[name].people.index(person) for person in people], : len(shortest)
        ]
        for name in names
    }
    present = np.all([np.isfinite(values) for values in rows.values()], axis=0)
    last = int((present.sum(axis=0) >= max(2, len(people) / 2)).sum())
    complete = present[:, :last].all(axis=1)
    if not last or complete.sum() < 2:
        return {}, []
    return {name: values[complete, :last] for name, values in rows.items()}, [
        int(n) for n in shortest[:last]
    ]


# ── Repetition ───────────────────────────────────────────────────────────────────────────


def repetition_chapter(data: StudyData) -> Chapter:
    """Return how often songs came back within a part: the paper's Figure 12."""
    texts = TEXTS.part("repetition")
    played = {
        name: found
        for name in in_order(data.design.algorithms)
        if (found := plays(data, name)).runs
    }
    where = "Its user study"
    findings = (product_finding(played, where), others_finding(played, where))
    return texts.chapter(
        findings=tuple(replace(each, why=texts("rule")) for each in findings) if played else (),
        tables=(texts.table("repeats", map(_repeats_row, played.values())),) if played else (),
        drawings=(rank_frequency(played, []),) if played else (),
        data={name: [part.as_json() for part in found.runs] for name, found in played.items()},
    )


def _repeats_row(found: Played) -> tuple[Cell, ...]:
    return (
        look_of(found.algorithm).label,
        len(found.runs),
        sum(int(part.plays_by_rank.sum()) for part in found.runs),
        _mean_cell(found, "songs", 0),
        _mean_cell(found, "repeat_share", 3),
        _mean_cell(found, "slope", 2),
        _mean_cell(found, "r_squared", 2),
        f"{found.shapes[Shape.ZIPF]} of {len(found.runs)}",
    )


def _mean_cell(found: Played, measure: str, digits: int) -> str | None:
    """Return a mean over people ± its standard error; None if one of them has no value."""
    estimate = found.mean(measure)
    return None if estimate is None else estimate.shown(digits).replace("-", "−")


# ── Novelty ──────────────────────────────────────────────────────────────────────────────


def novelty_chapter(data: StudyData) -> Chapter:
    """Return the novelty curves learned from one algorithm's parts: the paper's Figure 13."""
    texts, names = TEXTS.part("novelty"), data.design.algorithms
    algorithm = next((name for name in _NOVELTY_OF if name in names), names[-1])
    curves = novelty_curves(data, algorithm)
    shown = curves[:_MAX_CURVES]
    values = {
        "algorithm": spoken(algorithm),
        "apart": _APART,
        "longest": f"{LONGEST_SHOWN:,.0f}",
        "curves": len(curves),
        "shown": len(shown),
        "repeats": sum(len(each.repeats) for each in curves),
        "parted": sum(map(_is_apart, curves)),
        "times": _NOVELTY_AT,
    }
    drawing = texts.drawing(
        "novelty",
        partial(figures.draw_novelty, curves=shown, algorithm=algorithm),
        inches=(
            max(4.5, 1.0 + 2.2 * min(5, len(shown))),
            1.0 + 1.7 * figures.rows_of(len(shown)),
        ),
        **values,
    )
    return texts.chapter(
        method=values,
        tables=(texts.table("novelty", map(_novelty_row, curves), **values),) if curves else (),
        drawings=(drawing,) if curves else (),
        data={f"P{each.participant}": _novelty_json(each) for each in curves},
    )


def _novelty_row(curve: NoveltyCurve) -> tuple[Cell, ...]:
    cells = (_novelty_cell(curve, minutes) for minutes in _NOVELTY_AT)
    return f"P{curve.participant}", len(curve.repeats), *cells, curve.longest or None


def _novelty_cell(curve: NoveltyCurve, minutes: float) -> str | None:
    if minutes > curve.longest:
        return None
    mean, deviation, untired, parting = (
        curve.at(minutes, values)
        for values in (curve.mean, curve.standard_deviation, curve.untired_mean, curve.parting())
    )
    spread = f" ± {deviation:.2f}" if abs(parting) >= _APART else ""
    apart = f"{parting:+.1f}".replace("-0.0", "+0.0")
    return f"{mean:.2f}{spread} / {untired:.2f} ({apart} sd)".replace("-", "−")


def _is_apart(curve: NoveltyCurve) -> bool:
    """Return whether the two curves differ clearly at one of the times of the table."""
    seen = [minutes for minutes in _NOVELTY_AT if minutes <= curve.longest]
    return any(abs(curve.at(minutes, curve.parting())) >= _APART for minutes in seen)


def _novelty_json(curve: NoveltyCurve) -> dict[str, list[float]]:
    return {
        "minutes": curve.minutes.tolist(),
        "mean": curve.mean.tolist(),
        "standard_deviation": curve.standard_deviation.tolist(),
        "untired_mean": curve.untired_mean.tolist(),
        "untired_standard_deviation": curve.untired_standard_deviation.tolist(),
        "parting": curve.parting().tolist(),
        "repeats": curve.repeats.tolist(),
    }
