"""Findings of listening histories: repeats, gaps, skips, and the recovery of novelty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bandstand._util.power_laws import Zipf, plays_by_rank, zipf
from bandstand.types import AnyArray, Matrix, Minutes, Vector, frozen
from bandstand_lab.histories.plays import Histories, PlayHistory
from bandstand_lab.histories.skips import SkipForecast, skip_forecast, together

_DAY_SECONDS: Final = 86_400.0
# A play that ends sooner is a skip; services count a play as one from here on.
SHORTEST_LISTEN: Final = 30.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipRate:
    """The share of plays that were cut short, among those whose end is known."""

    plays: int
    share: float


def is_skip(history: PlayHistory) -> Vector:
    """Return 1 for a skip, 0 for none, NaN where it is not known: (n,).

    The export's own word counts; without one, a play of less than half a minute is a skip.
    """
    with np.errstate(invalid="ignore"):  # what is not known is not short
        short = np.where(np.isnan(history.played), np.nan, history.played < SHORTEST_LISTEN)
    return np.where(np.isnan(history.skipped), short, history.skipped)


def is_heard(history: PlayHistory) -> AnyArray:
    """Return whether each play lasted, as far as is known, at least half a minute: (n,).

    A song that is given up near its end was heard; where it is not known how long a play lasted,
    the export's word on skips counts.
    """
    unknown = np.isnan(history.played)
    lasted = np.where(unknown, np.inf, history.played) >= SHORTEST_LISTEN
    return np.asarray(lasted & ~(unknown & (history.skipped == 1.0)))


def skip_rate(skips: Vector) -> SkipRate | None:
    """Return how often plays were cut short, by `is_skip`; None if no play has a known end."""
    known = skips[~np.isnan(skips)]
    return SkipRate(plays=len(known), share=float(known.mean())) if len(known) else None


# ── The recovery time of novelty, from the gaps between plays ────────────────────────────
# Of all pairs of a listener's plays that are a time t apart, a share is of one and the same song.
# Under chance (the same plays in any order) that share would not depend on t. Their ratio,
#
#     g(t) = P(same song | t apart) / P(same song | any two plays)
#
# does not depend on when and how much a person listens, since both plays of a pair were made. It
# falls over days and weeks, as songs go out of rotation, and, if novelty recovers as the paper
# says, it is low just after a play and rises:
#
#     log g(t) ≈ a + b·l + c·l² + log(1 - exp(-t / s)),    l = log(1 + t / day)            (1)
#
# code             maths  meaning
# `closeness`      g      how much likelier the same song is than by chance
# —                a,b,c  how songs go out of rotation over days and weeks
# `recovery_time`  s      minutes after which novelty has recovered by 63 %
#
# (1) is fitted by weighted least squares, over a grid of s. The
# interval is a bootstrap of blocks of plays. What it assumes: that people choose what they play,
# a song in proportion to its momentary appeal; that songs leave rotation slowly; that s is short
# beside the usual gap. A playlist or an album played through does not choose, and its length
# looks like novelty. Pairs less than ten minutes apart are left out: they are the same play begun
# again, or a song put on repeat. Plays of less than half a minute are no choice either.


# Half-octaves from ten minutes to about two months.
_LAG_EDGES: Final = 600.0 * 2.0 ** (np.arange(0, 27) / 2)
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


def pair_counts(history: PlayHistory, blocks: int = _BLOCKS) -> PairCounts:
    """Return how many pairs of heard plays there are by the time between them."""
    heard = is_heard(history)
    times, items = history.times[heard], history.items[heard]
    count = len(times)
    if count < 2:
        nothing = np.zeros((blocks, len(_LAG_EDGES) - 1))
        return PairCounts(same=frozen(nothing), expected=frozen(nothing))
    block = np.arange(count) * blocks // count
    plays = np.bincount(items)
    chance = float((plays * (plays - 1.0)).sum()) / (count * (count - 1.0))
    since = times - times[0]
    order = np.lexsort((since, items))
    # Songs one after another on one axis, too far apart to meet.
    stride = float(since[-1]) + 2.0 * _LAG_EDGES[-1]
    places = items[order] * stride + since[order]
    every = _later_within(since, block, blocks)
    same = _later_within(places, block[order], blocks)
    return PairCounts(same=frozen(same), expected=frozen(chance * every))


def _later_within(places: Vector, block: AnyArray, blocks: int) -> Matrix:
    """Return how many pairs of rising `places` lie between two edges apart, by first's block."""
    own = np.arange(1, len(places) + 1)
    below = np.empty((len(_LAG_EDGES), blocks))
    for row, edge in enumerate(_LAG_EDGES):
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
    lags = np.sqrt(_LAG_EDGES[1:] * _LAG_EDGES[:-1])[used]
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
        across = np.log1p(lags / _DAY_SECONDS)
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


# ── Listener by listener, and all together ───────────────────────────────────────────────


LEVELS: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSummary:
    """Gaps between two plays of a song in a row."""

    count: int
    quantiles: Vector  # seconds, at `LEVELS`

    @property
    def median(self) -> float:
        """Return the median gap, in seconds."""
        return float(self.quantiles[LEVELS.index(0.5)])


def gaps_before(history: PlayHistory) -> Vector:
    """Return the seconds since the same song's play before, NaN for its first: (n,).

    >>> from bandstand_lab.histories.plays import PlayHistory
    >>> items, times, none = np.array([7, 8, 7]), np.array([0.0, 60.0, 90.0]), np.full(3, np.nan)
    >>> history = PlayHistory(name="", items=items, times=times, played=none, skipped=none)
    >>> gaps_before(history).tolist()
    [nan, nan, 90.0]
    """
    order = np.lexsort((history.times, history.items))
    items, times = history.items[order], history.times[order]
    gaps = np.full(len(order), np.nan)
    again = items[1:] == items[:-1]
    gaps[order[1:][again]] = (times[1:] - times[:-1])[again]
    return gaps


def summarise(gaps: Vector) -> GapSummary | None:
    """Return quantiles of gaps in seconds; None where no song came back."""
    known = gaps[~np.isnan(gaps)]
    if not len(known):
        return None
    return GapSummary(count=len(known), quantiles=frozen(np.quantile(known, LEVELS)))


# The share of repeats of any short history is small: quantiles over people leave out listeners
# with fewer plays, unless all have fewer.
MIN_PLAYS: Final = 100
# With as many listeners, the bootstrap of the recovery time draws whole listeners.
_MIN_BOOTSTRAP_LISTENERS: Final = 20
_SEED: Final = 20_131_013


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings of one listener's plays, or of all listeners' together."""

    name: str
    plays: int
    songs: int  # of all together: each listener's counted on their own
    days: float  # from the first play to the last; of all together: the longest
    repeat_share: float  # 1 − different songs / plays
    plays_by_rank: Vector  # of all together: each listener's songs, ranked together as in the paper
    zipf: Zipf | None
    gaps: GapSummary | None
    skips: SkipRate | None
    skip_forecast: SkipForecast | None
    recovery: Recovery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllFindings:
    """The findings of all histories."""

    listeners: tuple[Findings, ...]
    together: Findings

    @property
    def repeat_shares(self) -> Vector:
        """The share of repeats of each listener with plays enough to be compared."""
        enough = [each for each in self.listeners if each.plays >= MIN_PLAYS]
        return np.array([each.repeat_share for each in enough or self.listeners])


def examine(
    histories: Histories, *, on_listener: Callable[[int, int], None] = lambda *_: None
) -> AllFindings:
    """Return the findings; the same for the same histories."""
    found, gaps, skips, pairs = [], [], [], []
    is_many = len(histories) >= _MIN_BOOTSTRAP_LISTENERS
    for number, history in enumerate(histories):
        on_listener(number, len(histories))
        gaps.append(gaps_before(history))
        skips.append(is_skip(history))
        own = pair_counts(history)
        pairs.append(own.joined() if is_many else own)
        found.append(
            _findings(
                name=history.name,
                days=float(history.times[-1] - history.times[0]) / _DAY_SECONDS,
                ranked=plays_by_rank(history.items),
                gaps=gaps[-1],
                skips=skips[-1],
                forecast=skip_forecast(history, skips[-1], gaps[-1]),
                recovery=recovery([own], _rng(number)),
            )
        )
    everyone = _findings(
        name="all together",
        days=max(each.days for each in found),
        ranked=np.sort(np.concatenate([each.plays_by_rank for each in found]))[::-1],
        gaps=np.concatenate(gaps),
        skips=np.concatenate(skips),
        forecast=together([each.skip_forecast for each in found]),
        recovery=found[0].recovery if len(found) == 1 else recovery(pairs, _rng(len(found))),
    )
    return AllFindings(listeners=tuple(found), together=everyone)


def _findings(
    *,
    name: str,
    days: float,
    ranked: Vector,
    gaps: Vector,
    skips: Vector,
    forecast: SkipForecast | None,
    recovery: Recovery | None,
) -> Findings:
    return Findings(
        name=name,
        plays=int(ranked.sum()),
        songs=len(ranked),
        days=days,
        repeat_share=1 - len(ranked) / float(ranked.sum()),
        plays_by_rank=frozen(ranked),
        zipf=zipf(ranked),
        gaps=summarise(gaps),
        skips=skip_rate(skips),
        skip_forecast=forecast,
        recovery=recovery,
    )


def _rng(number: int) -> np.random.Generator:
    """Return the randomness of one bootstrap, which is always the same."""
    return np.random.default_rng([_SEED, number])
