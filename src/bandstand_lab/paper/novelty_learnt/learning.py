"""One simulated listener, and the novelty curve that Bayes-UCB-CN-V learns from the ratings.

code                   maths    meaning
`mean`                 E[β't]   the learnt curve, in units of its own value for an unheard song
`standard_deviation`            its one-sd band under q(β), in the same units
`truth`                Un       1 − exp(−t/s) of the listener, in units of its value after a month

Only the product θ'x·β't is known, so the learnt curve is scaled to 1 at a month, where
unheard songs stand. The truth is not used for that. The band is that of β't alone, as in
the paper: what is not known of the scale is not in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.domain import Songs
from bandstand.inference.factor_equations import triangular_inverse
from bandstand.model.novelty import novelty
from bandstand.types import MONTH
from bandstand_lab.simulation.clock import EVERYDAY, PAPER_CLOCK
from bandstand_lab.simulation.session import follow
from bandstand_lab.simulation.streams import radio_seed
from bandstand_lab.simulation.worlds import GaussianWorld

if TYPE_CHECKING:
    from bandstand.inference.variational import VariationalBelief
    from bandstand.types import Vector
    from bandstand_lab.report.study import Json
    from bandstand_lab.simulation.clock import Clock

ALGORITHM: Final = "bayes-ucb-cn-v"
LONGEST_SHOWN: Final = 2.0**11
_PLACES: Final = 85  # six in each doubling of the time
SITTING, WEEK = "sitting", "week"
CLOCKS: Final[dict[str, Clock]] = {SITTING: PAPER_CLOCK, WEEK: EVERYDAY}


def places() -> Vector:
    """Return the minutes at which curves are compared, from the first knot to the last."""
    return np.geomspace(2.0**-3, LONGEST_SHOWN, _PLACES)


def learn(*, listening: str, run: int, steps: int, songs: int, features: int, seed: int) -> Json:
    """Return the curve that is learnt from one listener's ratings, and the truth."""
    world = GaussianWorld(songs=songs, features=features)
    meeting = world.meeting(run, seed)
    radio = meeting.radio(ALGORITHM, seed=radio_seed(seed, run))
    played = list(
        follow(
            radio,
            meeting.listener,
            steps=steps,
            clock=CLOCKS[listening],
            seed=seed,
            number=run,
        )
    )
    recovery_time = meeting.listener.recovery_time
    mean, deviation = learnt_curve(radio.belief, places())
    truth = novelty(places(), recovery_time) / novelty(MONTH, recovery_time)
    return {
        "recovery_time": recovery_time,
        "steps": steps,
        "repeats": [step.elapsed for step in played if step.elapsed < MONTH],
        "mean": mean.tolist(),
        "standard_deviation": deviation.tolist(),
        "truth": truth.tolist(),
    }


def learnt_curve(belief: VariationalBelief, minutes: Vector) -> tuple[Vector, Vector]:
    """Return mean and standard deviation of β't, in units of the mean for an unheard song."""
    factor = belief.model.factors[1]
    at = np.append(minutes, MONTH)
    design = factor.design(Songs.of(features=np.zeros((len(at), belief.model.columns)), elapsed=at))
    means: Any = design @ belief.means[1]
    deviations = np.linalg.norm(design @ triangular_inverse(belief.precision_roots[1]).T, axis=1)
    scale = float(means[-1])
    return np.asarray(means[:-1] / scale), np.asarray(deviations[:-1] / abs(scale))
