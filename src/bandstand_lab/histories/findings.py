"""Findings of listening histories, listener by listener and for all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand._util.power_laws import Zipf, plays_by_rank, repeat_share, zipf
from bandstand.types import frozen
from bandstand_lab.histories.recovery import Recovery, pair_counts, recovery
from bandstand_lab.histories.skips import SkipRates, is_skip, skip_rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Vector
    from bandstand_lab.histories.values import Histories, History

LEVELS: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
# Edges of the histogram: each bin is √2 times as long as the one before, from a minute to 24 years.
_EDGES: Final = 60.0 * 2.0 ** (np.arange(0, 48) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapSummary:
    """Gaps between two plays of a song in a row: quantiles, and a histogram on a log scale."""

    count: int
    quantiles: Vector  # seconds, at `LEVELS`
    edges: Vector  # seconds, one more than `counts`; shorter gaps are in the first bin
    counts: Vector

    @property
    def median(self) -> float:
        """Return the median gap, in seconds."""
        return float(self.quantiles[LEVELS.index(0.5)])


def gaps_before(history: History) -> Vector:
    """Return the seconds since the same song's play before, NaN for its first: (n,).

    >>> from bandstand_lab.histories.values import History
    >>> items, times, none = np.array([7, 8, 7]), np.array([0.0, 60.0, 90.0]), np.full(3, np.nan)
    >>> history = History(name="", items=items, times=times, played=none, skipped=none)
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
    """Return quantiles and histogram of gaps in seconds; None where no song came back."""
    known = gaps[~np.isnan(gaps)]
    if not len(known):
        return None
    last = int(np.searchsorted(_EDGES, known.max(), side="right"))
    edges = _EDGES[: max(min(last, len(_EDGES) - 1), 1) + 1]
    counts = np.histogram(np.clip(known, edges[0], edges[-1]), edges)[0]
    return GapSummary(
        count=len(known),
        quantiles=frozen(np.quantile(known, LEVELS)),
        edges=frozen(edges),
        counts=frozen(counts),
    )


# The share of repeats of any short history is small: quantiles over people leave out listeners
# with fewer plays, unless all have fewer.
MIN_PLAYS: Final = 100
# With as many listeners, the bootstrap of the recovery time draws whole listeners.
_MIN_BOOTSTRAP_LISTENERS: Final = 20
_SEED: Final = 20_131_013


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerFindings:
    """The findings of one history."""

    name: str
    plays: int
    songs: int
    days: float  # from the first play to the last
    repeat_share: float  # 1 − different songs / plays
    plays_by_rank: Vector
    zipf: Zipf | None
    gaps: GapSummary | None
    skips: SkipRates | None
    recovery: Recovery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings of all histories.

    As in the paper, the frequencies of all listeners' songs are ranked together.
    """

    listeners: tuple[ListenerFindings, ...]
    compared: tuple[int, ...]  # the listeners with plays enough to be compared
    plays_by_rank: Vector
    zipf: Zipf | None
    gaps: GapSummary | None
    skips: SkipRates | None
    recovery: Recovery | None

    @property
    def repeat_shares(self) -> Vector:
        """Return the share of repeats of each listener with plays enough."""
        return np.array([self.listeners[place].repeat_share for place in self.compared])


def examine(
    histories: Histories, *, on_listener: Callable[[int, int], None] = lambda *_: None
) -> Findings:
    """Return the findings; the same for the same histories."""
    found, gaps, skips = [], [], []
    pairs = []
    is_many = len(histories) >= _MIN_BOOTSTRAP_LISTENERS
    for number, history in enumerate(histories):
        on_listener(number, len(histories))
        own_gaps, own_skips = gaps_before(history), is_skip(history)
        own_pairs = pair_counts(history)
        found.append(_listener(history, own_gaps, own_skips, recovery([own_pairs], _rng(number))))
        gaps.append(own_gaps)
        skips.append(own_skips)
        pairs.append(own_pairs.joined() if is_many else own_pairs)
    every_gap, every_skip = np.concatenate(gaps), np.concatenate(skips)
    ranked = np.sort(np.concatenate([each.plays_by_rank for each in found]))[::-1]
    return Findings(
        listeners=tuple(found),
        compared=_compared(found),
        plays_by_rank=frozen(ranked),
        zipf=zipf(ranked),
        gaps=summarise(every_gap),
        skips=skip_rates(every_skip, every_gap),
        recovery=found[0].recovery if len(found) == 1 else recovery(pairs, _rng(len(found))),
    )


def _listener(
    history: History, gaps: Vector, skips: Vector, suggested: Recovery | None
) -> ListenerFindings:
    ranked = plays_by_rank(history.items)
    return ListenerFindings(
        name=history.name,
        plays=len(history),
        songs=len(ranked),
        days=float(history.times[-1] - history.times[0]) / 86_400,
        repeat_share=repeat_share(history.items),
        plays_by_rank=frozen(ranked),
        zipf=zipf(ranked),
        gaps=summarise(gaps),
        skips=skip_rates(skips, gaps),
        recovery=suggested,
    )


def _compared(found: list[ListenerFindings]) -> tuple[int, ...]:
    enough = tuple(place for place, each in enumerate(found) if each.plays >= MIN_PLAYS)
    return enough or tuple(range(len(found)))


def _rng(number: int) -> np.random.Generator:
    """Return the randomness of one bootstrap, which is always the same."""
    return np.random.default_rng([_SEED, number])
