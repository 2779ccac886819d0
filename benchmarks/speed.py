"""`bandstand bench`: training times, one online step beside LinUCB, and the import.

    python -m benchmarks.speed '{"quick": true, "json": "-"}'

Everything that is compared takes turns in one process, on one thread (see `timing`).
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bandstand.errors import InvalidInputError
from bandstand_lab.speed.timing import Spread, in_turn
from bandstand_lab.speed.training import (
    LARGE,
    PAPER,
    REFERENCE_STEPS,
    STARS,
    asked_size,
    measure_training,
)
from benchmarks.program import measure_parts, require_at_least, run_as_program
from benchmarks.steps import DOUBLE, StepPlan, measure_steps, wrong_choices

if TYPE_CHECKING:
    from bandstand_lab.speed.training import TrainingStudy
    from benchmarks.program import OnRun

# Figures of the second world were promised of these methods only, at one size.
_TARGET_METHODS: Final = ("metropolis", "variational", "exact")
_PROGRAMS: Final = {"bare": "pass", "bandstand": "import bandstand"}
# Frameworks that a recommendation must not load.
_FRAMEWORKS: Final = frozenset({"jax", "jaxlib", "numpyro", "tensorflow", "torch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedRequest:
    """What to measure: the whole study by default, `request_of` makes a small one."""

    sizes: tuple[int, ...] = (100, 200, 400, 700, 1_000, 2_000, 3_000)
    repeats: int = 5
    features: int = 91
    songs: int = 10_000
    seed: int = 1
    step_ratings: tuple[int, ...] = (50, 200, 500, 1_000)
    steps: int = 60
    imports: int = 10
    sampler_steps: int = REFERENCE_STEPS

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        least = {"repeats": 1, "features": 2, "songs": 50, "seed": 0, "steps": 4, "imports": 1}
        require_at_least(asdict(self), least)
        if not self.sizes or min(self.sizes) < 5 or len(set(self.sizes)) < len(self.sizes):
            shown = ", ".join(map(str, self.sizes)) or "none"
            msg = f"sizes must be different numbers of ratings, each at least 5, got {shown}"
            raise InvalidInputError(msg)


def request_of(*, quick: bool = False, **changes: Any) -> SpeedRequest:
    """Return a request; a `quick` one takes less than a minute."""
    small = SpeedRequest(
        sizes=(100, 400, 1_000),
        repeats=3,
        step_ratings=(50, 500),
        steps=24,
        imports=3,
        sampler_steps=1_000,
    )
    return replace(small if quick else SpeedRequest(), **changes)


def online(request: SpeedRequest, on_run: OnRun) -> dict[str, Any]:
    """Return steps of all kinds of listening beside LinUCB."""
    plan = StepPlan(
        songs=request.songs,
        features=request.features,
        seed=request.seed,
        ratings=request.step_ratings,
        steps=request.steps,
        linucb=DOUBLE,
        linucb_every=1,
    )
    rows = measure_steps(plan, on_run)
    figures = {
        "median step": max(row["per_linucb"] for row in rows),
        "choices unlike brute force": wrong_choices(rows),
    }
    return {"rows": rows, "figures": figures}


def training(request: SpeedRequest, on_run: OnRun) -> dict[str, Any]:
    """Return the time in which each method learns from N ratings."""
    train = partial(
        measure_training,
        rounds=request.repeats,
        columns=request.features,
        seed=request.seed,
        sampler_steps=request.sampler_steps,
        on_run=on_run,
    )
    paper = train(PAPER, sizes=request.sizes)
    stars = train(STARS, sizes=(asked_size(request.sizes),), methods=_TARGET_METHODS)
    return {
        "rows": [_training_row(paper, method) for method in paper.methods],
        "figures": {**_training_figures(paper, "paper"), **_training_figures(stars, "stars")},
        "times": [*paper.as_json(), *stars.as_json()],
    }


def _training_row(study: TrainingStudy, method: str) -> dict[str, Any]:
    """Return the medians of a method in milliseconds, and the exponent of its growth."""
    return {
        "method": method + (" (scaled)" if study.is_scaled(method) else ""),
        **{f"ms_at_{size}": 1_000 * study.seconds(method, size).median for size in study.sizes},
        "exponent": _exponent(study, method, 0),
        f"exponent_from_{LARGE}": _exponent(study, method, LARGE),
    }


def _exponent(study: TrainingStudy, method: str, fewest: int) -> float | None:
    exponent = study.exponent(method, fewest)
    return None if exponent is None else exponent.value


def _training_figures(study: TrainingStudy, world: str) -> dict[str, float]:
    size = asked_size(study.sizes)
    return {
        f"sampler / exact, {world}": study.ratio("metropolis", "exact", size).median,
        f"variational / exact, {world}": study.ratio("variational", "exact", size).median,
        f"variational, {world}": study.seconds("variational", size).median,
        f"sampler / variational, {world}": study.ratio("metropolis", "variational", size).median,
    }


def import_time(turns: int, on_run: OnRun) -> dict[str, Any]:
    """Return the seconds that `import bandstand` adds to a bare interpreter, on the wall."""
    on_run("import bandstand")
    extra = []
    for turn in range(turns):
        times = {name: _seconds(_PROGRAMS[name]) for name in in_turn(list(_PROGRAMS), turn)}
        extra.append(times["bandstand"] - times["bare"])
    loaded = _output("import sys, bandstand; print(*sys.modules)").split()
    frameworks = frameworks_among([*loaded, *sys.modules])
    spread = Spread(runs=tuple(extra))
    return {
        "rows": [{"median_s": spread.median, "frameworks": ", ".join(frameworks) or "none"}],
        "figures": {"import bandstand": spread.median, "frameworks loaded": len(frameworks)},
        "seconds": spread.as_json(),
    }


def frameworks_among(modules: list[str]) -> list[str]:
    """Return the frameworks among loaded modules.

    >>> frameworks_among(["numpy", "torch.nn", "torch"])
    ['torch']
    """
    return sorted(_FRAMEWORKS & {name.split(".")[0] for name in modules})


def _seconds(program: str) -> float:
    """Return the time on the wall clock: reading files is part of an import."""
    start = time.perf_counter()
    _output(program)
    return time.perf_counter() - start


def _output(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8"
    ).stdout


def measure(request: SpeedRequest) -> dict[str, Any]:
    """Return the whole benchmark, ready for JSON."""
    parts = {
        "online": partial(online, request),
        "training": partial(training, request),
        # Last: by then every engine has run, and would have loaded its frameworks.
        "import": partial(import_time, request.imports),
    }
    return measure_parts(parts, asdict(request))


if __name__ == "__main__":
    run_as_program(lambda **order: measure(request_of(**order)))
