"""Jobs of the playlist study: one for each algorithm and listener, and one for each history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.paper.repetition.settings import KNOWN, PAPER, SAMPLED, WEEKS
from bandstand_lab.report.study import Job

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.paper.repetition.settings import Setting
    from bandstand_lab.report.study import Json, Plan

_HERE: Final = "bandstand_lab.paper.repetition"
PIECE: Final = 100  # plays of one job of the sampling algorithm
# Minutes: two hours to seventy days.
RECOVERY_TIMES: Final = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
# What is left out of the quick size: variants of what is in it.
_FULL_ONLY: Final = ("optimistic-cn-x", "epsilon-greedy-cn-x", "greedy-cn-x")


def all_jobs(plan: Plan) -> list[Job]:
    """Return everything that has to be computed."""
    return [
        *_setting_jobs(plan, WEEKS),
        *_sampling_jobs(plan),
        *_setting_jobs(plan, PAPER),
        _recovery_job(plan),
        *_people_jobs(plan),
    ]


def listeners(plan: Plan, setting: Setting) -> int:
    """Return how many simulated listeners each algorithm meets."""
    return plan.pick(quick=2, full=5 if setting is WEEKS else 6)


def plays(plan: Plan, setting: Setting) -> int:
    """Return how many songs each algorithm plays for each listener."""
    return plan.pick(quick=setting.quick_plays, full=setting.plays)


def algorithms(plan: Plan, setting: Setting) -> list[str]:
    """Return the algorithms that meet all listeners, and at the end whoever knows the taste."""
    left_out: tuple[str, ...] = plan.pick(quick=_FULL_ONLY, full=())
    return [*(name for name in setting.algorithms if name not in left_out), KNOWN]


def rows_of(results: Mapping[str, Json], setting: Setting, algorithm: str, run: int) -> list[int]:
    """Return the songs that were played for one listener, in order; pieces are put together."""
    pieces = [key for key in results if key.startswith(_key(setting, algorithm, run))]
    return [row for key in sorted(pieces) for row in results[key]["rows"]]


def _key(setting: Setting, algorithm: str, run: int) -> str:
    return f"{setting.name}-{run:02}-{algorithm.replace(' ', '-')}."


def _setting_jobs(plan: Plan, setting: Setting) -> list[Job]:
    return [
        _job(plan, setting, algorithm, run)
        for run in range(listeners(plan, setting))
        for algorithm in algorithms(plan, setting)
    ]


def _job(plan: Plan, setting: Setting, algorithm: str, run: int) -> Job:
    rest = {"setting": setting.name, "run": run, "seed": plan.seed, "plays": plays(plan, setting)}
    key = f"{_key(setting, algorithm, run)}all"
    if algorithm == KNOWN:
        return Job(key=key, function=f"{_HERE}.plays:played_by_knowing", arguments=rest)
    arguments = {"algorithm": algorithm, **rest}
    return Job(key=key, function=f"{_HERE}.plays:played", arguments=arguments)


def _sampling_jobs(plan: Plan) -> list[Job]:
    """Return the pieces of the sampling algorithm's run, for one listener and in full size only."""
    pieces = range(0, plays(plan, WEEKS), PIECE) if plan.size == "full" else ()
    same: dict[str, Any] = {"setting": WEEKS.name, "run": 0, "seed": plan.seed}
    return [
        Job(
            key=f"{_key(WEEKS, SAMPLED, 0)}{first:05}",
            function=f"{_HERE}.plays:played_by_sampling",
            arguments={**same, "first": first, "plays": min(PIECE, plays(plan, WEEKS) - first)},
        )
        for first in pieces
    ]


def _recovery_job(plan: Plan) -> Job:
    return Job(
        key="recovery-times",
        function=f"{_HERE}.plays:played_by_recovery_time",
        arguments={
            "setting": WEEKS.name,
            "recovery_times": list(RECOVERY_TIMES),
            "seed": plan.seed,
            "plays": plays(plan, WEEKS),
        },
    )


def _people_jobs(plan: Plan) -> list[Job]:
    files = [str(file) for file in plan.histories]
    arguments = {"files": files, "plays": plays(plan, WEEKS), "library": WEEKS.songs}
    job = Job(key="people", function=f"{_HERE}.people:people", arguments=arguments)
    return [job] if files else []
