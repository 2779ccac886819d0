"""The songs that may be chosen, without a list of a million of them, and the best of some songs.

A search looks at few songs closely, so its filters are applied to those few only:

    everything(count)   all songs of a catalogue           marked(mask)   those that are marked
    only(rows, count)   these songs                        without(rows)  … but for these
                                                           where(test)    … that pass a test

The same song twice may get values that differ in their last digits, since a product of matrices
rounds by where in them a row stands. `best_of` makes such songs equal again, so that the smallest
row comes first, however they were computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bandstand.core.model.history import Songs
from bandstand.types import AnyArray, Indices, Vector

# For each of some rows, whether it may be chosen.
Test: TypeAlias = Callable[[Indices], AnyArray]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CandidateSet:
    """The songs that may be chosen, of a catalogue of `count`.

    >>> some = CandidateSet.everything(6).without([0, 3]).where(lambda rows: rows % 2 == 0)
    >>> some.contains(np.array([2, 3, 5])).tolist(), some.rows().tolist()
    ([True, False, False], [2, 4])
    """

    count: int
    mask: AnyArray | None = None  # (count,), or everything
    listed: Indices | None = None  # rising, or everything
    excluded: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))  # rising
    tests: tuple[Test, ...] = ()

    @classmethod
    def everything(cls, count: int) -> CandidateSet:
        """Return all songs."""
        return cls(count=count)

    @classmethod
    def only(cls, rows: ArrayLike, count: int) -> CandidateSet:
        """Return the songs in `rows`, which come in any order."""
        return cls(count=count, listed=_rising(rows))

    @classmethod
    def marked(cls, mask: AnyArray) -> CandidateSet:
        """Return the songs whose place in `mask` is true."""
        return cls(count=len(mask), mask=np.asarray(mask, dtype=np.bool_))

    def without(self, rows: ArrayLike) -> CandidateSet:
        """Return all of them but those in `rows`."""
        more = _rising(rows)
        if not len(more):
            return self
        out = np.union1d(self.excluded, more) if len(self.excluded) else more
        return replace(self, excluded=out)

    def where(self, test: Test) -> CandidateSet:
        """Return those of them that pass a test, which is asked only about rows that matter."""
        return replace(self, tests=(*self.tests, test))

    @property
    def upper_count(self) -> int:
        """An upper bound of the number of songs that are allowed."""
        if self.listed is not None:
            return len(self.listed)
        return self.count if self.mask is None else int(np.count_nonzero(self.mask))

    def contains(self, rows: Indices) -> AnyArray:
        """Return for each of `rows` whether it may be chosen: (n,)."""
        found = np.ones(len(rows), dtype=np.bool_) if self.mask is None else self.mask[rows]
        if self.listed is not None:
            found = found & is_among(rows, self.listed)
        if len(self.excluded):
            found = found & ~is_among(rows, self.excluded)
        for test in self.tests:
            found = found & test(rows)
        return found

    def rows(self) -> Indices:
        """Return all of them, rising: this looks at every song."""
        candidates = self.listed
        if candidates is None:
            everything = np.arange(self.count, dtype=np.intp)
            candidates = everything if self.mask is None else np.flatnonzero(self.mask)
        if self.tests or len(self.excluded) or (self.mask is not None and self.listed is not None):
            return np.asarray(candidates[self.contains(candidates)])
        return candidates


# The songs that may be chosen, or simply a list of rows.
Choice: TypeAlias = CandidateSet | Indices


def allowed_of(choice: Choice, count: int) -> CandidateSet:
    """Return the candidates among `count` songs."""
    return choice if isinstance(choice, CandidateSet) else CandidateSet.only(choice, count)


def _rising(rows: ArrayLike) -> Indices:
    """Return the rows in order, each once."""
    some = np.asarray(rows, dtype=np.intp)
    if len(some) < 2 or bool((some[1:] > some[:-1]).all()):
        return some
    return np.unique(some)


def is_among(rows: Indices, rising: Indices) -> AnyArray:
    """Return for each of `rows` whether it is one of some others, which come in rising order."""
    if not len(rising):
        return np.zeros(len(rows), dtype=np.bool_)
    places = np.minimum(np.searchsorted(rising, rows), len(rising) - 1)
    return np.asarray(rising[places] == rows)


def best_rows(scores: Vector, count: int, allowed: Indices) -> Indices:
    """Return the rows of the `count` largest scores among `allowed`, best first.

    Equal scores are ordered by row, the smallest first, so the answer does not depend on
    the order of `allowed`. Fewer rows come back where fewer are allowed.

    >>> best_rows(np.array([1.0, 3.0, 2.0, 3.0]), 3, np.array([3, 2, 1])).tolist()
    [1, 3, 2]
    """
    count = min(count, len(allowed))
    if count <= 0:
        return np.empty(0, dtype=np.intp)
    rows, found = np.asarray(allowed, dtype=np.intp), scores[allowed]
    if count < len(rows):
        # Everything below the count-th largest is out; only the rest is sorted.
        in_reach = found >= np.partition(found, len(found) - count)[len(found) - count]
        rows, found = rows[in_reach], found[in_reach]
    return rows[np.lexsort((rows, -found))[:count]]


# Values closer than this share of their own size count as equal: they differ by rounding alone.
EQUAL: Final = 1e-12
_NEARLY_EQUAL: Final = 1e-9


def best_of(songs: Songs, rows: Indices, values: Vector, count: int) -> Indices:
    """Return those of `rows` with the `count` largest values, best first, equal ones by row."""
    if len(values) > count:
        lowest = np.partition(values, -count)[-count]
        near = np.flatnonzero(values >= lowest - 2 * _NEARLY_EQUAL * np.abs(values).max())
        rows, values = rows[near], values[near]
    order = np.argsort(rows)
    rows, values = rows[order], _made_equal(songs, rows[order], values[order])
    return rows[np.argsort(-_ranks(values), kind="stable")[: max(count, 0)]]


def _ranks(values: Vector) -> Vector:
    """Return one number for each value, the larger the better, the same for equal ones."""
    order = np.argsort(values)
    rising = values[order]
    steps = np.diff(rising) > EQUAL * np.maximum(np.abs(rising[1:]), np.abs(rising[:-1]))
    ranks = np.empty(len(values))
    ranks[order] = np.concatenate([[0.0], np.cumsum(steps)])[: len(values)]
    return ranks


def _made_equal(songs: Songs, rows: Indices, values: Vector) -> Vector:
    """Return the values, the same for the same song, however rounding left them."""
    close = np.diff(np.sort(values)) <= _NEARLY_EQUAL * np.abs(values).max(initial=0.0)
    if not close.any():
        return values
    features, elapsed = songs.features_of(rows), songs.elapsed_of(rows)
    _, first, group = np.unique(
        np.column_stack([features, elapsed]), axis=0, return_index=True, return_inverse=True
    )
    same = values[first][group.reshape(-1)]
    # Songs with the same features may still differ by artist, album or their own answers.
    is_close = np.abs(same - values) <= _NEARLY_EQUAL * np.abs(values).max()
    return np.where(is_close, same, values)
