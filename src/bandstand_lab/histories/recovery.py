"""The recovery time of novelty, estimated from the gaps between plays.

Of all pairs of a listener's plays that are a time t apart, a share is of one and the same song.
Under chance (the same plays in any order) that share would not depend on t. Their ratio,

    g(t) = P(same song | t apart) / P(same song | any two plays)

does not depend on when and how much a person listens, since both plays of a pair were made. It
falls
over days and weeks, as songs go out of rotation, and, if novelty recovers as the paper says,
it is low just after a play and rises:

    log g(t) ≈ a + b·l + c·l² + log(1 - exp(-t / s)),    l = log(1 + t / day)            (1)

code             maths  meaning
`closeness`      g      how much likelier the same song is than by chance
—                a,b,c  how songs go out of rotation over days and weeks
`recovery_time`  s      minutes after which novelty has recovered by 63 %

(1) is fitted by weighted least squares, over a grid of s. The
interval is a bootstrap of blocks of plays. What it assumes: that people choose what they play,
a song in proportion to its momentary appeal; that songs leave rotation slowly; that s is short
beside the usual gap. A playlist or an album played through does not choose, and its length
looks like novelty. Pairs less than ten minutes apart are left out: they are the same play begun
again, or a song put on repeat. Plays of less than half a minute are no choice either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import Minutes, frozen
from bandstand_lab.histories.skips import is_heard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.types import AnyArray, Matrix, Vector
    from bandstand_lab.histories.values import History

_DAY: Final = 86_400.0
# Half-octaves from ten minutes to about two months.
_EDGES: Final = 600.0 * 2.0 ** (np.arange(0, 27) / 2)
# From five minutes to a month; less looks like no novelty at all.
_GRID: Final = 60.0 * np.geomspace(5.0, 43_200.0, 121)
_BLOCKS: Final = 20  # of one listener's plays, for the bootstrap
_DRAWS: Final = 400
_LEVEL: Final = 0.95
_MIN_PAIRS: Final = 300
_MIN_BINS: Final = 12
_SATURATION_PAIRS: Final = 100.0  # in a bin


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCounts:
    """Pairs of plays by the time between them, block by block: (blocks, bins)."""

    same: Matrix  # of one song
    expected: Matrix  # of one song, by chance

    def joined(self) -> PairCounts:
        """Return the counts as those of a single block."""
        return PairCounts(
            same=frozen(self.same.sum(axis=0, keepdims=True)),
            expected=frozen(self.expected.sum(axis=0, keepdims=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The recovery time that the gaps suggest, and the curve that it comes from."""

    recovery_time: Minutes | None  # None where the curve has no dip after a play
    interval: tuple[Minutes, Minutes]  # 95 %; from the shortest that is looked for if no dip
    pairs: int  # of one song
    lags: Vector  # minutes, the middles of the bins
    closeness: Vector  # g(t)
    fitted: Vector


def pair_counts(history: History, blocks: int = _BLOCKS) -> PairCounts:
    """Return how many pairs of heard plays there are by the time between them."""
    heard = is_heard(history)
    times, items = history.times[heard], history.items[heard]
    count = len(times)
    if count < 2:
        nothing = np.zeros((blocks, len(_EDGES) - 1))
        return PairCounts(same=frozen(nothing), expected=frozen(nothing))
    block = np.arange(count) * blocks // count
    plays = np.bincount(items)
    chance = float((plays * (plays - 1.0)).sum()) / (count * (count - 1.0))
    since = times - times[0]
    order = np.lexsort((since, items))
    # Songs one after another on one axis, too far apart to meet.
    stride = float(since[-1]) + 2.0 * _EDGES[-1]
    places = items[order] * stride + since[order]
    every = _later_within(since, block, blocks)
    same = _later_within(places, block[order], blocks)
    return PairCounts(same=frozen(same), expected=frozen(chance * every))


def _later_within(places: Vector, block: AnyArray, blocks: int) -> Matrix:
    """Return how many pairs of rising `places` lie between two edges apart, by first's block."""
    own = np.arange(1, len(places) + 1)
    below = np.empty((len(_EDGES), blocks))
    for row, edge in enumerate(_EDGES):
        later = np.searchsorted(places, places + edge) - own
        below[row] = np.bincount(block, weights=later, minlength=blocks)
    return np.asarray(below[1:] - below[:-1]).T


def recovery(counts: Sequence[PairCounts], rng: np.random.Generator) -> Recovery | None:
    """Return the recovery time that pairs suggest; None where they are too few to say.

    The blocks of all listeners are drawn again, with replacement, for the interval.
    """
    same = np.concatenate([each.same for each in counts])
    expected = np.concatenate([each.expected for each in counts])
    pairs = float(same.sum())
    used = (same.sum(axis=0) > 0) & (expected.sum(axis=0) > 0)
    if pairs < _MIN_PAIRS or used.sum() < _MIN_BINS:
        return None
    same, expected = same[:, used], expected[:, used]
    lags = np.sqrt(_EDGES[1:] * _EDGES[:-1])[used]
    fit = _Fit(lags, same.sum(axis=0))
    closeness = same.sum(axis=0) / expected.sum(axis=0)
    times = rng.multinomial(len(same), np.full(len(same), 1 / len(same)), size=_DRAWS)
    # Half a pair more, since a draw may have none in some bin.
    drawn = (times @ same + 0.5) / (times @ expected + 0.5 / closeness)
    low, high = np.quantile(fit.best(np.log(drawn)), [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    best = fit.best(np.log(closeness)[None, :])[0]
    return Recovery(
        recovery_time=Minutes(float(best) / 60) if low > _GRID[0] else None,
        interval=(Minutes(float(low) / 60), Minutes(float(high) / 60)),
        pairs=int(pairs),
        lags=frozen(lags / 60),
        closeness=frozen(closeness),
        fitted=frozen(fit.curve(np.log(closeness), float(best))),
    )


class _Fit:
    """(1) by weighted least squares, given s: a projection that is the same for all curves."""

    def __init__(self, lags: Vector, same: Vector) -> None:
        across = np.log1p(lags / _DAY)
        columns = np.column_stack([np.ones_like(across), across, across**2])
        # The scatter of a bin of many pairs is not that of counts: no bin counts for everything.
        self._root = np.sqrt(same / (same + _SATURATION_PAIRS))
        self._lags = lags
        self._basis = np.linalg.qr(self._root[:, None] * columns)[0]

    def best(self, log_closeness: Matrix) -> Vector:
        """Return the s on the grid that fits each row best, in seconds."""
        curves = self._residual(self._log_novelty(_GRID))
        rows = self._residual(log_closeness)
        # |row − curve|², but for |row|², which is the same for every s.
        misfit = (curves**2).sum(axis=1) - 2.0 * rows @ curves.T
        return np.asarray(_GRID[np.argmin(misfit, axis=1)])

    def curve(self, log_closeness: Vector, recovery_time: float) -> Vector:
        """Return the fitted g(t) at the best s."""
        novelty = self._log_novelty(np.array([recovery_time]))
        residual = self._residual(log_closeness[None, :] - novelty)[0]
        return np.asarray(np.exp(log_closeness - residual / self._root))

    def _log_novelty(self, recovery_times: Vector) -> Matrix:
        return np.asarray(np.log(-np.expm1(-self._lags / recovery_times[:, None])))

    def _residual(self, rows: Matrix) -> Matrix:
        """Return what is left of weighted rows when the rotation is taken out of them."""
        weighted = rows * self._root
        return np.asarray(weighted - (weighted @ self._basis) @ self._basis.T)
