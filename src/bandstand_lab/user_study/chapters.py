"""The chapters of a study's report about ratings and choices; the words are in the template."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.paper.uncertainty import falling_finding, faster_finding, later_finding
from bandstand_lab.report.figures import in_order, look_of, spoken
from bandstand_lab.report.study import Chapter, Drawing, Finding, Table, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.statistics.rank_laws import Shape
from bandstand_lab.user_study import figures
from bandstand_lab.user_study.analysis import LEVEL, MIN_PEOPLE_CLEAR
from bandstand_lab.user_study.measures import (
    LONGEST_SHOWN,
    novelty_curves,
    plays,
    uncertainty,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.study.records import StudyData
    from bandstand.types import Matrix, Vector
    from bandstand_lab.paper.repetition import Played
    from bandstand_lab.report.study import Cell
    from bandstand_lab.user_study.analysis import Analysis, Comparison, Curve
    from bandstand_lab.user_study.measures import NoveltyCurve, Uncertainty

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "report.toml")
_GREEDY: Final = "greedy-cn"
_SAMPLED: Final = ("bayes-ucb-cn", "bayes-ucb-cn-x")  # the same model, sampled or solved
_VARIATIONAL: Final = "bayes-ucb-cn-v"
_WITH_NOVELTY: Final = ("linucb-cn", _GREEDY, *_SAMPLED, _VARIATIONAL)
_OTHERS: Final = ("random", "linucb-c", "linucb-cn")
_AVERAGES_AT: Final = (10, 20, 50, 100, 150, 200, 300, 500, 1_000)
# From the third rating on the standard deviation exists and means something.
_UNCERTAINTY_AT: Final = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
# The algorithm whose parts show novelty: the paper's, else the first of these in the study.
_NOVELTY_OF: Final = (_VARIATIONAL, "bayes-ucb-cn-x", "bayes-ucb-cn", _GREEDY)
_NOVELTY_AT: Final = (1.0, 10.0, 60.0, 600.0)  # minutes
_MAX_CURVES: Final = 20
_APART: Final = 2.0  # standard deviations between the learned curve and the untired one


def judged(data: StudyData, finding: Finding) -> Finding:
    """Return a finding whose verdict is open if the people were simulated."""
    if not data.simulated:
        return finding
    return replace(finding, verdict=Verdict.OPEN, why=TEXTS("page.simulated_finding"))


def signed(value: float) -> str:
    """Return a difference in stars.

    >>> signed(0.42), signed(-0.2)
    ('+0.42', '−0.20')
    """
    return f"{value:+.2f}".replace("-", "−")


def begun(analysis: Analysis) -> list[Curve]:
    """Return the curves of the algorithms that have a rating, in the order of all figures."""
    found = {curve.algorithm: curve for curve in analysis.curves if len(curve.mean)}
    return [found[name] for name in in_order(found)]


def shared_step(curves: Sequence[Curve]) -> int:
    """Return the largest n that a person has reached with each of these algorithms."""
    return min((len(curve.mean) for curve in curves), default=0)


def average(curve: Curve, step: int) -> str:
    """Return the average rating after `step` songs, with its standard error if it has one."""
    mean, error = float(curve.mean[step - 1]), float(curve.standard_error[step - 1])
    return f"{mean:.2f}" + (f" ± {error:.2f}" if np.isfinite(error) else "")


def ratings_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the average ratings after n songs: the paper's measure."""
    curves = begun(analysis)
    people = [
        f"{spoken(curve.algorithm)} {int(curve.counts.max(initial=0))}" for curve in analysis.curves
    ]
    return Chapter(
        introduction=TEXTS("ratings.introduction", people=people),
        method=TEXTS("ratings.method"),
        tables=(_ratings_table(data, curves),) if curves else (),
        drawings=(_ratings_drawing(curves),) if curves else (),
        data={
            curve.algorithm: {
                "n": curve.steps.tolist(),
                "people": curve.counts.tolist(),
                "mean": curve.mean.tolist(),
                "standard_error": _finite(curve.standard_error),
            }
            for curve in curves
        },
    )


def _ratings_table(data: StudyData, curves: Sequence[Curve]) -> Table:
    longest = max(len(curve.mean) for curve in curves)
    candidates = {*_AVERAGES_AT, data.design.ratings_per_arm, longest}
    steps = sorted(step for step in candidates if step <= longest)
    return Table(
        title="Average rating after n songs",
        columns=("algorithm", *(f"n = {step}" for step in steps)),
        rows=tuple(
            (look_of(curve.algorithm).label, *(_average_cell(curve, step) for step in steps))
            for curve in curves
        ),
        note=TEXTS("ratings.table"),
    )


def _average_cell(curve: Curve, step: int) -> Cell:
    if step > len(curve.mean):
        return None
    return f"{average(curve, step)} ({curve.counts[step - 1]})"


def _ratings_drawing(curves: Sequence[Curve]) -> Drawing:
    step = shared_step(curves)
    ranked = sorted(curves, key=lambda curve: -float(curve.mean[step - 1]))
    means = [f"{spoken(each.algorithm)} {each.mean[step - 1]:.2f}" for each in ranked]
    return Drawing(
        name="average-rating",
        caption=TEXTS("ratings.figure", step=step, means=means),
        draw=partial(figures.draw_ratings, curves=curves),
        width=8.8,
        height=5.6,
    )


def comparisons_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the tests of all pairs, and the pairs that cannot be tested yet."""
    values = {
        "tested": len(analysis.comparisons),
        "few": sum(each.counts[-1] < MIN_PEOPLE_CLEAR for each in analysis.comparisons),
        "first_step": analysis.first_step,
        "level": LEVEL,
        "min_people": MIN_PEOPLE_CLEAR,
        "flips": max((each.flips for each in analysis.comparisons), default=0),
    }
    return Chapter(
        introduction=TEXTS("comparisons.introduction", **values),
        method="\n\n".join(
            TEXTS(f"comparisons.method.{part}", **values) for part in ("pairs", "last", "every")
        ),
        findings=rating_findings(data, analysis),
        tables=_comparison_tables(analysis),
        drawings=_comparison_drawings(analysis) if analysis.comparisons else (),
        data={
            "level": LEVEL,
            "pairs": [_comparison_json(each) for each in analysis.comparisons],
            "untested": [
                {"first": each.first, "second": each.second, "why": each.reason}
                for each in analysis.untested
            ],
        }
        if analysis.comparisons
        else {},
    )


def _comparison_tables(analysis: Analysis) -> tuple[Table, ...]:
    labels = ("algorithm", "against")
    corrected = Table(
        title="All pairs, in the end",
        columns=(
            *labels,
            *("people", "n", "difference", "p corrected", "95 % interval", "any n", "from n"),
        ),
        rows=tuple(_pair_row(each) for each in analysis.comparisons),
        note=TEXTS("comparisons.table", level=LEVEL),
    )
    uncorrected = Table(
        title="All pairs, without correction",
        columns=(*labels, "p", "from n"),
        rows=tuple(
            (*_labels(each.first, each.second), float(each.p_values[-1]), each.nominal_from())
            for each in analysis.comparisons
        ),
        note=TEXTS("comparisons.uncorrected", level=LEVEL),
    )
    untested = Table(
        title="Pairs that cannot be tested yet",
        columns=(*labels, "people", "why"),
        rows=tuple(
            (*_labels(each.first, each.second), each.people, each.reason)
            for each in analysis.untested
        ),
    )
    return tuple(table for table in (corrected, uncorrected, untested) if table.rows)


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


def _comparison_drawings(analysis: Analysis) -> tuple[Drawing, ...]:
    pairs = sorted(analysis.comparisons, key=lambda each: -abs(float(each.mean[-1])))
    lasting = sum(each.significant_from() is not None for each in pairs)
    values = {
        "pairs": len(pairs),
        "clear": sum(each.clear_sign() != 0 for each in pairs),
        "lasting": lasting,
        "level": LEVEL,
        "min_people": MIN_PEOPLE_CLEAR,
    }
    rows, columns = figures.sides(analysis.comparisons)
    return (
        Drawing(
            name="differences",
            caption=TEXTS("comparisons.differences", **values),
            draw=partial(figures.draw_differences, pairs=pairs),
            width=8.8,
            height=1.3 + 0.3 * len(pairs),
        ),
        Drawing(
            name="p-values",
            caption=TEXTS("comparisons.p_values", **values),
            draw=partial(figures.draw_p_values, analysis=analysis),
            width=max(5.0, 1.2 + 2.15 * len(columns)),
            height=1.0 + 1.5 * len(rows),
        ),
    )


def _comparison_json(each: Comparison) -> dict[str, Any]:
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
    ours = next((name for name in _SAMPLED if name in data.design.algorithms), _SAMPLED[-1])
    claims = {
        "sampled": [(ours, _GREEDY)],
        "variational": [(_VARIATIONAL, _GREEDY)],
        "novelty": [(name, "linucb-c") for name in in_order(_WITH_NOVELTY)],
        "product": [(ours, "linucb-cn")],
    }
    found = []
    for name, pairs in claims.items():
        tested = [each for pair in pairs if (each := _directed(analysis, *pair)) is not None]
        if tested:
            values = [_pair_values(each) for each in tested]
            finding = Finding(
                paper=TEXTS(f"comparisons.claims.{name}", ours=spoken(ours)),
                place=TEXTS("comparisons.place"),
                measured=TEXTS("comparisons.measured", pairs=values, level=LEVEL),
                verdict=_rating_verdict(tested),
                why=TEXTS("comparisons.rule", level=LEVEL, min_people=MIN_PEOPLE_CLEAR),
            )
            found.append(judged(data, finding))
    return tuple(found)


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


def uncertainty_chapter(data: StudyData) -> Chapter:
    """Return how unsure the exact model still is after n ratings: the paper's Figure 11."""
    whole = data.design.ratings_per_arm
    moments = sorted({*(n for n in _UNCERTAINTY_AT if n < whole), whole})
    measured = {
        name: found
        for name in in_order(data.design.algorithms)
        if (found := uncertainty(data, name, moments=moments)) and len(found.moments)
    }
    return Chapter(
        introduction=TEXTS("uncertainty.introduction", first=moments[0]),
        method=TEXTS("uncertainty.method"),
        findings=tuple(judged(data, each) for each in _uncertainty_findings(measured)),
        tables=(_uncertainty_table(measured),) if measured else (),
        drawings=(_uncertainty_drawing(measured),) if measured else (),
        data={
            name: {
                "n": found.moments.tolist(),
                "people": found.counts.tolist(),
                "mean": _finite(found.mean),
                "standard_error": _finite(found.standard_error),
                "values": [_finite(row) for row in found.values],
            }
            for name, found in measured.items()
        },
    )


def _uncertainty_table(measured: Mapping[str, Uncertainty]) -> Table:
    longest = max((found.moments for found in measured.values()), key=len)
    return Table(
        title="Mean standard deviation of what all songs are worth, after n ratings",
        columns=("algorithm", *(f"n = {moment}" for moment in longest)),
        rows=tuple(
            (look_of(name).label, *(_uncertainty_cell(found, at) for at in range(len(longest))))
            for name, found in measured.items()
        ),
        note=TEXTS("uncertainty.table"),
    )


def _uncertainty_cell(found: Uncertainty, place: int) -> str | None:
    if place >= len(found.moments):
        return None
    error = float(found.standard_error[place])
    spread = f" ± {error:.2g}" if np.isfinite(error) else ""
    return f"{found.mean[place]:.3g}{spread} ({found.counts[place]})"


def _uncertainty_drawing(measured: Mapping[str, Uncertainty]) -> Drawing:
    shortest = min((found.moments for found in measured.values()), key=len)
    means = [
        f"{spoken(name)} {found.mean[len(shortest) - 1]:.2f}" for name, found in measured.items()
    ]
    return Drawing(
        name="uncertainty",
        caption=TEXTS("uncertainty.figure", n=int(shortest[-1]), means=means),
        draw=partial(figures.draw_uncertainty, measured=measured),
        width=8.8,
    )


def _uncertainty_findings(measured: Mapping[str, Uncertainty]) -> list[Finding]:
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
    return found


def _shared(
    measured: Mapping[str, Uncertainty], names: Sequence[str]
) -> tuple[dict[str, Matrix], list[int]]:
    """Return curves of people who completed all parts, cut where fewer than half remain."""
    people = sorted(set.intersection(*(set(measured[name].people) for name in names)))
    shortest = min(len(measured[name].moments) for name in names)
    rows = {
        name: measured[name].values[[measured[name].people.index(p) for p in people], :shortest]
        for name in names
    }
    present = np.all([np.isfinite(values) for values in rows.values()], axis=0)
    last = int((present.sum(axis=0) >= max(2, len(people) / 2)).sum())
    complete = present[:, :last].all(axis=1)
    if not last or complete.sum() < 2:
        return {}, []
    curves: dict[str, Matrix] = {name: values[complete, :last] for name, values in rows.items()}
    return curves, [int(n) for n in measured[names[0]].moments[:last]]


def repetition_chapter(data: StudyData) -> Chapter:
    """Return how often songs came back within a part: the paper's Figure 12."""
    played = {
        name: found
        for name in in_order(data.design.algorithms)
        if (found := plays(data, name)).runs
    }
    return Chapter(
        introduction=TEXTS("repetition.introduction"),
        method=TEXTS("repetition.method"),
        findings=tuple(judged(data, each) for each in _repetition_findings(played)),
        tables=(_repetition_table(played),) if played else (),
        drawings=(_repetition_drawing(played),) if played else (),
        data={name: [part.as_json() for part in found.runs] for name, found in played.items()},
    )


def _repetition_table(played: Mapping[str, Played]) -> Table:
    return Table(
        title="Repeats",
        columns=(
            *("algorithm", "people", "plays", "different songs", "share of repeats", "slope", "R²"),
            "people nearer to Zipf",
        ),
        rows=tuple(
            (
                look_of(name).label,
                len(found.runs),
                sum(int(part.plays_by_rank.sum()) for part in found.runs),
                _mean_cell(found, "songs", ".0f"),
                _mean_cell(found, "repeat_share", ".3f"),
                _mean_cell(found, "slope", ".2f"),
                _mean_cell(found, "r_squared", ".2f"),
                f"{found.shapes[Shape.ZIPF]} of {len(found.runs)}",
            )
            for name, found in played.items()
        ),
        note=TEXTS("repetition.table"),
    )


def _mean_cell(found: Played, measure: str, digits: str) -> str | None:
    """Return a mean over people ± its standard error; None if one of them has no value."""
    estimate = found.mean(measure)
    if estimate is None:
        return None
    error = estimate.standard_error
    spread = "" if error is None else f" ± {error:{digits}}"
    return f"{estimate.mean:{digits}}{spread}".replace("-", "−")


def _repetition_drawing(played: Mapping[str, Played]) -> Drawing:
    nearer = [f"{spoken(name)} {found.shapes[Shape.ZIPF]}" for name, found in played.items()]
    return Drawing(
        name="repetition-rank-frequency",
        caption=TEXTS("repetition.figure", nearer=nearer),
        draw=partial(figures.draw_ranks, played=played),
        width=12.0,
        height=0.6 + 2.7 * figures.rows_of(len(played)),
    )


def _repetition_findings(played: Mapping[str, Played]) -> list[Finding]:
    sampled = next((name for name in _SAMPLED if name in played), _SAMPLED[0])
    claims = {
        "zipf": ((_GREEDY, sampled, _VARIATIONAL), Shape.ZIPF, Shape.OTHER),
        "not_zipf": (_OTHERS, Shape.OTHER, Shape.ZIPF),
    }
    return [
        TEXTS.finding(
            claim,
            _shape_verdict([each.shape for each in present], claimed, contrary),
            algorithms=[
                {
                    "name": spoken(each.algorithm),
                    "people": len(each.runs),
                    "zipf": each.shapes[Shape.ZIPF],
                    "other": each.shapes[Shape.OTHER],
                    "slope": _mean_cell(each, "slope", ".2f") or "none",
                    "r_squared": _mean_cell(each, "r_squared", ".2f") or "none",
                }
                for each in present
            ],
        )
        for claim, (names, claimed, contrary) in claims.items()
        if (present := [played[name] for name in names if name in played])
    ]


def _shape_verdict(shapes: Sequence[Shape], claimed: Shape, contrary: Shape) -> Verdict:
    if all(shape is claimed for shape in shapes):
        return Verdict.HOLDS
    if claimed in shapes:
        return Verdict.PARTLY
    return Verdict.FAILS if contrary in shapes else Verdict.OPEN


def novelty_chapter(data: StudyData) -> Chapter:
    """Return the novelty curves learned from one algorithm's parts: the paper's Figure 13."""
    names = data.design.algorithms
    algorithm = next((name for name in _NOVELTY_OF if name in names), names[-1])
    curves = novelty_curves(data, algorithm)
    people = {number: f"P{number}" for number in data.people}
    values = {"algorithm": spoken(algorithm), "apart": _APART, "longest": f"{LONGEST_SHOWN:,.0f}"}
    return Chapter(
        introduction=TEXTS("novelty.introduction", curves=len(curves), **values),
        method="\n\n".join(TEXTS(f"novelty.method.{part}", **values) for part in ("fit", "prior")),
        tables=(_novelty_table(curves, people),) if curves else (),
        drawings=(_novelty_drawing(curves, people, algorithm),) if curves else (),
        data={
            people[each.participant]: {
                "minutes": each.minutes.tolist(),
                "mean": each.mean.tolist(),
                "standard_deviation": each.standard_deviation.tolist(),
                "untired_mean": each.untired_mean.tolist(),
                "untired_standard_deviation": each.untired_standard_deviation.tolist(),
                "parting": each.parting().tolist(),
                "repeats": each.repeats.tolist(),
            }
            for each in curves
        },
    )


def _novelty_table(curves: Sequence[NoveltyCurve], people: Mapping[int, str]) -> Table:
    return Table(
        title="Learned novelty after some minutes",
        columns=(
            *("participant", "repeats"),
            *(f"after {minutes:g} min" for minutes in _NOVELTY_AT),
            "longest time, min",
        ),
        rows=tuple(
            (
                people[each.participant],
                len(each.repeats),
                *(_novelty_cell(each, minutes) for minutes in _NOVELTY_AT),
                each.longest or None,
            )
            for each in curves
        ),
        note=TEXTS("novelty.table", apart=_APART),
    )


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


def _novelty_drawing(
    curves: Sequence[NoveltyCurve], people: Mapping[int, str], algorithm: str
) -> Drawing:
    shown = curves[:_MAX_CURVES]
    return Drawing(
        name="novelty",
        caption=TEXTS(
            "novelty.figure",
            algorithm=spoken(algorithm),
            shown=len(shown),
            curves=len(curves),
            repeats=sum(len(each.repeats) for each in curves),
            apart=sum(map(_is_apart, curves)),
        ),
        draw=partial(figures.draw_novelty, curves=shown, names=people, algorithm=algorithm),
        width=max(4.5, 1.0 + 2.2 * min(5, len(shown))),
        height=1.0 + 1.7 * figures.rows_of(len(shown)),
    )


def _finite(values: Vector) -> list[float | None]:
    """Return numbers for JSON; one that is not finite is None."""
    return [float(value) if np.isfinite(value) else None for value in values]
