"""What the study has found, in one paragraph for somebody who reads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.report.figures import in_order
from bandstand_lab.report.spoken import spoken
from bandstand_lab.user_study.analysis import FEWEST_PEOPLE, favours, favours_somewhere
from bandstand_lab.user_study.ratings import best_and_worst, shared_step
from bandstand_lab.user_study.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.study.records import StudyData
    from bandstand_lab.user_study.analysis import Analysis, Curve

_CHANCE: Final = (
    "in the end the differences are no larger than chance makes them among so few people, which "
    "does not mean that there are none."
)


def answer(data: StudyData, analysis: Analysis) -> str:
    """Return who was rated how, what is clear of it, and what cannot be told."""
    ends = best_and_worst(analysis)
    if ends is None:
        return "Nobody has rated a song yet. Nothing can be told."
    sentences = [
        _so_far(data),
        _averages(analysis, *ends),
        *_clear(analysis),
        _untold(analysis),
        *_somewhere(analysis),
        _late(data),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _so_far(data: StudyData) -> str:
    """Return how much is missing while the study is not complete."""
    people = {record.participant for record in data.records}
    planned = len(people) * len(data.design.algorithms) * data.design.ratings_per_arm
    if len(data.records) >= planned:
        return ""
    return (
        f"The study is not complete: {len(data.records):,} of the {planned:,} ratings that "
        f"{counted(len(people), 'person', 'people')} would give are there."
    )


def _averages(analysis: Analysis, best: Curve, worst: Curve) -> str:
    step = shared_step(analysis)
    if best.algorithm == worst.algorithm:
        return f"Only {_label(best)} has been rated: {_mean(best, step)}."
    if _mean(best, step).split()[0] == _mean(worst, step).split()[0]:
        begun = sum(len(curve.mean) > 0 for curve in analysis.curves)
        mean = f"{float(best.mean[step - 1]):.2f} stars"
        return (
            f"After {counted(step, 'song')} the average rating was the same with "
            f"{'both' if begun == 2 else f'all {begun}'} algorithms, {mean}."
        )
    return (
        f"After {counted(step, 'song')} the average rating was highest with {_label(best)}, "
        f"{_mean(best, step)}, and lowest with {_label(worst)}, {_mean(worst, step)}."
    )


def _mean(curve: Curve, step: int) -> str:
    mean, error = float(curve.mean[step - 1]), float(curve.standard_error[step - 1])
    spread = f" ± {error:.2f}" if error == error else ""  # noqa: PLR0124  # NaN is not itself
    return f"{mean:.2f}{spread} stars"


def _clear(analysis: Analysis) -> list[str]:
    """Return for each algorithm than which others it was rated clearly higher."""
    beaten: dict[str, list[str]] = {}
    for each in analysis.comparisons:
        sign = favours(each, analysis.level)
        if sign:
            winner, loser = (each.first, each.second)[::sign]
            beaten.setdefault(winner, []).append(loser)
    groups: dict[tuple[str, ...], list[str]] = {}  # winners over the same others
    for winner in reversed(in_order(beaten)):
        groups.setdefault(tuple(in_order(beaten[winner])), []).append(winner)
    return [
        f"{_labels(winners)} {'was' if len(winners) == 1 else 'were each'} rated clearly higher "
        f"than {_labels(losers)}."
        for losers, winners in groups.items()
    ]


def _labels(names: Sequence[str]) -> str:
    return listed([spoken(name) for name in names])


def _untold(analysis: Analysis) -> str:
    if not analysis.comparisons:
        return (
            "Whether the algorithms differ cannot be told yet: that needs at least two people who "
            f"have rated {counted(analysis.first_step, 'song')} of the same two algorithms."
        )
    most = max(int(each.counts[-1]) for each in analysis.comparisons)
    if most < FEWEST_PEOPLE:
        return (
            "Which algorithm is better cannot be told yet: at most "
            f"{counted(most, 'person', 'people')} can be compared, and with fewer than "
            f"{FEWEST_PEOPLE} nothing is called clear here, however large it is."
        )
    unclear = sum(not favours(each, analysis.level) for each in analysis.comparisons)
    if not unclear:
        return ""
    if unclear == len(analysis.comparisons):
        return f"Of no two algorithms can it be told which is better: {_CHANCE}"
    return f"Of the other {counted(unclear, 'pair')} it cannot be told which is better: {_CHANCE}"


def _somewhere(analysis: Analysis) -> list[str]:
    """Return who was rated higher at some n, after all corrections, though not in the end."""
    found = [
        (each, sign)
        for each in analysis.comparisons
        if (sign := favours_somewhere(each, analysis.level)) and not favours(each, analysis.level)
    ]
    if not found:
        return []
    pairs = []
    for each, sign in found:
        higher, lower = (each.first, each.second)[::sign]
        pairs.append(f"{spoken(higher)} above {spoken(lower)}")
    return [f"At some n, corrected for all n and pairs, but not in the end: {listed(pairs)}."]


def _late(data: StudyData) -> str:
    """Return a warning where waiting could have told on an algorithm."""
    limit = data.design.answer_seconds
    late = sum((each.choose_seconds or 0.0) > limit for each in data.records)
    if not late:
        return ""
    return (
        f"Blindness by timing was not kept: {late:,} of {counted(len(data.records), 'song')} came "
        f"later than the {limit:g} s after which every song should."
    )


def _label(curve: Curve) -> str:
    return spoken(curve.algorithm)
