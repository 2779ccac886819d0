"""The best songs by a score, found by looking at every one."""

import numpy as np

from bandstand.types import Indices, Vector


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
