"""The chapter on the exact radio and the one that samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen
from bandstand_lab.paper.equivalence.design import (
    EXACT,
    FASTER,
    MARGIN,
    MCMC,
    Design,
    jobs,
    regret_key,
    time_key,
)
from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Chapter, Drawing, Finding, Table, Verdict
from bandstand_lab.statistics.paired import paired_difference
from bandstand_lab.statistics.summaries import student_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Job, Json, Plan
    from bandstand_lab.statistics.paired import PairedDifference


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """The study of exact against sampled Bayes-UCB."""

    name: str = "equivalence"
    title: str = "Exact against MCMC: as good, and how much faster?"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return both radios' runs for all listeners, and the timed steps."""
        return tuple(jobs(plan))

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return whether the exact radio is as good as the sampled one, and the ratio of times."""
        outcome = Outcome.of(plan, results)
        return Chapter(
            introduction=_INTRODUCTION,
            method=_method(outcome.design),
            findings=(_regret_finding(outcome), _time_finding(outcome)),
            tables=(_regret_table(outcome), _time_table(outcome)),
            drawings=(_drawing(outcome),),
            data=_data(outcome),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """The regret of both radios, (listeners, steps), and what the timed steps said."""

    design: Design
    exact: Matrix  # the mean over the repeats with each listener
    mcmc: Matrix
    together: tuple[int, ...]  # how many songs were the same before the first other one
    times: tuple[Mapping[str, Json], ...]  # one for each number of ratings

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> Outcome:
        """Return the results as tables."""
        design = Design.of(plan)
        runs = [results[regret_key(run)] for run in range(design.listeners)]
        return cls(
            design=design,
            exact=frozen(np.array([np.mean(run[EXACT], axis=0) for run in runs])),
            mcmc=frozen(np.array([run[MCMC] for run in runs])),
            together=tuple(run["together"] for run in runs),
            times=tuple(results[time_key(ratings)] for ratings in design.timed_ratings),
        )

    def difference(self, step: int) -> PairedDifference:
        """Return exact − MCMC after so many songs, as a share of the mean regret under MCMC."""
        unit = float(self.mcmc[:, step - 1].mean())
        return paired_difference(self.exact[:, step - 1] / unit, self.mcmc[:, step - 1] / unit)

    def ratios(self) -> Vector:
        """Return how many times longer a sampled step takes, for each number of ratings."""
        return np.array([each["seconds"][MCMC] / each["seconds"][EXACT] for each in self.times])


_INTRODUCTION: Final = (
    "The paper samples its exact model by MCMC and finds that too slow for a radio; its answer "
    "is an approximate model. The exact model can be had without sampling: once the recovery "
    "time is given everything is known in closed form, and integrating over one number is easy. "
    "Is the radio that integrates as good as the one that samples, and how much faster is it?"
)


def _method(design: Design) -> str:
    return (
        f"{design.listeners} simulated listeners ({design.songs:,} songs of {design.features} "
        f"features x ~ N(0, 1), noise of standard deviation 1, {design.steps} songs each) meet "
        "both radios, with the same songs. The exact radio takes so little time that it meets each "
        f"listener {design.repeats} times, with other first songs and other noise of the answers; "
        "its mean counts, which takes its own chance out of the difference. The sampling radio "
        "draws until it has 2,000 effective draws of what matters and the chains agree (split "
        "R-hat below 1.01). Two radios that differ by the noise of draws alone part ways "
        "sooner or later, so regrets differ from listener to listener in either direction; what "
        "counts is the mean, and how large it could be. The number of listeners comes from the "
        "spread of that difference in a pilot. Times are processor times of one choice and one "
        f"lesson, with nothing else running, for {design.timed_songs:,} songs of "
        f"{design.timed_features} features."
    )


def _regret_finding(outcome: Outcome) -> Finding:
    difference = outcome.difference(outcome.design.steps)
    low, high = difference.interval()
    spread = difference.standard_error * math.sqrt(outcome.design.listeners)
    return Finding(
        paper="The exact model by MCMC (Bayes-UCB-CN) is the best radio; replacing the sampling "
        "by quadrature must not cost regret.",
        place="Sections 4.1 and 5.2.1; the quadrature is not in the paper",
        measured=(
            f"After {outcome.design.steps} songs the exact radio's regret differs from that of "
            f"the sampling one by {100 * difference.mean:+.1f} % (95 % interval {100 * low:+.1f} "
            f"to {100 * high:+.1f} %, {outcome.design.listeners} listeners). The difference of a "
            f"single listener has a standard deviation of {100 * spread:.0f} %."
        ),
        verdict=_regret_verdict(low, high),
        why=(
            f"Rule: holds where the upper end of the 95 % interval is below {100 * MARGIN:.0f} % "
            "of the regret; does not hold where the lower end is above it. With this spread "
            f"{_listeners_needed(spread)} listeners are needed for a true difference of 0 to be "
            "shown nine times out of ten."
        ),
    )


def _regret_verdict(low: float, high: float) -> Verdict:
    if high < MARGIN:
        return Verdict.HOLDS
    return Verdict.FAILS if low > MARGIN else Verdict.OPEN


def _listeners_needed(spread: float) -> int:
    """Return for how many listeners the bound stays below the margin nine times out of ten."""
    one_side = 1.2816  # the 90 % quantile of a normal variable
    count = 2
    while (student_quantile(0.95, count - 1) + one_side) * spread / math.sqrt(count) > MARGIN:
        count += 1
    return count


def _time_finding(outcome: Outcome) -> Finding:
    ratios = outcome.ratios()
    each = [
        f"{ratio:.0f} × ({1000 * times['seconds'][MCMC]:,.0f} ms against "
        f"{1000 * times['seconds'][EXACT]:.1f}) after {ratings} ratings"
        for ratio, times, ratings in zip(
            ratios, outcome.times, outcome.design.timed_ratings, strict=True
        )
    ]
    verdict = Verdict.HOLDS if ratios.min() >= FASTER else Verdict.PARTLY
    return Finding(
        paper="Sampling is too slow for a radio that learns after every song; the paper gives up "
        "the exact model for speed.",
        place="Sections 4.2 and 5.2.2; the quadrature is not in the paper",
        measured=f"A step of the exact radio is faster by {', '.join(each)}.",
        verdict=verdict if ratios.max() >= FASTER else Verdict.FAILS,
        why=(
            f"Rule: holds where the exact step is at least {FASTER:.0f} times as fast after every "
            "number of ratings: then the exact model need not be given up for speed."
        ),
    )


def _regret_table(outcome: Outcome) -> Table:
    steps = outcome.design.steps
    looks = [look for look in (steps // 4, steps // 2, steps) if look]
    rows = []
    for look in looks:
        difference = outcome.difference(look)
        low, high = difference.interval()
        means = (float(table[:, look - 1].mean()) for table in (outcome.exact, outcome.mcmc))
        rows.append((look, *means, 100 * difference.mean, 100 * low, 100 * high))
    return Table(
        title="Regret of the exact and of the sampling radio",
        columns=("songs", "exact", "MCMC", "difference, %", "95 % from", "to"),
        rows=tuple(rows),
        note="Differences in percent of the regret under MCMC; negative: the exact radio has "
        f"less. The two play the same first {np.median(outcome.together):.0f} songs (median).",
    )


def _time_table(outcome: Outcome) -> Table:
    rows = tuple(
        (
            ratings,
            1000 * times["seconds"][EXACT],
            1000 * times["seconds"][MCMC],
            float(ratio),
            times["agreement"]["quantile_error"],
            times["agreement"]["choice_shortfall"],
        )
        for ratings, times, ratio in zip(
            outcome.design.timed_ratings, outcome.times, outcome.ratios(), strict=True
        )
    )
    return Table(
        title="One step of each, after the same ratings",
        columns=(
            "ratings",
            "exact, ms",
            "MCMC, ms",
            "ratio",
            "error of the sampled quantile, sd",
            "loss by its choice, sd",
        ),
        rows=rows,
        note="The error is the root mean square over all songs of sampled minus exact quantile, in "
        "standard deviations of p(U | D). The loss is how far the exact quantile of the song "
        "that the sampled one chooses is below the highest.",
    )


def _drawing(outcome: Outcome) -> Drawing:
    final = outcome.difference(outcome.design.steps)
    low, high = final.interval()
    below = int((outcome.exact[:, -1] < outcome.mcmc[:, -1]).sum())
    return Drawing(
        name="difference",
        caption=(
            "Left: the regret of the exact radio less that of the sampling one, in percent, with "
            f"its 95 % interval; after {outcome.design.steps} songs {100 * low:+.1f} to "
            f"{100 * high:+.1f} %, dashed: the margin of {100 * MARGIN:.0f} %. Right: each "
            f"listener's two regrets; the exact radio has less for {below} of "
            f"{outcome.design.listeners}."
        ),
        draw=partial(_draw, outcome),
        width=9.5,
        height=4.2,
    )


def _draw(outcome: Outcome, figure: Figure) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[1.4, 1])
    look = look_of(EXACT)
    steps = np.arange(2, outcome.design.steps + 1)
    found = [outcome.difference(int(step)) for step in steps]
    ends = 100 * np.array([each.interval() for each in found])
    left.fill_between(steps, ends[:, 0], ends[:, 1], color=look.colour, alpha=0.15, linewidth=0)
    left.plot(steps, [100 * each.mean for each in found], color=look.colour, linewidth=2)
    left.axhline(0, color=figures.MUTED, linewidth=1)
    left.axhline(100 * MARGIN, color=figures.BAD, linewidth=1, linestyle="--")
    left.set_xlabel("songs played, n")
    left.set_ylabel("exact less MCMC, % of regret")
    left.set_ylim(-25, 25)
    left.grid(axis="y")
    both = np.array([outcome.exact[:, -1], outcome.mcmc[:, -1]])
    ends_of_line = [0.95 * both.min(), 1.05 * both.max()]
    right.plot(ends_of_line, ends_of_line, color=figures.MUTED, linewidth=1)
    right.plot(both[1], both[0], "o", color=look.colour, markersize=5, alpha=0.7)
    right.set_xlabel(f"regret, {look_of(MCMC).label}")
    right.set_ylabel(f"regret, {look.label}")
    right.set_aspect("equal")
    right.grid()


def _data(outcome: Outcome) -> dict[str, Json]:
    difference = outcome.difference(outcome.design.steps)
    return {
        "world": outcome.design.world,
        "steps": outcome.design.steps,
        "regret": {EXACT: outcome.exact.tolist(), MCMC: outcome.mcmc.tolist()},
        "songs_in_common_at_first": list(outcome.together),
        "relative_difference": difference.mean,
        "relative_difference_interval_95": list(difference.interval()),
        "margin": MARGIN,
        "timed_world": outcome.design.timed_world,
        "times": {
            str(ratings): times
            for ratings, times in zip(outcome.design.timed_ratings, outcome.times, strict=True)
        },
    }


STUDY: Final = Equivalence()
