"""What is run: which worlds, which radios, how many listeners, how many songs.

The paper tells neither the scale of its features nor the noise of its listeners, so there are
four worlds: two scales with two levels of noise each. The ratings that an unheard song deserves
have a standard deviation of √p (9.5 for p = 91) at the scale "entries" and of 1 at "norm". A
fifth, quiet world has hardly any noise: there greedy and Bayes-UCB meet alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand_lab.paper.effectiveness.variants import BASE, VARIANTS
from bandstand_lab.report.study import Job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand_lab.report.study import Json, Plan

_PLAY: Final = "bandstand_lab.paper.effectiveness.runs:play"
EXACT: Final = "bayes-ucb-cn-x"
VARIATIONAL: Final = BASE
GREEDY: Final = "greedy-cn"
# Those that take about as long as each other make one job; the variational one takes longer.
QUICK_ONES: Final = (
    "random",
    "linucb-c",
    "linucb-cn",
    GREEDY,
    "greedy-cn-map",
    "thompson-cn-x",
    EXACT,
)
ALGORITHMS: Final = (*QUICK_ONES, VARIATIONAL)
# Followed for longer, in the first world, to see how fast regret grows in the end.
LONG_ONES: Final = ("random", GREEDY, EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One world, by its name in keys and its name in words."""

    scale: str
    noise: float

    @property
    def key(self) -> str:
        """The name in keys of jobs."""
        return f"{self.scale}-{self.noise:g}"

    @property
    def label(self) -> str:
        """The name in words."""
        scale = "entries N(0, 1)" if self.scale == "entries" else "norm 1"
        return f"{scale}, σ = {self.noise:g}"


PLACES: Final = tuple(
    Place(scale=scale, noise=noise) for scale in ("entries", "norm") for noise in (1.0, 2.0)
)
LONG_PLACE: Final = PLACES[0]
QUIET_PLACE: Final = Place(scale="entries", noise=0.5)
QUIET_ONES: Final = (GREEDY, EXACT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The size of the study."""

    songs: int
    features: int
    steps: int  # of every radio
    long_steps: int  # of some, in the first world
    listeners: int
    variant_steps: int
    variant_listeners: int

    @classmethod
    def of(cls, plan: Plan) -> Design:
        """Return the size that belongs to the plan; the full one is the paper's, with more runs."""
        return plan.pick(
            quick=cls(
                songs=1_000,
                features=20,
                steps=100,
                long_steps=200,
                listeners=5,
                variant_steps=25,
                variant_listeners=3,
            ),
            full=cls(
                songs=10_000,
                features=91,
                steps=200,
                long_steps=500,
                listeners=20,
                variant_steps=50,
                variant_listeners=6,
            ),
        )

    @property
    def looks(self) -> tuple[int, int]:
        """After how many songs the orders are tested."""
        return self.steps // 2, self.steps

    def world(self, place: Place) -> dict[str, Json]:
        """Return the arguments of a GaussianWorld."""
        return {
            "songs": self.songs,
            "features": self.features,
            "scale": place.scale,
            "noise_standard_deviation": place.noise,
        }


def jobs(plan: Plan) -> Iterator[Job]:
    """Yield all jobs: listener by listener, so that a part of them already says something."""
    design = Design.of(plan)
    for run in range(design.listeners):
        for place in PLACES:
            yield from _main_jobs(design, place, run, plan.seed)
        yield _quiet_job(design, run, plan.seed)
        if run < design.variant_listeners:
            for place in PLACES:
                yield from _variant_jobs(design, place, run, plan.seed)


def _main_jobs(design: Design, place: Place, run: int, seed: int) -> Iterator[Job]:
    here = {"world": design.world(place), "run": run, "seed": seed}
    quick = [name for name in QUICK_ONES if place != LONG_PLACE or name not in LONG_ONES]
    yield _job(f"{place.key}-{run:02d}-main", **here, algorithms=quick, steps=design.steps)
    yield _job(
        f"{place.key}-{run:02d}-variational", **here, algorithms=[VARIATIONAL], steps=design.steps
    )
    if place == LONG_PLACE:
        long = list(LONG_ONES)
        yield _job(f"{place.key}-{run:02d}-long", **here, algorithms=long, steps=design.long_steps)


def _quiet_job(design: Design, run: int, seed: int) -> Job:
    return _job(
        f"{QUIET_PLACE.key}-{run:02d}-quiet",
        world=design.world(QUIET_PLACE),
        algorithms=list(QUIET_ONES),
        run=run,
        seed=seed,
        steps=design.steps,
    )


def _variant_jobs(design: Design, place: Place, run: int, seed: int) -> Iterator[Job]:
    for name in VARIANTS:
        yield _job(
            f"{place.key}-{run:02d}-{name.partition('/')[2]}",
            world=design.world(place),
            algorithms=[name],
            run=run,
            seed=seed,
            steps=design.variant_steps,
        )


def _job(key: str, **arguments: Json) -> Job:
    return Job(key=key, function=_PLAY, arguments=arguments)
