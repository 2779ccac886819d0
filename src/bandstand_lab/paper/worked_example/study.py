"""The worked example as a chapter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.paper.worked_example.drawing import draw_beliefs, draw_shares
from bandstand_lab.paper.worked_example.example import (
    BAYES_UCB,
    GREEDY,
    NAMES,
    NOISE,
    POLICIES,
    SHOWN,
    TRUTH,
    B,
    C,
)
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Chapter, Drawing, Finding, Job, Table, Verdict
from bandstand_lab.statistics.paired import paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Json, Plan

_STEPS: Final = 40
_RUNS_PER_JOB: Final = 50
_FUNCTION: Final = "bandstand_lab.paper.worked_example.example:play_runs"
# A claim about every run holds if nearly all agree, and partly if most do.
_NEARLY_ALL, _MOST = 0.95, 0.5
_LAST: Final = 10
_INTRODUCTION: Final = (
    "Why explore at all? The paper opens with two songs. B is known well and is believed to be "
    "worth 1.2; C is hardly known and believed to be worth 1.0. In truth the listener would give "
    "B 1.3 and C 1.6. Who always plays the song with the better guess never finds that out."
)
_METHOD: Final = (
    "Beliefs are the exact engine's, not drawn by hand: eight ratings of B and one of C, chosen "
    "such that the means are the paper's. Then two policies with the same beliefs play "
    f"{_STEPS} songs each for a listener whose answers are the truth plus noise of standard "
    f"deviation {NOISE}: greedy plays the larger mean, Bayes-UCB the larger quantile at level "
    "1 − 1/n. Songs stay new, as in the paper's example. Both meet the same noise in each run."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkedExample:
    """The paper's Figure 1."""

    name: str = "worked_example"
    title: str = "Two songs: why the best guess is not enough"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return the runs in parts."""
        runs = plan.pick(quick=50, full=250)
        return [
            Job(
                key=f"runs-{first:04d}",
                function=_FUNCTION,
                arguments={
                    "first": first,
                    "runs": min(_RUNS_PER_JOB, runs - first),
                    "steps": _STEPS,
                    "seed": plan.seed,
                },
            )
            for first in range(0, runs, _RUNS_PER_JOB)
        ]

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return what the two policies did."""
        parts = [results[job.key] for job in self.jobs(plan)]
        choices = {
            policy: np.concatenate([np.array(part[policy]["choices"]) for part in parts])
            for policy in POLICIES
        }
        first = parts[0]
        return Chapter(
            introduction=_INTRODUCTION,
            method=_METHOD,
            findings=(
                _first_choice(first),
                _greedy_stays(choices[GREEDY]),
                _bayes_ucb_finds(choices[BAYES_UCB], choices[GREEDY]),
            ),
            tables=(_table(choices),),
            drawings=_drawings(first, choices),
            data={
                "before": first[GREEDY]["before"],
                f"after_{SHOWN}_songs": {policy: first[policy]["after"] for policy in POLICIES},
                "share_of_runs_that_play_c": {
                    policy: table.mean(axis=0).tolist() for policy, table in choices.items()
                },
                "choices": {policy: table.tolist() for policy, table in choices.items()},
            },
        )


def _first_choice(first: Mapping[str, Any]) -> Finding:
    belief = first[GREEDY]["before"]
    chosen = [first[policy]["choices"][0][0] for policy in POLICIES]
    means, quantiles = belief["means"], belief["quantiles"]
    return Finding(
        paper="A greedy recommender plays B, whose mean is higher; one that also looks at the "
        "variance tries C, of which little is known.",
        place="Section 1, Figure 1(b)",
        measured=f"The means are {means[B]:.2f} and {means[C]:.2f}, the quantiles at level "
        f"{belief['level']:.2f} are {quantiles[B]:.2f} and {quantiles[C]:.2f}: greedy plays "
        f"{NAMES[chosen[0]]} first, Bayes-UCB {NAMES[chosen[1]]}.",
        verdict=Verdict.HOLDS if chosen == [B, C] else Verdict.FAILS,
        why="It holds if greedy plays B and Bayes-UCB plays C. Nothing is random here.",
    )


def _greedy_stays(choices: Matrix) -> Finding:
    share = float((choices.sum(axis=1) == 0).mean())
    return Finding(
        paper="Greedy grows ever surer of B, plays it for ever and never tries C.",
        place="Section 1, Figure 1(c)",
        measured=f"In {share:.0%} of {len(choices)} runs greedy never played C within "
        f"{choices.shape[1]} songs.",
        verdict=_by_share(share),
        why=f"It holds if that happens in at least {_NEARLY_ALL:.0%} of the runs, partly in at "
        f"least {_MOST:.0%}. It takes a run of poor answers about B to bring its mean below C's, "
        "so with noisier answers greedy would now and then find C by luck.",
    )


def _bayes_ucb_finds(choices: Matrix, greedy: Matrix) -> Finding:
    found = float((choices[:, -_LAST:].mean(axis=1) > 0.5).mean())
    difference = paired_difference(_regret(choices), _regret(greedy))
    low, high = difference.interval()
    return Finding(
        paper="By playing C several times a bandit finds out that it is the better song.",
        place="Section 1, Figure 1(d)",
        measured=f"In {found:.0%} of {len(choices)} runs most of Bayes-UCB's last {_LAST} songs "
        f"were C. After {choices.shape[1]} songs its regret is {-difference.mean:.1f} below "
        f"greedy's (95 % interval {-high:.1f} to {-low:.1f}).",
        verdict=_by_share(found) if high < 0 else Verdict.FAILS,
        why=f"It holds if that happens in at least {_NEARLY_ALL:.0%} of the runs and the regret "
        f"is lower, partly from {_MOST:.0%}. Where the first answers about C are poor, even "
        "Bayes-UCB needs a while to come back to it.",
    )


def _by_share(share: float) -> Verdict:
    if share >= _NEARLY_ALL:
        return Verdict.HOLDS
    return Verdict.PARTLY if share >= _MOST else Verdict.FAILS


def _regret(choices: Matrix) -> Vector:
    """Return what each run lost by playing B."""
    return np.asarray((TRUTH[C] - TRUTH[B]) * (choices == B).sum(axis=1))


def _table(choices: Mapping[str, Matrix]) -> Table:
    rows = []
    for policy, table in choices.items():
        regret = _regret(table)
        rows.append(
            (
                look_of(policy).label,
                f"{table[:, 0].mean():.0%}",
                f"{(table.sum(axis=1) == 0).mean():.0%}",
                f"{table[:, -_LAST:].mean():.0%}",
                f"{regret.mean():.2f} ± {regret.std(ddof=1) / np.sqrt(len(regret)):.2f}",
            )
        )
    return Table(
        title="Which song is played",
        columns=(
            "policy",
            "runs that begin with C",
            "runs without C",
            f"C among the last {_LAST}",
            f"regret after {_STEPS} songs (± s.e.)",
        ),
        rows=tuple(rows),
    )


def _drawings(first: Mapping[str, Any], choices: Mapping[str, Matrix]) -> tuple[Drawing, ...]:
    greedy, bayes_ucb = (first[policy]["after"] for policy in POLICIES)
    right = "right" if bayes_ucb["means"][C] > bayes_ucb["means"][B] else "wrong"
    share = {policy: float(table[:, -1].mean()) for policy, table in choices.items()}
    return (
        Drawing(
            name="worked-example-beliefs",
            caption=f"The first run. C is believed to be worth less than B, but nobody knows: "
            f"its curve is wide. After {SHOWN} songs greedy knows B to within "
            f"{greedy['standard_deviations'][B]:.2f} and C as little as before; Bayes-UCB "
            f"knows C to within {bayes_ucb['standard_deviations'][C]:.2f} and is {right} about "
            "which is better.",
            draw=partial(draw_beliefs, found=first, songs=SHOWN),
            width=10.5,
            height=3.9,
        ),
        Drawing(
            name="worked-example-choices",
            caption=f"The last song is C in {share[BAYES_UCB]:.0%} of the runs under Bayes-UCB "
            f"and in {share[GREEDY]:.0%} under greedy.",
            draw=partial(draw_shares, choices=choices),
            width=7.5,
            height=3.6,
        ),
    )


STUDY: Final = WorkedExample()
