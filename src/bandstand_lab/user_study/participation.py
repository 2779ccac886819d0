"""Who did what, which rules were kept, and whether anything could have told on an algorithm."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.figures import INK, in_order, look_of, plain, spoken
from bandstand_lab.report.study import BEYOND, Chapter, Drawing, Finding, Table, Verdict
from bandstand_lab.user_study.judging import judged
from bandstand_lab.user_study.rules import broken_rules
from bandstand_lab.user_study.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from bandstand.study.records import Record, StudyData
    from bandstand_lab.report.study import Cell

TITLE: Final = "Who took part, and whether the rules were kept"
_INTRODUCTION: Final = (
    "Numbers are worth no more than the way they were made. Here is who rated how much, in which "
    "order, how long it took, which rules of the study were kept, and whether the time that a "
    "choice took could have betrayed an algorithm."
)


def participation_chapter(data: StudyData) -> Chapter:
    """Return the facts about people and rules."""
    arms = data.by_arm()
    records = {
        name: [each for (_, algorithm), some in arms.items() if algorithm == name for each in some]
        for name in in_order(data.design.algorithms)
    }
    return Chapter(
        introduction=_INTRODUCTION,
        method=_method(data),
        findings=_timing(data),
        tables=(_people(data), _orders(data), _parts(data, records), broken_rules(data)),
        drawings=_choices(data, records),
        data={
            "choose_seconds": {
                name: [each.choose_seconds for each in some] for name, some in records.items()
            }
        },
    )


def pseudonyms(data: StudyData) -> dict[int, str]:
    """Return what each participant is called: P1, P2 and so on, by their numbers."""
    return {number: f"P{number}" for number in data.people}


def _method(data: StudyData) -> str:
    design = data.design
    return (
        f"Every participant meets all {len(design.algorithms)} algorithms, in the order of a row "
        "of a Latin square in which each algorithm also follows each other equally often. Nothing "
        "in the page or in the server's answers names the algorithm. A song is answered "
        f"{design.answer_seconds:g} s after it was asked for, whatever the algorithm took to "
        f"choose it. It can be rated after {design.listen_seconds:g} s, unless the participant "
        f"says that they know it; after every {design.rest_after} ratings comes a rest of "
        f"{design.rest_seconds:g} s; at most {design.arms_per_day} parts are begun or continued "
        f"within 24 hours, with at least {design.gap_hours:g} hours from the last rating of one to "
        "the start of the next. The server refuses what breaks a rule, by its own clock; the table "
        "of the rules checks it again from the ratings."
    )


def _timing(data: StudyData) -> tuple[Finding, ...]:
    """Return whether waiting for a song could tell which algorithm chose it."""
    if not data.records:
        return ()
    limit = data.design.answer_seconds
    timed = [each for each in data.records if each.choose_seconds is not None]
    late = [each for each in timed if (each.choose_seconds or 0.0) > limit]
    finding = Finding(
        paper=(
            f"No choice took longer than the {limit:g} s after which every song is answered, so "
            "waiting tells nobody which algorithm chose."
        ),
        place=BEYOND,
        measured=_late_said(late, timed, limit),
        verdict=_timing_verdict(late, timed, len(data.records)),
        why=(
            "Rule: one later answer is enough for ‘does not hold’: blindness by timing was not "
            "kept then. Where the time of a choice is missing, it cannot be told."
        ),
    )
    return (judged(data, finding),)


def _timing_verdict(late: Sequence[Record], timed: Sequence[Record], every: int) -> Verdict:
    if late:
        return Verdict.FAILS
    return Verdict.HOLDS if len(timed) == every else Verdict.OPEN


def _late_said(late: Sequence[Record], timed: Sequence[Record], limit: float) -> str:
    if not timed:
        return "How long the choices took was not recorded."
    longest = max(each.choose_seconds or 0.0 for each in timed)
    if not late:
        return f"The longest of {counted(len(timed), 'choice')} took {longest:.2g} s."
    by = {name: sum(each.algorithm == name for each in late) for name in _named(late)}
    whose = listed([f"{spoken(name)} ({count:,})" for name, count in by.items()])
    return (
        f"{len(late):,} of {counted(len(timed), 'choice')} took longer, up to {longest:.1f} s: "
        f"{whose}. Blindness by timing was not kept for these songs; a larger answer_seconds than "
        f"{limit:g} would have kept it."
    )


def _named(records: Sequence[Record]) -> list[str]:
    return in_order({each.algorithm for each in records})


def _people(data: StudyData) -> Table:
    arms, names = data.by_arm(), pseudonyms(data)
    order = in_order(data.design.algorithms)
    rows: list[tuple[Cell, ...]] = []
    for person in data.people:
        own = [some for (number, _), some in arms.items() if number == person]
        known = sum(each.known for some in own for each in some)
        total = sum(len(some) for some in own)
        cells = [len(arms.get((person, name), ())) for name in order]
        rows.append((names[person], *cells, total, known))
    return Table(
        title="Ratings of each participant",
        columns=("participant", *(look_of(name).label for name in order), "all", "known songs"),
        rows=tuple(rows),
        note=f"{data.design.ratings_per_arm:,} make a whole part. Known songs: those of which the "
        "participant said so, which could be rated at once.",
    )


def _orders(data: StudyData) -> Table:
    """Return how many people met each algorithm in their first, second, … part."""
    order, arms = in_order(data.design.algorithms), data.by_arm()
    met = {name: [0] * len(order) for name in order}
    for person in data.people:
        own = {name: some[0].place for (who, name), some in arms.items() if who == person}
        for place, name in enumerate(sorted(own, key=lambda name: own[name])):
            met[name][place] += 1
    return Table(
        title="People who met an algorithm in their first, second, … part",
        columns=("algorithm", *(f"part {place}" for place in range(1, len(order) + 1))),
        rows=tuple((look_of(name).label, *met[name]) for name in order),
        note="Balanced where all numbers are about the same: then getting used to the study, or "
        "tired of it, is the same for all algorithms.",
    )


def _parts(data: StudyData, records: dict[str, list[Record]]) -> Table:
    whole = data.design.ratings_per_arm
    rows: list[tuple[Cell, ...]] = []
    for name, some in records.items():
        arms = [each for (_, algorithm), each in data.by_arm().items() if algorithm == name]
        played = [each.played_seconds for each in some if each.played_seconds is not None]
        choices = [each.choose_seconds for each in some if each.choose_seconds is not None]
        late = sum(choice > data.design.answer_seconds for choice in choices)
        rows.append(
            (
                look_of(name).label,
                f"{len(arms)} / {sum(len(arm) >= whole for arm in arms)}",
                len(some),
                f"{sum(each.known for each in some) / len(some):.0%}" if some else None,
                median(played) if played else None,
                median((each.rated_at - each.offered_at) / 1_000 for each in some)
                if some
                else None,
                median(choices) if choices else None,
                max(choices, default=None),
                late if choices else None,
            )
        )
    return Table(
        title="Parts",
        columns=(
            "algorithm",
            "begun / finished",
            "ratings",
            "known",
            "listened, s",
            "offered to rated, s",
            "choice, s",
            "longest choice, s",
            "late choices",
        ),
        rows=tuple(rows),
        note="Medians but for the longest choice. Late: longer than "
        f"{data.design.answer_seconds:g} s, so that the participant had to wait for it.",
    )


def _choices(data: StudyData, records: dict[str, list[Record]]) -> tuple[Drawing, ...]:
    times = {
        name: sorted(each.choose_seconds for each in some if each.choose_seconds is not None)
        for name, some in records.items()
    }
    times = {name: some for name, some in times.items() if some}
    if not times:
        return ()
    slowest = max(times, key=lambda name: times[name][-1])
    return (
        Drawing(
            name="choice-times",
            caption=(
                "How long each algorithm took to choose a song: the middle 90 % as a bar, the "
                "median as a line, the longest as a dot. Dashed: when every song is answered. The "
                f"longest, {times[slowest][-1]:.2g} s, was of {spoken(slowest)}."
            ),
            draw=lambda figure: _draw_choices(figure, times, data.design.answer_seconds),
            height=1.4 + 0.36 * len(times),
        ),
    )


def _draw_choices(figure: Figure, times: dict[str, list[float]], limit: float) -> None:
    axes = figure.subplots()
    names = list(reversed(times))
    for place, name in enumerate(names):
        some, look = [max(1e-4, time) for time in times[name]], look_of(name)
        low, high = (some[round(share * (len(some) - 1))] for share in (0.05, 0.95))
        axes.plot(
            [low, high],
            [place, place],
            color=look.colour,
            linewidth=7,
            alpha=0.45,
            solid_capstyle="butt",
        )
        axes.plot([median(some)], [place], "|", color=look.colour, markersize=13, markeredgewidth=2)
        axes.plot([some[-1]], [place], "o", color=look.colour, markersize=5)
    if limit > 0:
        axes.axvline(limit, color=INK, linestyle="--", linewidth=1.0)
    axes.set(xscale="log", xlabel="time of a choice, s", ylim=(-0.6, len(names) - 0.4))
    axes.set_yticks(range(len(names)), [look_of(name).label for name in names])
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(plain)
    axes.grid(axis="x")
