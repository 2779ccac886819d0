"""Exact Bayes-UCB against Bayes-UCB by MCMC: whether it is as good.

Two radios that agree on the posterior still part ways: draws have noise, so sooner or later the
sampling radio plays another song, gets another answer, and both go on from there. Their regrets
then differ by chance: the standard deviation of that difference was 14 % of the regret. With L
listeners the 95 % bound lies 2 · 14 % / √L above the mean: 4 % for L = 48. The exact radio meets
each listener many times, which costs next to nothing and takes its own chance out.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.report import figures
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Job, Study, is_inside, verdict_on
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.session import follow, radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld
from bandstand_lab.statistics.paired import paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Chapter, Json, Plan
    from bandstand_lab.simulation.session import Trace
    from bandstand_lab.simulation.worlds import Meeting
    from bandstand_lab.statistics.paired import PairedDifference

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "equivalence.toml")
EXACT, MCMC = "bayes-ucb-cn-x", "bayes-ucb-cn"
MARGIN: Final = 0.05  # the share of the regret that a listener would hardly notice
# Repeats are numbered so far from each other that they meet no other listener's noise.
_REPEAT_OFFSET: Final = 1_000


def size_of(plan: Plan) -> dict[str, Any]:
    """Return the size of the study; `repeats` are those of the exact radio with each listener."""
    return plan.pick(
        quick={"songs": 500, "features": 20, "steps": 20, "listeners": 4, "repeats": 8},
        full={"songs": 1_000, "features": 20, "steps": 30, "listeners": 48, "repeats": 16},
    )


def jobs(plan: Plan) -> list[Job]:
    """Return one job per listener."""
    size = size_of(plan)
    world = {"songs": size["songs"], "features": size["features"]}
    each = {"seed": plan.seed, "steps": size["steps"], "repeats": size["repeats"]}
    return [
        Job.of(regrets, f"listener-{run:02d}", world=world, run=run, **each)
        for run in range(size["listeners"])
    ]


def regrets(
    *, world: Mapping[str, Json], run: int, seed: int, steps: int, repeats: int
) -> dict[str, Json]:
    """Return the regret after each step of both radios for one listener; a job.

    The exact radio has another first song and another noise at each repeat; the first time
    those of the sampling radio.
    """
    meeting = GaussianWorld(**world).meeting(run, seed)
    exact = [
        _trace(meeting, EXACT, number=run + _REPEAT_OFFSET * repeat, seed=seed, steps=steps)
        for repeat in range(repeats)
    ]
    mcmc = _trace(meeting, MCMC, number=run, seed=seed, steps=steps)
    same = exact[0].rows == mcmc.rows
    return {
        "together": steps if same.all() else int(np.argmin(same)),
        EXACT: np.mean([trace.regret for trace in exact], axis=0).tolist(),
        MCMC: mcmc.regret.tolist(),
    }


def _trace(meeting: Meeting, name: str, *, number: int, seed: int, steps: int) -> Trace:
    """Follow a radio; first song and noise depend on the seed and the number."""
    radio = meeting.radio(name, seed=radio_seed(seed, number))
    return follow(radio, meeting.listener, steps=steps, seed=seed, number=number)


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return whether the exact radio is as good as the sampled one."""
    size = size_of(plan)
    runs = list(results.values())
    exact, mcmc = (np.array([run[name] for run in runs]) for name in (EXACT, MCMC))
    tests = {step: _difference(exact, mcmc, step) for step in range(2, size["steps"] + 1)}
    last = tests[size["steps"]]
    low, high = last.interval()
    rows = []
    for step in (size["steps"] // 4, size["steps"] // 2, size["steps"]):
        means = (float(each[:, step - 1].mean()) for each in (exact, mcmc))
        percents = (100 * value for value in (tests[step].mean, *tests[step].interval()))
        rows.append((step, *means, *percents))
    finding = TEXTS.finding(
        "regret",
        verdict_on([is_inside((low, high), -math.inf, MARGIN)]),
        **{"mean": last.mean, "low": low, "high": high, "margin": MARGIN, **size},
        spread=last.standard_error * math.sqrt(size["listeners"]),
    )
    return TEXTS.chapter(
        method=size,
        findings=(finding,),
        tables=(
            TEXTS.table("regret", rows, together=np.median([run["together"] for run in runs])),
        ),
        drawings=(
            TEXTS.drawing("difference", partial(_draw, tests), inches=(8.0, 4.2), margin=MARGIN),
        ),
    )


def _difference(exact: Matrix, mcmc: Matrix, step: int) -> PairedDifference:
    """Return exact − MCMC after `step` songs, as a share of the mean regret under MCMC."""
    unit = float(mcmc[:, step - 1].mean())
    return paired_difference(exact[:, step - 1] / unit, mcmc[:, step - 1] / unit)


def _draw(tests: Mapping[int, PairedDifference], figure: Figure) -> None:
    axes, colour, steps = figure.subplots(), look_of(EXACT).colour, list(tests)
    low, high = 100 * np.array([each.interval() for each in tests.values()]).T
    axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(steps, [100 * each.mean for each in tests.values()], color=colour, linewidth=2)
    axes.axhline(0, color=figures.MUTED, linewidth=1)
    axes.axhline(100 * MARGIN, color=figures.BAD, linewidth=1, linestyle="--")
    axes.set(xlabel="songs played, n", ylabel="exact less MCMC, % of regret", ylim=(-25, 25))
    axes.grid(axis="y")


STUDY: Final = Study(
    name="equivalence",
    title="Exact against MCMC: is it as good?",
    jobs=jobs,
    chapter=chapter,
)
