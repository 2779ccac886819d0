"""Gathered plays as histories: what two sources have counts once, in order of time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstand.types import frozen
from bandstand_lab.histories.values import Histories, History

if TYPE_CHECKING:
    from array import array

    from bandstand.types import Indices
    from bandstand_lab.histories.gathering import Codes, Columns, Gathering


def merged(gathering: Gathering) -> Histories:
    """Return the history of every listener, the one with most plays first."""
    columns = gathering.columns
    notes = _joined(gathering)
    kept = _without_duplicates(columns, sources=len(gathering.sources))
    listener, time = _array(columns.listener)[kept], _array(columns.time)[kept]
    # Stable: plays of the same second stay in the order of their file.
    order = kept[np.lexsort((time, listener))]
    ends = np.cumsum(np.bincount(listener, minlength=len(gathering.listeners.names)))
    parts = np.split(order, ends[:-1]) if len(ends) else []
    names = _different(gathering.listeners)
    histories = [
        _history(gathering, names[code], code, rows) for code, rows in enumerate(parts) if len(rows)
    ]
    return Histories(
        listeners=tuple(sorted(histories, key=len, reverse=True)),
        item_names=tuple(gathering.items.names),
        sources=tuple(gathering.sources),
        duplicates=len(columns.item) - len(kept),
        ignored=tuple(gathering.ignored),
        notes=notes,
    )


def _joined(gathering: Gathering) -> tuple[str, ...]:
    """Give plays of nobody in particular to the one account that other exports name."""
    nobody = gathering.listeners.by_key.get("")
    if nobody is None or gathering.apart or len(gathering.accounts) != 1:
        return ()
    (somebody,) = gathering.accounts
    listener = _array(gathering.columns.listener)
    listener[listener == nobody] = somebody
    name = gathering.listeners.names[somebody]
    return (f"Files that do not say whose they are were taken to be those of {name}.",)


def _different(listeners: Codes) -> list[str]:
    """Return the listeners' names, with their file where two of different files have the same."""
    shared = {name for name, count in Counter(listeners.names).items() if count > 1}
    return [
        key if name in shared and key else name
        for key, name in zip(listeners.by_key, listeners.names, strict=True)
    ]


def _history(gathering: Gathering, name: str, code: int, rows: Indices) -> History:
    columns = gathering.columns
    items = _array(columns.item)[rows]
    items.flags.writeable = False
    return History(
        name=name,
        items=items,
        times=frozen(_array(columns.time)[rows]),
        played=frozen(_array(columns.played)[rows]),
        skipped=frozen(_array(columns.skipped)[rows]),
        is_dated=code not in gathering.undated,
    )


def _without_duplicates(columns: Columns, *, sources: int) -> Indices:
    """Return the rows of all different plays, rising.

    Within one source nothing is a duplicate, even where two rows are alike: a play that is
    there twice in one file and once in another was twice.
    """
    if sources < 2:
        return np.arange(len(columns.item))
    source = _array(columns.source)
    play = (
        *(_array(columns.mark), _array(columns.stamp)),
        *(_array(columns.item), _array(columns.listener)),
    )
    by_source = np.lexsort((source, *play))
    alike = _same_as_before(by_source, (*play, source))
    place = np.arange(len(by_source))
    begins = np.maximum.accumulate(np.where(alike, 0, place))
    occurrence = np.empty_like(place)
    occurrence[by_source] = place - begins
    # Of two that are the same, the one that tells whether it was skipped stays.
    tells_less = np.isnan(_array(columns.skipped))
    across = np.lexsort((source, tells_less, occurrence, *play))
    return np.sort(across[~_same_as_before(across, (*play, occurrence))])


def _same_as_before(order: Indices, keys: tuple[Any, ...]) -> Any:
    """Return, place by place in `order`, whether all keys are those of the place before."""
    same = np.ones(len(order), dtype=bool)
    same[:1] = False
    for key in keys:
        ordered = key[order]
        same[1:] &= ordered[1:] == ordered[:-1]
    return same


def _array(column: array[Any]) -> Any:
    """Return a column as numbers of numpy, without a copy."""
    kind = np.intp if column.typecode == "q" else np.float64
    return np.frombuffer(column, dtype=kind) if len(column) else np.empty(0, dtype=kind)
