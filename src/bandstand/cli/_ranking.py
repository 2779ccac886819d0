"""The ranking of `bandstand recommend`: from the CSV files to the table.

code              maths           meaning
`mean`, `sd`      E, sd of U | D  expected rating of the item now, and its standard deviation
`quantile`        Q(α, p(U | D))  at the level asked for, or the algorithm's, or 1 − 1/step (28)
`score`                           the algorithm's own; items are ordered by it
`bonus`           score − mean    what exploring adds; absent while the order is random
`parts`                           the engine's parts of the rating

What an engine does not have, or what does not exist yet, is `None`. Errors in a file name the file
and the line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import numpy as np

from bandstand._util.csv_tables import (
    Items,
    check_columns,
    known_id,
    number,
    read_items,
    read_table,
    refuse,
    shown,
)
from bandstand._util.timestamps import minutes_between, seconds_of
from bandstand._util.words import duration, printable
from bandstand.cli._tables import print_table
from bandstand.core.model.candidates import best_rows
from bandstand.core.model.history import RATING_LIMIT
from bandstand.core.policies import BayesUcb
from bandstand.core.recommender import Answer, Recommender
from bandstand.core.registry import algorithm_named
from bandstand.errors import InvalidInputError
from bandstand.types import MONTH

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from bandstand.core.policies import ScorePolicy
    from bandstand.types import Indices, Vector

__all__ = ["NAMES", "HistoryRow", "Items", "read_history", "read_items"]

# The kinds of names, each with the argument of the recommender that takes it.
NAMES: Final = {"artist": "artists", "album": "albums", "tags": "tags"}

_REQUIRED: Final = ("item_id", "time", "rating")
_OPTIONAL: Final = ("weight",)


class HistoryRow(NamedTuple):
    """One rating, as the file has it."""

    item_id: str
    time: Decimal  # seconds since the epoch
    rating: float
    weight: float


def read_history(path: Path, *, ids: Container[str]) -> list[HistoryRow]:
    """Return the ratings of a file with the columns `item_id,time,rating[,weight]`, in order."""
    top, header, rows = read_table(path, "item_id,time,rating and perhaps weight")
    check_columns(path, top, header, required=_REQUIRED, optional=_OPTIONAL)
    places = [header.index(name) for name in _REQUIRED]
    weight_place = header.index("weight") if "weight" in header else None
    history: list[HistoryRow] = []
    for line, fields in rows:
        item, time, rating = (fields[place] for place in places)
        weight = "1" if weight_place is None else fields[weight_place]
        row = HistoryRow(
            item_id=known_id(path, line, item, ids),
            time=_time(path, line, time),
            rating=number(path, line, "rating", rating, RATING_LIMIT),
            weight=number(path, line, "weight", weight, RATING_LIMIT),
        )
        if row.weight < 0:
            refuse(path, line, f"weight must not be negative, got {shown(weight)}")
        if history and row.time < history[-1].time:
            refuse(path, line, f"times must be in order, got {shown(time)} after a later one")
        history.append(row)
    return history


def _time(path: Path, line: int, field: str) -> Decimal:
    try:
        return seconds_of(field)
    except InvalidInputError as problem:
        refuse(path, line, str(problem))


def rank(
    items: Items,
    history: Sequence[HistoryRow],
    *,
    algorithm: str,
    raw: bool,
    seed: int,
    scale: tuple[float, float] | None = None,
    level: float | None = None,
    at: Decimal | None = None,
    top: int | None = None,
) -> dict[str, Any]:
    """Return the `top` items, or all of them, as `algorithm` ranks them after `history`: JSON.

    `level` is that of the quantile, by default the algorithm's own or 1 − 1/step.
    """
    recommender = Recommender(
        features=items.features,
        ids=items.ids,
        algorithm=algorithm,
        raw=raw,
        scale=scale,
        seed=seed,
        **_clean(items.texts),
    )
    recommender.replay(
        Answer(song=row.item_id, rating=row.rating, time=row.time, weight=row.weight)
        for row in history
    )
    now = history[-1].time if at is None and history else at
    never = recommender.model.play_times.longest
    elapsed = {
        row.item_id: min(minutes_between(row.time, now), never)
        for row in history
        if now is not None
    }
    posterior = recommender.summary()
    return {
        "algorithm": algorithm,
        "seed": seed,
        "step": recommender.step,
        "posterior": {
            "recovery_time_mean": posterior.recovery_time_mean,
            "recovery_time_sd": posterior.recovery_time_sd,
            "noise_sd": posterior.noise_sd,
        },
        "items": _ranked(recommender, now, elapsed, level, top or len(items.ids)),
    }


def _clean(texts: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the names of items as arguments of a recommender.

    Items of all kinds are cleaned as songs are: spellings that differ in case, accents, signs or
    a leading "The" are one name, and "unknown" is none.
    """
    if not texts:
        return {}
    from bandstand.music.catalogue.tags import album_name, artist_name, tags_of

    cleaners: dict[str, Any] = {"artist": artist_name, "album": album_name, "tags": tags_of}
    return {NAMES[kind]: list(map(cleaners[kind], each)) for kind, each in texts.items()}


def _ranked(
    recommender: Recommender,
    now: Decimal | None,
    elapsed: Mapping[str, float],
    level: float | None,
    count: int,
) -> list[dict[str, Any]]:
    """Return the best items by score; of equals, the one that comes first in the file."""
    level = _usual_level(recommender.model.policy, recommender.step) if level is None else level
    rows = _candidates(recommender, now, level, count)
    names = [str(recommender.ids[row]) for row in rows.tolist()]
    prediction = recommender.predict(only=names, at=now)
    longest = recommender.model.play_times.longest
    never = longest if math.isfinite(longest) else None
    first = recommender.step == 1  # no rating yet: no quantile, and any order
    quantile = None if level is None or first else prediction.quantile(level)
    if _by_quantile(recommender) and quantile is not None:
        score = quantile
    else:
        score = recommender.scores(at=now)[rows]
    mean = prediction.mean()
    columns = {
        "mean": mean,
        "sd": prediction.standard_deviation(),
        "quantile": quantile,
        "score": score,
        **prediction.parts(),
        "bonus": None if mean is None or first else score - mean,
    }
    plain = {name: _finite(len(rows), values) for name, values in columns.items()}
    return [
        {
            "id": names[place],
            "elapsed_minutes": elapsed.get(names[place], never),
            **{name: values[place] for name, values in plain.items()},
        }
        for place in best_rows(score, count, np.arange(len(rows))).tolist()
    ]


def _usual_level(policy: ScorePolicy, step: int) -> float | None:
    """Return the level of the quantile unless another one is asked for: the policy's own."""
    return (policy if isinstance(policy, BayesUcb) else BayesUcb()).level_at(step)


def _candidates(
    recommender: Recommender, now: Decimal | None, level: float | None, count: int
) -> Indices:
    """Return the rows of all items that can be among the best, in the order of the file.

    A search by quantile does not evaluate every item, which takes long for many of them.
    """
    everything = np.arange(len(recommender.ids))
    if count >= len(everything):
        return everything
    if _by_quantile(recommender) and level is not None:
        everywhere = recommender.predict(at=now)
        best = everywhere.best_by_quantile(level, count, everything)
        if len(best):
            return np.sort(best)
    return np.sort(best_rows(recommender.scores(at=now), count, everything))


def _by_quantile(recommender: Recommender) -> bool:
    """Return whether the score is the quantile: the first item is random for all algorithms."""
    return isinstance(recommender.model.policy, BayesUcb) and recommender.step > 1


def _finite(length: int, values: Vector | None) -> Sequence[float | None]:
    if values is None:
        return [None] * length
    if np.isfinite(values).all():
        return values.tolist()
    return [value if math.isfinite(value) else None for value in values.tolist()]


_NUMBERS: Final = ("mean", "sd", "quantile", "score")


def show(
    ranking: dict[str, Any],
    *,
    heard: Container[str],
    has_repeats: bool,
    level: float | None,
    names: Iterable[str] = (),
) -> None:
    """Print the ranking, then how it was made, and the posterior of the listener.

    Without an item that was rated twice nothing is known of the recovery time.
    What `names` add to the rating has a column each, if the algorithm has learned it.
    """
    items = ranking["items"]
    columns = (*_NUMBERS, *(name for name in names if name in items[0]))
    print_table(
        ("id", "last heard", *columns),
        [_cells(item, columns, is_heard=item["id"] in heard) for item in items],
        framed=True,
    )
    made = f"{ranking['algorithm']}, step {ranking['step']}, seed {ranking['seed']}"
    if any(item["quantile"] is not None for item in items):
        policy = algorithm_named(ranking["algorithm"]).policy
        made += f", quantile at level {level or _usual_level(policy, ranking['step']):.6g}"
    posterior = ranking["posterior"]
    if not has_repeats:
        posterior = posterior | {"recovery_time_mean": None}
    click.echo(f"\n{made}\n{_posterior_line(**posterior)}")


def elapsed_in_words(minutes: float) -> str:
    """Return a length of time as people say it.

    >>> [elapsed_in_words(minutes) for minutes in (0, 0.5, 59.7, 200, 3_000, 43_200)]
    ['now', '30 s', '1 h 0 min', '3 h 20 min', '2 days 2 h', '30 days or more']
    """
    if minutes >= MONTH:
        return "30 days or more"
    return duration(minutes) if round(minutes * 60) else "now"


def _cells(item: dict[str, Any], columns: Iterable[str], *, is_heard: bool) -> tuple[str, ...]:
    when = elapsed_in_words(item["elapsed_minutes"]) if is_heard else "never"
    return printable(item["id"]), when, *(_number(item[name]) for name in columns)


def _posterior_line(
    *, recovery_time_mean: float | None, recovery_time_sd: float | None, noise_sd: float | None
) -> str:
    recovery = "unknown"
    if recovery_time_mean is not None:
        spread = "" if recovery_time_sd is None else f" ± {recovery_time_sd:.4g}"
        recovery = f"{recovery_time_mean:.4g}{spread} minutes"
    noise = "unknown" if noise_sd is None else f"{noise_sd:.3g}"
    return f"Recovery time {recovery}; noise of a rating {noise}."


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"
