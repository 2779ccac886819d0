"""`bandstand bench`: the efficiency study of the paper and one online step, measured in one run.

Nothing here is a time that means something by itself: times are told as ratios to references
that ran beside them (see `timing`). The module is a program of its own, because the number
of threads has to be set before NumPy is loaded:

    python -m bandstand_lab.speed.bench '{"quick": true, "json": "-"}'

`bandstand bench` starts it so.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand_lab.paper.efficiency import efficiency_findings
from bandstand_lab.speed.asked import asked_figures
from bandstand_lab.speed.evidence import geometric_mean, growth
from bandstand_lab.speed.import_time import ImportTime, measure_import, unwanted_among
from bandstand_lab.speed.machine import machine
from bandstand_lab.speed.online_step import StepPlan, measure_own, measure_random
from bandstand_lab.speed.training import (
    LARGE,
    METHODS,
    REFERENCE_STEPS,
    TrainingStudy,
    asked_size,
    measure_training,
)
from bandstand_lab.speed.world import PAPER, STARS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand_lab.speed.step_times import StepTimes, WholeRun

# Of the second world only what figures were promised of is measured, and only at that size.
_ASKED_METHODS: Final = ("metropolis", "variational-2", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What to measure: the whole study by default, `quick_request` makes a small one."""

    sizes: tuple[int, ...] = (100, 200, 400, 700, 1_000, 2_000, 3_000)
    repeats: int = 5
    features: int = 91
    songs: int = 10_000
    seed: int = 1
    step_ratings: tuple[int, ...] = (50, 200, 500, 1_000)
    step_ratings_stars: tuple[int, ...] = (50, 200, 500)
    steps: int = 60
    checks: int = 3
    imports: int = 10
    sampler_steps: int = REFERENCE_STEPS

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        for name, least in (("repeats", 1), ("features", 2), ("songs", 50), ("seed", 0)):
            if getattr(self, name) < least:
                msg = f"{name} must be at least {least}, got {getattr(self, name)}"
                raise InvalidInputError(msg)
        if not self.sizes or min(self.sizes) < 5 or len(set(self.sizes)) < len(self.sizes):
            shown = ", ".join(map(str, self.sizes)) or "none"
            msg = f"sizes must be different numbers of ratings, each at least 5, got {shown}"
            raise InvalidInputError(msg)


def quick_request(**changes: Any) -> BenchRequest:
    """Return a request that takes less than a minute; `changes` replace its settings."""
    small: dict[str, Any] = {
        "sizes": (100, 400, 1_000),
        "repeats": 3,
        "step_ratings": (50, 500),
        "step_ratings_stars": (100,),
        "steps": 24,
        "checks": 1,
        "sampler_steps": 1_000,
    }
    return BenchRequest(**{**small, **changes})


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """Everything that was measured in one run."""

    request: BenchRequest
    training: TrainingStudy
    training_stars: TrainingStudy
    steps: tuple[StepTimes, ...]
    runs: tuple[WholeRun, ...]
    imports: ImportTime
    unwanted_modules: tuple[str, ...]  # after every engine had run
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the whole result, ready to be written."""
        return {
            "request": asdict(self.request),
            "machine": machine(),
            "seconds": self.seconds,
            "asked": [figure.as_json() for figure in asked_figures(self)],
            "training": [
                time.as_json() for time in (*self.training.times, *self.training_stars.times)
            ],
            "claims": [asdict(finding) for finding in efficiency_findings(self.training)],
            "growth": {method: _growth(self.training, method) for method in self.training.methods},
            "training_ratios": _training_ratios(self.training),
            "online_step": [step.as_json() for step in self.steps],
            "whole_runs": [run.as_json() for run in self.runs],
            "import": {
                **self.imports.as_json(),
                "unwanted_modules_after_all_engines": list(self.unwanted_modules),
            },
        }


def measure(request: BenchRequest, on_run: Callable[[str], None]) -> BenchResult:
    """Return the result of the whole benchmark; `on_run` hears of every part as it begins."""
    begin = time.perf_counter()
    train = partial(
        measure_training,
        rounds=request.repeats,
        columns=request.features,
        seed=request.seed,
        sampler_steps=request.sampler_steps,
        on_run=on_run,
    )
    steps, runs = _measure_steps(request, on_run)
    training = train(PAPER, sizes=request.sizes)
    stars = train(STARS, sizes=(asked_size(request.sizes),), methods=_ASKED_METHODS)
    imports = measure_import(request.imports, lambda: on_run("import bandstand"))
    return BenchResult(
        request=request,
        training=training,
        training_stars=stars,
        steps=steps,
        runs=runs,
        imports=imports,
        unwanted_modules=unwanted_among(list(sys.modules)),
        seconds=time.perf_counter() - begin,
    )


def count_of_runs(request: BenchRequest) -> int:
    """Return how many times `measure` will report to `on_run`."""
    training = request.repeats * (len(request.sizes) * len(METHODS) + len(_ASKED_METHODS))
    steps = 2 * (len(request.step_ratings) + len(request.step_ratings_stars))
    return training + steps + request.imports


def _measure_steps(
    request: BenchRequest, on_run: Callable[[str], None]
) -> tuple[tuple[StepTimes, ...], tuple[WholeRun, ...]]:
    steps: list[StepTimes] = []
    runs = []
    for world, ratings in ((PAPER, request.step_ratings), (STARS, request.step_ratings_stars)):
        plan = StepPlan(
            world=world,
            songs=request.songs,
            columns=request.features,
            seed=request.seed,
            ratings=ratings,
            steps=request.steps,
            checks=request.checks,
        )
        own, run = measure_own(plan, on_run)
        steps += [*own, *measure_random(plan, on_run)]
        runs.append(run)
    return tuple(steps), tuple(runs)


def _growth(study: TrainingStudy, method: str) -> dict[str, Any]:
    """Return exponents of N from the medians, and their means over the rounds with intervals."""
    found: dict[str, Any] = {}
    for name, fewest in (("exponent", 0), (f"exponent_from_{LARGE}_ratings", LARGE)):
        estimate = growth(study, method, fewest)
        found[name] = study.growth(method, fewest)
        found[f"{name}_by_round"] = None if estimate is None else estimate.as_json()
    return found


def _training_ratios(study: TrainingStudy) -> list[dict[str, Any]]:
    """Return the comparisons of the paper and ours, at each size."""
    pairs = (
        ("metropolis", "variational-2"),
        ("metropolis", "exact"),
        ("mcmc", "variational-2"),
        ("mcmc", "exact"),
        ("variational-2", "exact"),
        ("variational-3", "variational-2"),
        ("least-squares", "variational-2"),
        ("least-squares-map", "variational-2"),
        ("least-squares-differences", "variational-2"),
        ("variational-2", "ridge"),
    )
    return [
        {
            "above": above,
            "below": below,
            "ratings": size,
            "ratio": study.ratio(above, below, size).as_json(),
            "geometric_mean": geometric_mean(study.ratio(above, below, size)).as_json(),
        }
        for above, below in pairs
        for size in study.sizes
    ]


def main(order: str) -> None:
    """Measure what `order`, a JSON object, asks for, and write the results where it says."""
    # Imported here: whoever only measures needs neither a screen nor figures.
    from bandstand_lab.speed.table import print_tables, progress  # noqa: PLC0415

    wishes = json.loads(order)
    json_file, plot_file = wishes.pop("json", None), wishes.pop("plot", None)
    make = quick_request if wishes.pop("quick", False) else BenchRequest
    request = make(**{name: _tupled(value) for name, value in wishes.items()})
    with progress(count_of_runs(request)) as on_run:
        result = measure(request, on_run)
    text = json.dumps(result.as_json(), indent=1, allow_nan=False)
    if json_file == "-":
        sys.stdout.write(text + "\n")
    else:
        print_tables(result)
        if json_file:
            Path(json_file).write_text(text + "\n", encoding="utf-8")
    if plot_file:
        from bandstand_lab.speed.plot import plot  # noqa: PLC0415

        plot(result, Path(plot_file))


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except KeyboardInterrupt:
        sys.exit(130)
