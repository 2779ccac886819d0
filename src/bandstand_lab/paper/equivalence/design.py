"""What is run, and why so many listeners.

Two radios that agree on the posterior still part ways: draws have noise, so sooner or later the
sampling radio plays another song, is told something else, and both go on from there. Their
regrets then differ by chance. In pilots (draws from the exact posterior in place of MCMC, 20 or 91
features, either scale) the standard deviation of that difference was 7 to 15 % of the regret
after 30 to 60 songs. A part of it is the chance of the exact radio, and goes away when
that meets each listener many times, which costs next to nothing: about 10 % were left in pilots,
14 % in the first full run. With L listeners the 95 % bound lies 2 · 14 % / √L above the mean: 4 %
for L = 48. More would be surer, but sampling takes its time: a quarter of an hour for 48. So
there are many listeners, and 30 songs for each: half as many again as there are features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.study import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_lab.report.study import Json, Plan

EXACT: Final = "bayes-ucb-cn-x"
MCMC: Final = "bayes-ucb-cn"
# What a listener would hardly notice: this share of the regret.
MARGIN: Final = 0.05
# How much faster per step counts as a difference in kind.
FASTER: Final = 20.0
_RUNS: Final = "bandstand_lab.paper.equivalence.runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The size of the study."""

    songs: int
    features: int
    steps: int
    listeners: int
    repeats: int  # of the exact radio with each listener
    timed_songs: int
    timed_features: int
    timed_ratings: tuple[int, ...]  # how many ratings have been learnt when a step is timed

    @classmethod
    def of(cls, plan: Plan) -> Design:
        """Return the size that belongs to the plan."""
        return plan.pick(
            quick=cls(
                songs=500,
                features=20,
                steps=20,
                listeners=4,
                repeats=8,
                timed_songs=1_000,
                timed_features=20,
                timed_ratings=(10, 40),
            ),
            full=cls(
                songs=1_000,
                features=20,
                steps=30,
                listeners=48,
                repeats=16,
                timed_songs=10_000,
                timed_features=91,
                timed_ratings=(20, 100, 200),
            ),
        )

    @property
    def world(self) -> dict[str, Json]:
        """The arguments of the GaussianWorld in which regret is compared."""
        return {"songs": self.songs, "features": self.features, "scale": "entries"}

    @property
    def timed_world(self) -> dict[str, Json]:
        """The arguments of the GaussianWorld in which steps are timed."""
        return {"songs": self.timed_songs, "features": self.timed_features, "scale": "entries"}


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield one job per listener, then those that take the time."""
    design = Design.of(plan)
    for run in range(design.listeners):
        yield Job(
            key=regret_key(run),
            function=f"{_RUNS}:regrets",
            arguments={
                "world": design.world,
                "run": run,
                "seed": plan.seed,
                "steps": design.steps,
                "repeats": design.repeats,
            },
        )
    for ratings in design.timed_ratings:
        yield Job(
            key=time_key(ratings),
            function=f"{_RUNS}:step_times",
            arguments={"world": design.timed_world, "seed": plan.seed, "ratings": ratings},
            alone=True,
        )


def regret_key(run: int) -> str:
    """Return the key of the job of one listener."""
    return f"listener-{run:02d}"


def time_key(ratings: int) -> str:
    """Return the key of the job that times steps after so many ratings."""
    return f"time-{ratings:04d}"
