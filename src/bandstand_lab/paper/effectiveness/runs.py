"""The jobs of the study: what radios do for one listener in one world.

All radios of a run meet the same songs, the same listener and the same noise of the n-th answer.
A radio is named as in `bandstand recommend`, or is a variant of one (see `variants`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand_lab.paper.effectiveness import variants
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed
from bandstand_lab.simulation.trace import Trace
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand_lab.report.study import Json


def play(
    *, world: Mapping[str, Json], algorithms: Sequence[str], run: int, seed: int, steps: int
) -> dict[str, Json]:
    """Return the regret after each step, and the seconds of a step, for each algorithm."""
    return {
        name: as_result(trace_of(GaussianWorld(**world), name, run=run, seed=seed, steps=steps))
        for name in algorithms
    }


def trace_of(world: GaussianWorld, name: str, *, run: int, seed: int, steps: int) -> Trace:
    """Return what one radio does for one listener; as `simulation.run_one`, also for variants."""
    meeting = world.meeting(run, seed)
    radio = variants.radio(meeting, name, seed=radio_seed(seed, run))
    played = follow(radio, meeting.listener, steps=steps, seed=seed, number=run)
    return Trace.of(name, run, played)


def as_result(trace: Trace) -> dict[str, Json]:
    """Return what the chapter needs of a trace."""
    return {
        "regret": trace.regret.tolist(),
        "repeats": len(trace) - len(np.unique(trace.rows)),
        "choose_seconds": float(trace.choose_seconds.mean()),
        "learn_seconds": float(trace.learn_seconds.mean()),
    }
