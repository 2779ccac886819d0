"""What listening histories say, listener by listener and for all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.model.rank_frequency import Zipf, plays_by_rank, repeat_share, zipf
from bandstand.types import frozen
from bandstand_lab.histories.gaps import GapSummary, gaps_before, summarise
from bandstand_lab.histories.recovery import Recovery, pair_counts, recovery
from bandstand_lab.histories.skips import SkipRates, is_skip, skip_rates

if TYPE_CHECKING:
    from collections.abc import Callable

    from bandstand.types import Vector
    from bandstand_lab.histories.values import Histories, History

# The share of repeats of a short history is small whoever it is: what is told of people as a
# group is told of those with at least so many plays, unless nobody has as many.
FEWEST_PLAYS: Final = 100
# For the interval of the recovery time, whole listeners are drawn again where there are as many.
_MANY_LISTENERS: Final = 20
_SEED: Final = 20_131_013


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerFindings:
    """What one history says."""

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
    """What all histories say.

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
    """Return what the histories say; the same for the same histories."""
    found, gaps, skips = [], [], []
    pairs = []
    is_many = len(histories) >= _MANY_LISTENERS
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
    enough = tuple(place for place, each in enumerate(found) if each.plays >= FEWEST_PLAYS)
    return enough or tuple(range(len(found)))


def _rng(number: int) -> np.random.Generator:
    """Return the randomness of one bootstrap, which is always the same."""
    return np.random.default_rng([_SEED, number])
