"""What an engine has learnt, asked in terms that every engine understands.

Engines hold their beliefs in many ways, but all of them predict songs. So E[θ] is what they
expect of songs with one feature each, and the novelty curve is what they say of one song at many
times. No engine has to know that it is asked. A song is new when it was never heard, which the
radio counts as `LONGEST` ago; of longer times no play tells anything.

code             maths              shape  meaning
`preference_of`  E[θ]               (p,)   liking of each feature, at full novelty
`NoveltyCurve`   E[u(t)], SD[u(t)]  (T,)   how far a song has recovered after t minutes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core.engines.variational.factor_prediction import FactorPrediction
from bandstand.core.model.history import Songs
from bandstand.radio.selection.training_data import LONGEST

if TYPE_CHECKING:
    from bandstand.core.engines.engine import Engine
    from bandstand.core.model.prediction import Prediction
    from bandstand.types import Features, Vector

# From a minute to three months, evenly in the logarithm.
_SHORTEST: Final = 1.0
_LONGEST: Final = 129_600.0
_TIMES: Final = 61
# Songs taken at a time, so that nothing of the catalogue's size is copied.
_BLOCK: Final = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class NoveltyCurve:
    """How far a song has recovered after some time, from 0 to 1."""

    minutes: tuple[float, ...]
    mean: tuple[float, ...]
    standard_deviation: tuple[float, ...] | None  # None: the engine has one curve and no doubt

    def reaches(self, level: float) -> float | None:
        """Return the minutes after which the mean first is at `level`; None if it never is.

        >>> curve = NoveltyCurve(minutes=(1.0, 100.0), mean=(0.4, 0.6), standard_deviation=None)
        >>> round(curve.reaches(0.5), 6), curve.reaches(0.7)
        (10.0, None)
        """
        mean = np.asarray(self.mean)
        above = np.flatnonzero(mean >= level)
        if not above.size:
            return None
        last = int(above[0])
        if last == 0:
            return self.minutes[0]
        share = (level - mean[last - 1]) / (mean[last] - mean[last - 1])
        logs = np.log(self.minutes[last - 1 : last + 1])
        return float(np.exp(logs[0] + share * (logs[1] - logs[0])))


def preference_of(engine: Engine[Any], belief: Any, columns: int) -> Vector | None:
    """Return E[θ], the liking of each feature at full novelty; None where there is none."""
    songs = Songs.of(features=np.eye(columns), elapsed=LONGEST)
    return engine.predict(belief, songs).parts().get("content")


def likings(features: Features, preference: Vector) -> Vector:
    """Return E[θ]'x of many songs, some at a time: (S,)."""
    found = np.empty(len(features))
    with np.errstate(under="ignore"):
        for start in range(0, len(features), _BLOCK):
            block = np.asarray(features[start : start + _BLOCK], dtype=np.float64)
            found[start : start + len(block)] = block @ preference
    return found


def curve_times() -> Vector:
    """Return the times at which a novelty curve is drawn, in minutes."""
    return np.geomspace(_SHORTEST, _LONGEST, _TIMES)


def novelty_curve(
    engine: Engine[Any], belief: Any, columns: int, minutes: Vector
) -> NoveltyCurve | None:
    """Return the novelty curve at some times; None for an engine that knows no novelty."""
    elapsed = np.concatenate([minutes, 2 * minutes, [LONGEST]])
    songs = Songs.of(features=np.zeros((len(elapsed), columns)), elapsed=elapsed)
    prediction = engine.predict(belief, songs)
    found = prediction.parts().get("novelty")
    if found is None:
        return None
    mean = found[: len(minutes)]
    is_certain = engine.summary(belief).recovery_time_sd is None
    spread = _spread(prediction, found, len(minutes), is_certain=is_certain)
    return NoveltyCurve(
        minutes=tuple(minutes.tolist()),
        mean=tuple(mean.tolist()),
        standard_deviation=None if spread is None else tuple(spread.tolist()),
    )


def _spread(
    prediction: Prediction, found: Vector, count: int, *, is_certain: bool
) -> Vector | None:
    """Return the standard deviation of the curve at the first `count` times.

    u = 1 − exp(−t/s) has u(t)² = 2u(t) − u(2t), so its variance is known from its mean alone,
    at t and at 2t. A piecewise curve is normal at every time.
    """
    mean = found[:count]
    if isinstance(prediction, FactorPrediction):
        return _spread_of_factor(prediction, found)[:count]
    if is_certain:
        return None
    with np.errstate(under="ignore"):
        return np.sqrt(np.maximum(2 * mean - found[count : 2 * count] - mean**2, 0.0))


def _spread_of_factor(prediction: FactorPrediction, found: Vector) -> Vector:
    """Return the spread of the piecewise curve, in the scale that its mean is shown in."""
    row = [factor.name for factor in prediction.factors].index("novelty")
    largest = int(np.argmax(np.abs(found)))
    if found[largest] == 0:  # a curve that is 0 everywhere is shown as it is
        return np.asarray(prediction.factor_deviations[row])
    scale = prediction.factor_means[row][largest] / found[largest]
    return np.asarray(prediction.factor_deviations[row] / abs(scale))
