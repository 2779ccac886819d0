"""The songs nearest to a song, exactly.

Distances are Euclidean, in the space of the stored features. One pass in single precision over
all songs finds those that may be near; their distances are then computed in double precision, and
only these decide. The answer is that of computing every distance in double precision, with
ties to the smaller row.

    s̃_i = fl₃₂ Σ_j (x_ij − ṽ_j)²,   ṽ = fl₃₂(v)        a product of squared differences with ones

The certificate: all terms are positive, so rounding changes s̃ by a factor of at most
(1 + u)^(p + 2), u = 2⁻²⁴, whatever the order of the sum; by the triangle inequality ṽ for v
changes a distance by at most δ = ‖v − ṽ‖. So a song within distance r of v has

    s̃_i ≤ (r + δ)² exp((p + 8) u) + (p + 2) 2⁻¹⁴⁹

The last term is for squares too small to be normal numbers; the six more u cover double
precision and the comparison. Differences are taken before squares: ‖x‖² − 2x'v + ‖v‖² would need
no less time, and says nothing about songs that lie together far from the origin.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, SupportsIndex

import numpy as np

from bandstand._util.blocks import blocks
from bandstand.errors import InvalidInputError
from bandstand.types import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from bandstand.music.catalogue.matrix import Features
    from bandstand.types import AnyArray, Indices, Vector

_ROUNDING: Final = 2.0**-24
_MIN_FLOAT32: Final = 2.0**-149
_MAX_FLOAT32: Final = float(np.finfo(np.float32).max)
# Three blocks of this size stay in the cache of a processor.
_BLOCK_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Songs by rising distance; equally near ones by row."""

    rows: Indices
    distances: Vector


def nearest(
    features: Features, query: int | ArrayLike, count: int, *, exclude: Sequence[int] = ()
) -> Neighbours:
    """Return the `count` songs nearest to a row of `features`, or to any point.

    A row is not its own neighbour, and rows in `exclude` are left out. Fewer come back where
    there are fewer.

    >>> songs = np.array([[0.0], [3.0], [1.0], [1.0]], dtype=np.float32)
    >>> found = nearest(songs, 0, 2)
    >>> found.rows.tolist(), found.distances.tolist()
    ([2, 3], [1.0, 1.0])
    >>> nearest(songs, [2.9], 1, exclude=[1]).rows.tolist()
    [2]
    """
    _check_features(features)
    row = _row(query, len(features))
    point = _point(features, query if row is None else features[row])
    excluded = np.array([*exclude, *([] if row is None else [row])], dtype=np.intp)
    if count < 0:
        msg = f"count must not be negative, got {count}"
        raise InvalidInputError(msg)
    allowed = _allowed(len(features), excluded)
    return _found(features, point, min(count, int(allowed.sum())), allowed)


def _found(features: Features, point: Vector, count: int, allowed: AnyArray) -> Neighbours:
    rows, distances = np.empty(0, dtype=np.intp), np.empty(0)
    moved, limit = _moved_by_rounding(point), np.float32(math.inf)
    for start, sums in _sums(features, point, count) if count else ():
        # Not "sums <= limit": a sum that is not a number says nothing, so it is looked at.
        near = np.flatnonzero(~(sums > limit)) + start
        near = near[allowed[near]]
        if len(near):
            rows = np.concatenate([rows, near])
            distances = np.concatenate([distances, _distances(features[near], point)])
            kept = np.lexsort((rows, distances))[:count]
            rows, distances = rows[kept], distances[kept]
            if len(rows) == count:
                limit = _largest_sum(float(distances[-1]) + moved, len(point))
    rows.flags.writeable = False
    return Neighbours(rows=rows, distances=frozen(distances))


def _sums(features: Features, point: Vector, count: int) -> Iterator[tuple[int, AnyArray]]:
    """Yield all rows in order, block by block: the first row, and the sums s̃."""
    songs, columns = features.shape
    height = min(max(_BLOCK_BYTES // (4 * columns), count, 1), max(songs, 1))
    # The point once for each row, since numpy is slow at loops over short rows.
    points = np.tile(_rounded(point), (height, 1))
    squares, ones = np.empty_like(points), np.ones(columns, dtype=np.float32)
    for rows in blocks(songs, height):
        block = features[rows]
        part = squares[: len(block)]
        # What is too large for single precision becomes infinite, and so does its limit. A
        # product of infinities with ones is infinite or, in some kernels, not a number.
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            np.subtract(block, points[: len(block)], out=part)
            np.multiply(part, part, out=part)
            sums = part @ ones
        yield rows.start, sums


def _rounded(point: Vector) -> AnyArray:
    with np.errstate(under="ignore"):
        rounded: AnyArray = point.astype(np.float32)
    return rounded


def _moved_by_rounding(point: Vector) -> float:
    """Return how far the point is from its neighbour in single precision: δ."""
    with np.errstate(under="ignore"):
        return math.sqrt(float(np.square(point - _rounded(point)).sum()))


def _largest_sum(reach: float, columns: int) -> np.float32:
    """Return the largest sum s̃ that a song can have within `reach` = r + δ."""
    limit = reach**2 * math.exp((columns + 8) * _ROUNDING) + (columns + 2) * _MIN_FLOAT32
    with np.errstate(under="ignore"):
        return np.float32(limit if limit < _MAX_FLOAT32 else math.inf)


def _distances(songs: Features, point: Vector) -> Vector:
    with np.errstate(under="ignore"):
        distances: Vector = np.sqrt(np.square(songs - point).sum(axis=1))
    return distances


def _check_features(features: Features) -> None:
    if features.ndim != 2 or features.dtype != np.float32 or not features.shape[1]:
        msg = f"features must be a float32 table, got {features.dtype} in shape {features.shape}"
        raise InvalidInputError(msg)


def _row(query: int | ArrayLike, songs: int) -> int | None:
    """Return the row that is asked about, or None if it is a point."""
    if not isinstance(query, SupportsIndex) or isinstance(query, np.ndarray):
        return None
    row = operator.index(query)
    if not 0 <= row < songs:
        msg = f"a row must be one of the {songs} of the catalogue, got {row}"
        raise InvalidInputError(msg)
    return row


def _point(features: Features, query: ArrayLike) -> Vector:
    """Return the point that is asked about, in double precision."""
    point: AnyArray = np.asarray(query, dtype=np.float64)
    if point.shape != features.shape[1:] or not (np.abs(point) <= _MAX_FLOAT32).all():
        msg = f"a point must be {features.shape[1]} finite numbers, got {query!r}"
        raise InvalidInputError(msg)
    return point


def _allowed(songs: int, excluded: Indices) -> AnyArray:
    if ((excluded < 0) | (excluded >= songs)).any():
        msg = f"excluded rows must be among the {songs} of the catalogue, got {excluded.tolist()}"
        raise InvalidInputError(msg)
    allowed = np.ones(songs, dtype=np.bool_)
    allowed[excluded] = False
    return allowed
