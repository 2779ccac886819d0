"""Jobs: the paper's measure of uncertainty along what one algorithm plays for one listener.

    uncertainty(n) = 1/S Σ_k SD[p(U_k | D_n)]        (Section 5.3.1)

The posterior is always that of the exact model, whoever chose the songs, and U_k is that of the
moment: a song just heard has little novelty and so little uncertainty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand_lab.simulation.clock import PAPER_CLOCK
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.streams import radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from bandstand_lab.simulation.clock import Clock
    from bandstand_lab.simulation.trace import Trace
    from bandstand_lab.simulation.worlds import Meeting

EXACT: Final = "bayes-ucb-cn-x"


def uncertainties(
    algorithm: str, run: int, seed: int, songs: int, features: int, moments: list[int]
) -> list[float]:
    """Return the uncertainty after each of so many ratings, in units of a rating."""
    world = GaussianWorld(songs=songs, features=features, scale="entries")
    trace = run_one(world, algorithm, run=run, seed=seed, steps=max(moments), clock=PAPER_CLOCK)
    meeting = world.meeting(run, seed)
    return along(meeting, trace, moments, clock=PAPER_CLOCK, seed=radio_seed(seed, run))


def along(
    meeting: Meeting, trace: Trace, moments: list[int], *, clock: Clock, seed: int
) -> list[float]:
    """Return the uncertainty of the exact model that has been told what the trace tells."""
    radio = meeting.radio(EXACT, seed=seed)
    found: dict[int, float] = {}
    for step, (row, rating) in enumerate(zip(trace.rows, trace.ratings, strict=True), start=1):
        radio.update(radio.ids[int(row)], rating=float(rating), time=clock.moment(step))
        if step in moments:
            spread: Any = radio.predict(at=clock.moment(step + 1)).standard_deviation()
            found[step] = float(spread.mean())
    return [found[moment] for moment in moments]
