"""The novelty curve: how far a song has recovered from its last play."""

import numpy as np
from numpy.typing import ArrayLike

from bandstand.types import AnyArray


def novelty(elapsed: ArrayLike, recovery_time: ArrayLike) -> AnyArray:
    """Return Un = 1 − exp(−t/s) (2): 0 just after a play, close to 1 long after it.

    code             maths  unit     meaning
    `elapsed`        t      minutes  since the last play, ≥ 0
    `recovery_time`  s      minutes  after it 63 % of the novelty is back, ≥ 0

    The two broadcast. A recovery time of 0 means that a song is new again at once,
    but for t = 0, where novelty is always 0.

    >>> novelty([0.0, 300.0, 43_200.0], 300.0).round(3).tolist()
    [0.0, 0.632, 1.0]
    """
    t = np.asarray(elapsed, dtype=np.float64)
    s = np.asarray(recovery_time, dtype=np.float64)
    # Overflow to infinity and underflow to zero are the right limits here.
    with np.errstate(over="ignore", under="ignore"):
        if (s > 0).all():
            ratio = t / s
        else:
            t, s = np.broadcast_arrays(t, s)
            ratio = np.divide(t, s, out=np.where(t > 0, np.inf, 0.0), where=s > 0)
        # expm1 keeps every digit where t is small against s.
        return np.asarray(-np.expm1(-ratio))
