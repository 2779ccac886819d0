"""One online step at the size of a real catalogue: learn an answer, choose the next song.

The exact engine with the exact quantile takes turns with LinUCB in plain NumPy, step by step:
both learn the same answer and both choose among all songs, and each step gives one ratio.

Two kinds of listening are measured, after different numbers of ratings:

`own`     the songs that the exact engine itself chose: a real bandit run on the paper's clock
`random`  songs drawn from a pool of six for every ten ratings, at random times, so that many
          are heard again and again after anything from minutes to days
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.simulation.clock import Clock
from bandstand_lab.speed.step_session import Session, Window
from bandstand_lab.speed.step_times import REFERENCE, WholeRun
from bandstand_lab.speed.timing import Spread, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bandstand_lab.speed.step_contenders import Contender
    from bandstand_lab.speed.step_times import StepTimes
    from bandstand_lab.speed.world import World

# Of the random listener: songs per rating, and mean minutes between two ratings.
_POOL: Final = 0.6
_MINUTES_APART: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """What to measure: `steps` steps after each number of ratings, `checks` of them checked."""

    world: World
    songs: int
    columns: int
    seed: int
    ratings: tuple[int, ...]
    steps: int
    checks: int

    def session(self, number: int) -> Session:
        """Return a new listener with a catalogue."""
        return Session(self.world, songs=self.songs, columns=self.columns, seed=self.seed + number)

    def is_checked(self, step: int) -> bool:
        """Return whether the choice of the step of that number, from 0, is checked."""
        return self.checks > 0 and step % max(self.steps // self.checks, 1) == 0


@undisturbed()
def measure_own(plan: StepPlan, on_run: Callable[[str], None]) -> tuple[list[StepTimes], WholeRun]:
    """Return the steps of a bandit run at each number of ratings, and a look at the whole run."""
    session, clock, whole, found = plan.session(0), Clock(), Window(), []
    choice, step = session.exact.choose(session.now(0.0)), 0

    def play(window: Window, rivals: Mapping[str, Contender], *, check: bool = False) -> None:
        nonlocal choice, step
        step += 1
        heard = session.hear(choice, clock.moment(step) / 60)
        now = session.now(clock.moment(step + 1) / 60)
        choice = window.step(session, rivals, heard, now)
        if check:
            window.check(session, choice, now)

    for ratings in sorted(plan.ratings):
        on_run(f"bandit run to {ratings} ratings")
        while step < ratings:
            play(whole, {})
        rivals, window = session.rivals(), Window()
        for number in range(plan.steps):
            play(window, rivals, check=plan.is_checked(number))
        whole.add(window)
        found.append(window.result(session, "own", ratings))
    return found, _whole_run(plan, whole, found)


def measure_random(plan: StepPlan, on_run: Callable[[str], None]) -> list[StepTimes]:
    """Return steps after each number of ratings of songs that chance picked."""
    found = []
    for ratings in plan.ratings:
        on_run(f"random listening, {ratings} ratings")
        found.append(_random_steps(plan, ratings))
    return found


@undisturbed()
def _random_steps(plan: StepPlan, ratings: int) -> StepTimes:
    session, window = plan.session(ratings), Window()
    rng = np.random.default_rng([plan.seed, ratings])
    pool_size = min(plan.songs, max(1, round(_POOL * ratings)))
    rows = rng.choice(rng.choice(plan.songs, pool_size, replace=False), ratings + plan.steps)
    minutes = np.cumsum(rng.exponential(_MINUTES_APART, ratings + plan.steps + 1))
    for row, minute in zip(rows[:ratings], minutes[:ratings], strict=True):
        session.hear(int(row), float(minute))
    session.catch_up()
    # The engine has chosen before in real life; what it remembers is not part of a step.
    session.exact.choose(session.now(float(minutes[ratings])))
    rivals = session.rivals()
    for number, at in enumerate(range(ratings, ratings + plan.steps)):
        heard = session.hear(int(rows[at]), float(minutes[at]))
        now = session.now(float(minutes[at + 1]))
        choice = window.step(session, rivals, heard, now)
        if plan.is_checked(number):
            window.check(session, choice, now)
    return window.result(session, "random", ratings)


def _whole_run(plan: StepPlan, whole: Window, found: list[StepTimes]) -> WholeRun:
    seconds = [sum(phases) for phases in whole.phases["exact"]]
    reference = [time for one in found for time in one.seconds(REFERENCE).runs]
    return WholeRun(
        world=plan.world.name,
        grid=whole.grid_moves(),
        seconds=Spread(runs=tuple(seconds)),
        mean_ratio=float(np.mean(seconds) / np.mean(reference)),
    )
