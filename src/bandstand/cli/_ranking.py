"""What `bandstand recommend` prints: items in order, with all that is believed about them.

code              maths           meaning
`mean`, `sd`      E, sd of U | D  expected rating of the item now, and how sure that is
`quantile`        Q(α, p(U | D))  at the level asked for, by default 1 − 1/step (28)
`score`                           the algorithm's own; items are ordered by it
`bonus`           score − mean    what exploring adds; absent while the order is random
`parts`                           what the engine says the rating is made of

Whatever an engine does not have, or what does not exist yet, is `None`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand._util.timestamps import minutes_between
from bandstand.core.model.candidates import best_rows
from bandstand.core.policies import BayesUcb
from bandstand.core.recommender import Answer, Recommender
from bandstand.types import MONTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from decimal import Decimal

    from bandstand.cli._ratings_table import HistoryRow, Items
    from bandstand.core.engines.engine import Summary
    from bandstand.types import Indices, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedItem:
    """One item and what is believed about it."""

    id: str
    elapsed_minutes: float
    heard: bool  # whether it is in the history at all
    mean: float | None
    sd: float | None
    quantile: float | None
    score: float | None
    bonus: float | None
    parts: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Items, best first, and what was learnt about the listener."""

    algorithm: str
    seed: int
    step: int
    level: float | None  # of the quantile
    posterior: Summary
    items: Sequence[RankedItem]


def rank(
    items: Items,
    history: Sequence[HistoryRow],
    *,
    algorithm: str,
    raw: bool,
    seed: int,
    level: float | None = None,
    at: Decimal | None = None,
    top: int | None = None,
) -> Ranking:
    """Return the `top` items, or all of them, as `algorithm` ranks them after `history`."""
    recommender = Recommender(
        features=items.features, ids=items.ids, algorithm=algorithm, raw=raw, seed=seed
    )
    recommender.replay(
        Answer(song=row.item_id, rating=row.rating, time=row.time, weight=row.weight)
        for row in history
    )
    level = BayesUcb().level_at(recommender.step) if level is None else level
    return Ranking(
        algorithm=algorithm,
        seed=seed,
        step=recommender.step,
        level=level,
        posterior=recommender.summary(),
        items=_ranked(recommender, items.ids, _Clock.of(history, at), level, top or len(items.ids)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clock:
    """The moment of the recommendation, and when each item was heard last."""

    now: Decimal | None
    last_heard: Mapping[str, Decimal]

    @classmethod
    def of(cls, history: Sequence[HistoryRow], at: Decimal | None) -> _Clock:
        latest = history[-1].time if history else None
        return cls(
            now=latest if at is None else at, last_heard={row.item_id: row.time for row in history}
        )

    def elapsed(self, item: str) -> float:
        """Return the minutes since the item was heard, exact to the last digit."""
        before = self.last_heard.get(item)
        if before is None or self.now is None:
            return MONTH
        return min(minutes_between(before, self.now), MONTH)


def _ranked(
    recommender: Recommender, ids: Sequence[str], clock: _Clock, level: float | None, count: int
) -> list[RankedItem]:
    """Return the best items by score; of equals, the one that comes first in the file."""
    rows = _candidates(recommender, clock, level, count)
    names = [ids[row] for row in rows.tolist()]
    prediction = recommender.predict(only=names, at=clock.now)
    first = recommender.step == 1  # nothing has been said: no quantile, and any order
    quantile = None if level is None or first else prediction.quantile(level)
    if _by_quantile(recommender) and quantile is not None:
        score = quantile
    else:
        score = recommender.scores(at=clock.now)[rows]
    mean, sd = prediction.mean(), prediction.standard_deviation()
    bonus = None if mean is None or first else score - mean
    numbers = _plain(
        len(rows), {"mean": mean, "sd": sd, "quantile": quantile, "score": score, "bonus": bonus}
    )
    parts = _plain(len(rows), prediction.parts())
    return [
        RankedItem(
            id=names[place],
            elapsed_minutes=clock.elapsed(names[place]),
            heard=names[place] in clock.last_heard,
            **{name: column[place] for name, column in numbers.items()},
            parts={name: column[place] for name, column in parts.items()},
        )
        for place in best_rows(score, count, np.arange(len(rows))).tolist()
    ]


def _candidates(
    recommender: Recommender, clock: _Clock, level: float | None, count: int
) -> Indices:
    """Return the rows of all items that can be among the best, in the order of the file.

    A search by quantile spares looking at every item, which takes long for many of them.
    """
    everything = np.arange(len(recommender.ids))
    if count >= len(everything):
        return everything
    if _by_quantile(recommender) and level is not None:
        everywhere = recommender.predict(at=clock.now)
        best = everywhere.best_by_quantile(level, count, everything)
        if len(best):
            return np.sort(best)
    return np.sort(best_rows(recommender.scores(at=clock.now), count, everything))


def _by_quantile(recommender: Recommender) -> bool:
    """Return whether the score is the quantile: the first item is random for all algorithms."""
    return isinstance(recommender.model.policy, BayesUcb) and recommender.step > 1


def _plain(length: int, columns: Mapping[str, Vector | None]) -> dict[str, Sequence[float | None]]:
    """Return columns of plain numbers, with None for what does not exist."""
    return {name: _finite(length, values) for name, values in columns.items()}


def _finite(length: int, values: Vector | None) -> Sequence[float | None]:
    if values is None:
        return [None] * length
    if np.isfinite(values).all():
        return values.tolist()
    return [value if math.isfinite(value) else None for value in values.tolist()]
