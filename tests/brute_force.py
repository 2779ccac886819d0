"""p(U | D) by plain integration over the recovery time: slow and obvious.

It shares no code with the package: every formula is written out again, on thousands of
nodes, with dense solves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtr

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.domain import History


class Setting(NamedTuple):
    """A prior written out as plain numbers; `log_density_of_s` is that of s itself."""

    mean: Any
    covariance: Any
    log_density_of_s: Callable[[float], float]
    shape: float
    rate: float


class Answer(NamedTuple):
    mean: float
    standard_deviation: float
    quantile: float
    recovery_time_mean: float
    recovery_time_sd: float


def gamma_setting(
    columns: int, *, variance: float = 10.0, shape: float = 1e-3, rate: float = 1e-3
) -> Setting:
    """The paper's prior: s ~ Gamma(3, rate 1/100)."""
    return Setting(
        mean=np.zeros(columns),
        covariance=variance * np.eye(columns),
        log_density_of_s=lambda s: 2 * np.log(s) - s / 100,
        shape=shape,
        rate=rate,
    )


def integrate(
    setting: Setting,
    history: History,
    features: Any,
    elapsed: float,
    level: float,
    nodes: int = 4_001,
) -> Answer:
    """Return what the exact model says of one song."""
    x = np.asarray(features, dtype=float)
    # First a wide look from a ten-thousandth of a minute to a hundred million minutes.
    wide = np.linspace(np.log(1e-4), np.log(1e8), 2_001)
    rough = np.array([_at(setting, history, x, elapsed, y)[0] for y in wide])
    near = np.flatnonzero(rough > rough.max() - 45)
    low, high = wide[max(near[0] - 1, 0)], wide[min(near[-1] + 1, len(wide) - 1)]

    y = np.linspace(low, high, nodes)
    table = np.array([_at(setting, history, x, elapsed, one) for one in y])
    share = np.exp(table[:, 0] - table[:, 0].max())
    share /= share.sum()
    location, scale = table[:, 1], table[:, 2]
    freedom = 2 * (setting.shape + len(history) / 2)
    mean = share @ location
    within = freedom / (freedom - 2) * scale**2 if freedom > 2 else np.full(nodes, np.nan)
    times = np.exp(y)
    centre = share @ times
    return Answer(
        mean=float(mean),
        standard_deviation=float(np.sqrt(share @ (within + (location - mean) ** 2))),
        quantile=_root(share, location, scale, freedom, level),
        recovery_time_mean=float(centre),
        recovery_time_sd=float(np.sqrt(share @ (times - centre) ** 2)),
    )


def _at(
    setting: Setting, history: History, x: Any, elapsed: float, y: float
) -> tuple[float, float, float]:
    """Return log p(y, D), and location and scale of U, for one y = log s."""
    s = np.exp(y)
    w, r = history.weights, history.ratings
    z = history.features * (1 - np.exp(-history.elapsed / s))[:, None]
    start = np.linalg.inv(setting.covariance)
    precision = start + z.T @ (w[:, None] * z)
    mean = np.linalg.solve(precision, start @ setting.mean + z.T @ (w * r))
    shape = setting.shape + len(r) / 2
    shift = mean - setting.mean
    rate = setting.rate + 0.5 * (np.sum(w * (r - z @ mean) ** 2) + shift @ start @ shift)
    novelty = -np.expm1(-elapsed / s)
    variance = x @ np.linalg.solve(precision, x)
    log_joint = (
        setting.log_density_of_s(s)
        + y
        - 0.5 * np.linalg.slogdet(precision)[1]
        - shape * np.log(rate)
    )
    return log_joint, novelty * (x @ mean), novelty * np.sqrt(rate / shape * variance)


def _root(share: Any, location: Any, scale: Any, freedom: float, level: float) -> float:
    def excess(value: float) -> float:
        return float(np.sum(share * stdtr(freedom, (value - location) / scale)) - level)

    reach = 1.0
    centre = float(share @ location)
    while excess(centre - reach) > 0 or excess(centre + reach) < 0:
        reach *= 2
    return float(brentq(excess, centre - reach, centre + reach, xtol=1e-15, rtol=1e-14))
