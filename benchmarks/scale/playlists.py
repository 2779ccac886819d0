"""Playlists beside the steps of the same listener: songs planned one after the other.

    steps ─ playlist ─ steps ─ playlist ─ …

Each of its songs is chosen as if those before had been heard. What it takes stands beside three
things: the median step, which mostly reads hardly anything; a step that reads all songs; and the
stream. Times are processor time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand_lab.speed.timing import Spread, timed, undisturbed
from benchmarks.scale.steps import STREAM, Run

if TYPE_CHECKING:
    from benchmarks.scale.sitting import Library
    from benchmarks.scale.steps import Situation

PLAYLISTS: Final = 3  # of each listener
WARM_STEPS: Final = 12  # before them, and what they are compared with
MANY_STEPS: Final = 1_000  # LinUCB, which is not compared, runs at the first step only


@undisturbed()
def measure_playlists(situation: Situation, library: Library, length: int) -> dict[str, Any]:
    """Return what playlists of one situation took, beside its steps, a pass and the stream."""
    run = Run(situation, library)
    seconds, passes, different = [], 0, []
    for _ in range(PLAYLISTS):
        for _ in range(situation.steps // PLAYLISTS):
            run.step()
        before = run.passes
        made = timed(partial(run.sitting.playlist, length))
        seconds.append(made.seconds)
        passes += run.passes - before
        different.append(len(set(made.result)))
    return {
        "world": situation.world.name,
        "picks": situation.picks,
        "playlists": PLAYLISTS,
        "different_songs": different,
        "passes": passes,
        "seconds": Spread(runs=tuple(seconds)).as_json(),
        **_beside(run, seconds),
    }


def _beside(run: Run, seconds: list[float]) -> dict[str, Any]:
    """Return what playlists are compared with, and how many of each they took."""
    steps = run.result()
    # A step whose shortlists are of no use: the answer is learned, and all songs are read.
    whole = float(np.median([each.learn for each in steps.steps])) + steps.first_choice
    found: dict[str, Any] = {}
    for name, one in (
        ("step", steps.seconds.median),
        ("whole_step", whole),
        ("stream", steps.reference(STREAM).median),
    ):
        found[f"{name}_seconds"] = one
        found[f"in_{name}s"] = Spread(runs=tuple(each / one for each in seconds)).as_json()
    return found
