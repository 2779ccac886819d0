"""Every pair of algorithms, person by person, after every song."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Chapter, Table
from bandstand_lab.user_study.analysis import FEWEST_PEOPLE
from bandstand_lab.user_study.comparison_drawings import differences_drawing, p_drawing
from bandstand_lab.user_study.comparison_findings import findings
from bandstand_lab.user_study.ratings import finite
from bandstand_lab.user_study.words import counted, stars

if TYPE_CHECKING:
    from bandstand.study.records import StudyData
    from bandstand_lab.report.study import Cell
    from bandstand_lab.user_study.analysis import Analysis, Comparison

TITLE: Final = "Is the difference more than chance?"

_INTRODUCTION: Final = (
    "Two averages always differ a little. Here every pair of algorithms is compared person by "
    "person, after every number of songs, and it is asked how often chance alone would make such a "
    "difference. Looking so many times finds something sooner or later even where there is "
    "nothing, so every p-value is also given corrected for all the looks."
)


def comparisons_chapter(data: StudyData, analysis: Analysis) -> Chapter:
    """Return the tests; where nothing can be tested yet, why."""
    if not analysis.comparisons:
        return Chapter(
            introduction=f"{_INTRODUCTION}\n\nNo pair can be tested yet: a test needs at least two "
            f"people who have rated {counted(analysis.first_step, 'song')} of both algorithms.",
            method=_method(analysis),
            tables=_untested(analysis),
        )
    return Chapter(
        introduction=_INTRODUCTION + _few(analysis),
        method=_method(analysis),
        findings=findings(data, analysis),
        tables=(_table(analysis), _uncorrected(analysis), *_untested(analysis)),
        drawings=(differences_drawing(analysis), p_drawing(analysis)),
        data={
            "level": analysis.level,
            "pairs": [_numbers(each) for each in analysis.comparisons],
            "untested": [
                {"first": each.first, "second": each.second, "why": each.reason}
                for each in analysis.untested
            ],
        },
    )


def _few(analysis: Analysis) -> str:
    """Return a word on pairs of which no difference, however large, could be called clear."""
    few = [each for each in analysis.comparisons if each.counts[-1] < FEWEST_PEOPLE]
    if not few:
        return ""
    return (
        f"\n\nFor {len(few)} of {counted(len(analysis.comparisons), 'pair')} there are fewer than "
        f"{FEWEST_PEOPLE} people so far. Nothing is called clear there, however large it is."
    )


def _method(analysis: Analysis) -> str:
    tested = len(analysis.comparisons)
    most = max((each.flips for each in analysis.comparisons), default=1)
    are_all = all(each.is_exact for each in analysis.comparisons)
    flips = "all ways" if are_all else f"up to {most:,} ways drawn at random"
    level = f"{analysis.level:g}"
    return (
        "Who is compared with whom: each person with themselves, over those who have both "
        "algorithms up to the n-th song. An n is tested if these are at least half of those who "
        f"have begun both, and at least two{_begin(analysis)}. The test is Student's paired "
        "t-test, in either direction, of the difference between the two averages after n "
        "songs.\n\n"
        "In the end: one question is asked of each pair, which is rated higher at the last n. "
        f"These p-values are corrected over {_all_pairs(tested)} by Holm's method. At "
        f"most {level} with at least {FEWEST_PEOPLE} people is called clear: if nothing differed, "
        f"that would be said of any pair in at most {100 * analysis.level:g} % of such studies "
        "(as far as the differences of people are about normally distributed).\n\n"
        "From which n on: at each n the p-value is corrected for all n of the pair and for all "
        f"pairs. For the n, the two labels are exchanged for some of the people, in {flips} to "
        "do so, and it is counted how often the most extreme n is then at least as extreme as the "
        "one at hand (sign-flip max-T, Westfall and Young). Neighbouring n have nearly the same "
        "ratings, and this takes it into account; multiplying by the number of tests would not. "
        f"The result is multiplied by the number of pairs{_here(tested)}. Whether a pair "
        "differs at any n is told by its smallest value over all n, corrected over the pairs by "
        "Holm's method. No normal distribution is assumed for these, only that without a "
        "difference a person's difference is as likely to be positive as negative."
    )


def _begin(analysis: Analysis) -> str:
    if analysis.first_step == 1:
        return ""
    return f"; tests begin at n = {analysis.first_step}, for averages of fewer songs are noise"


def _all_pairs(tested: int) -> str:
    if tested == 1:
        return "the pairs, of which there is only one here,"
    return f"all {tested} pairs" if tested else "all pairs"


def _here(tested: int) -> str:
    return f", {tested} here" if tested else ""


def _same(analysis: Analysis) -> str:
    """Return a sentence with people and last n where all pairs have the same; else nothing."""
    ends = {(_people(each), each.last) for each in analysis.comparisons}
    if len(ends) > 1:
        return ""
    ((people, last),) = ends
    who = f"{people} people" if isinstance(people, str) else counted(people, "person", "people")
    return f"Every pair: {who}, n = {last}. "


def _people(each: Comparison) -> int | str:
    """Return how many there are at the last n, and at the first if these were more."""
    first, last = int(each.counts[0]), int(each.counts[-1])
    return last if first == last else f"{last} of {first}"


def _table(analysis: Analysis) -> Table:
    same = _same(analysis)
    return Table(
        title="All pairs, in the end",
        columns=(
            "algorithm",
            "against",
            *(() if same else ("people", "n")),
            "difference",
            "p corrected",
            "95 % interval",
            "any n",
            "from n",
        ),
        rows=tuple(_row(each, same=same) for each in analysis.comparisons),
        note=same
        + (
            "Difference: in stars, mean over people; the interval is Student's, for this pair "
            "alone. p corrected: at the last n, over all pairs (Holm). Any "
            "n: p of whether the pair differs anywhere, corrected. From n: from there to the last "
            "n the value that is corrected for all n and all pairs is at most "
            f"{analysis.level:g}."
        ),
    )


def _row(each: Comparison, *, same: str) -> tuple[Cell, ...]:
    low, high = each.interval()
    return (
        look_of(each.first).label,
        look_of(each.second).label,
        *(() if same else (_people(each), each.last)),
        stars(float(each.mean[-1])),
        each.p_last_holm,
        f"{stars(low)} to {stars(high)}",
        each.p_any_holm,
        each.significant_from(),
    )


def _uncorrected(analysis: Analysis) -> Table:
    return Table(
        title="All pairs, without correction",
        columns=("algorithm", "against", "p", "from n"),
        rows=tuple(
            (
                look_of(each.first).label,
                look_of(each.second).label,
                float(each.p_values[-1]),
                each.nominal_from(),
            )
            for each in analysis.comparisons
        ),
        note=(
            "As the paper has it: not to be trusted, for comparison only. p: at the last n. From "
            f"n: from there to the last n it is at most {analysis.level:g}."
        ),
    )


def _untested(analysis: Analysis) -> tuple[Table, ...]:
    if not analysis.untested:
        return ()
    return (
        Table(
            title="Pairs that cannot be tested yet",
            columns=("algorithm", "against", "people", "why"),
            rows=tuple(
                (look_of(each.first).label, look_of(each.second).label, each.people, each.reason)
                for each in analysis.untested
            ),
        ),
    )


def _numbers(each: Comparison) -> dict[str, Any]:
    return {
        "first": each.first,
        "second": each.second,
        "n": each.steps.tolist(),
        "people": each.counts.tolist(),
        "mean_difference": finite(each.mean),
        "standard_error": finite(each.standard_error),
        "t": finite(each.t),  # null where everybody differs by the same
        "p": finite(each.p_values),
        "p_corrected_over_n": finite(each.p_over_steps),
        "p_corrected": finite(each.p_corrected),
        "p_last_n_holm": each.p_last_holm,
        "p_any_n_holm": each.p_any_holm,
        "flips": each.flips,
        "all_flips": each.is_exact,
    }
