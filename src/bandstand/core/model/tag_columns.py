"""Tags as columns of features: one for each of the most frequent, of unit length for each song."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from bandstand.types import Features

# Rarer tags have no column: they are said of few songs, and every column makes learning slower.
MOST_TAGS: Final = 64


def tag_columns(tags: Sequence[Iterable[str]], *, most: int = MOST_TAGS) -> Features:
    """Return a row for each song, of length 1, or 0 where it has none of the tags: (S, c).

    The most frequent tags come first; of equally frequent ones the first by name.

    >>> np.square(tag_columns([["rock", "live"], ["rock"], []])).round(3).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    """
    each = [_checked(row, names) for row, names in enumerate(tags)]
    counts = Counter(name for names in each for name in names)
    kept = sorted(counts, key=lambda name: (-counts[name], name))[:most]
    column = {name: place for place, name in enumerate(kept)}
    columns: Features = np.zeros((len(each), len(kept)), dtype=np.float32)
    for row, names in zip(columns, each, strict=True):
        places = [column[name] for name in names if name in column]
        row[places] = 1 / np.sqrt(max(len(places), 1))
    return columns


def _checked(row: int, names: Iterable[str] | None) -> frozenset[str]:
    """Return the tags of a song; None, NaN and blank texts are none."""
    if names is None or (isinstance(names, float) and np.isnan(names)):
        return frozenset()
    if isinstance(names, str) or not isinstance(names, Iterable):
        _refuse(names, row)
    tags = list(names)
    if not all(isinstance(tag, str) for tag in tags):
        _refuse(names, row)
    return frozenset(tag for tag in tags if tag.strip())


def _refuse(names: object, row: int) -> NoReturn:
    msg = f"the tags of a song must be a list of texts, got {repr(names)[:60]} in row {row}"
    raise InvalidInputError(msg)
