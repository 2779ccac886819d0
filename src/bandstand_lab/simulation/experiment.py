"""Experiments: several algorithms, each followed for the same listeners.

The seed fixes everything. What is drawn depends on the seed, the run and the step, never on the
algorithm or on the order of work (common random numbers): in one run all algorithms have the same
songs, the same listener and the same noise of the n-th answer. Their regrets can therefore be
compared run by run, and are the same to the last bit for any number of processes or machines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandstand.core.registry import algorithm_named
from bandstand.errors import InvalidInputError
from bandstand.types import Matrix
from bandstand_lab.report.tasks import run_tasks
from bandstand_lab.simulation.session import PAPER_CLOCK, Clock, Trace, follow, radio_seed
from bandstand_lab.simulation.worlds import World


def run_one(
    world: World,
    algorithm: str,
    *,
    run: int,
    seed: int,
    steps: int,
    clock: Clock = PAPER_CLOCK,
) -> Trace:
    """Return what `algorithm` does in run number `run`, counted from 0.

    >>> from bandstand_lab.simulation.worlds import GaussianWorld
    >>> world = GaussianWorld(songs=20, features=3)
    >>> trace = run_one(world, "random", run=0, seed=1, steps=5)
    >>> len(trace), bool(trace.regret[-1] > 0)
    (5, True)
    """
    meeting = world.meeting(run, seed)
    radio = meeting.radio(algorithm, seed=radio_seed(seed, run))
    return follow(radio, meeting.listener, steps=steps, clock=clock, seed=seed, number=run)


def _run_task(task: Mapping[str, Any]) -> Trace:
    return run_one(**task)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Which algorithms play for how many listeners, and for how long."""

    world: World
    algorithms: tuple[str, ...]
    runs: int
    steps: int
    seed: int = 0
    clock: Clock = PAPER_CLOCK

    def __post_init__(self) -> None:
        """Refuse an experiment without runs, steps or algorithms."""
        check_algorithms(self.algorithms)
        for name, least in (("runs", 1), ("steps", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                msg = f"{name} must be a whole number of at least {least}, got {value!r}"
                raise InvalidInputError(msg)

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The arguments of all runs of all algorithms; those of one run are next to each other."""
        common = {"world": self.world, "seed": self.seed, "steps": self.steps, "clock": self.clock}
        return [
            {"algorithm": algorithm, "run": run, **common}
            for run in range(self.runs)
            for algorithm in self.algorithms
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExperimentResult:
    """What came of an experiment: the traces of each algorithm, in the order of the runs."""

    traces: Mapping[str, tuple[Trace, ...]]

    def regret(self, algorithm: str) -> Matrix:
        """Return the regret after each step of each run: (runs, steps)."""
        table: Matrix = np.stack([trace.regret for trace in self.traces[algorithm]])
        return table


def run_experiment(
    experiment: Experiment,
    *,
    workers: int | None = 1,
    on_done: Callable[[int, int], None] | None = None,
) -> ExperimentResult:
    """Return what comes of an experiment, the same for any `workers`.

    `workers` is the number of processes, None for one on each processor. `on_done` hears how
    many of all tasks are done, whenever one is.
    """
    tasks = experiment.tasks
    traces: dict[int, Trace] = {}
    for place, trace in run_tasks(_run_task, tasks, workers=workers):
        traces[place] = trace
        if on_done is not None:
            on_done(len(traces), len(tasks))
    by_name: dict[str, list[Trace]] = {name: [] for name in experiment.algorithms}
    for place, task in enumerate(tasks):
        by_name[task["algorithm"]].append(traces[place])
    return ExperimentResult(traces={name: tuple(found) for name, found in by_name.items()})


def check_algorithms(names: tuple[str, ...]) -> None:
    """Refuse names that are unknown, or there twice, or none at all."""
    if not names:
        msg = "an experiment must have at least one algorithm, got none"
        raise InvalidInputError(msg)
    for name in names:
        algorithm_named(name)
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        msg = f"algorithms must differ, got {twice!r} twice"
        raise InvalidInputError(msg)
