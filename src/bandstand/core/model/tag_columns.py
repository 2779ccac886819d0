"""Tags as columns of features: one for each of the most frequent, of unit length for each song."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

import numpy as np

from bandstand.errors import InvalidInputError
from bandstand.types import Features

# Rarer tags have no column: they are said of few songs, and every column makes learning slower.
MOST_TAGS: Final = 64


def frequent_tags(tags: Iterable[Iterable[str]], *, most: int = MOST_TAGS) -> tuple[str, ...]:
    """Return the most frequent tags of songs; of equally frequent ones the first by name.

    >>> frequent_tags([["rock", "live"], ["rock", "rock"], []])
    ('rock', 'live')
    """
    counts = Counter(name for names in tags for name in frozenset(names))
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:most])


def tag_columns(tags: Sequence[Iterable[str]], kept: Sequence[str]) -> Features:
    """Return a row for each song, of length 1, or 0 where it has none of the tags `kept`: (S, c).

    >>> np.square(tag_columns([["rock", "live"], ["rock"], []], ["rock", "live"])).round(3).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]]
    """
    column = {name: place for place, name in enumerate(kept)}
    columns: Features = np.zeros((len(tags), len(kept)), dtype=np.float32)
    for row, names in zip(columns, tags, strict=True):
        places = list({column[name] for name in names if name in column})
        row[places] = 1 / np.sqrt(max(len(places), 1))
    return columns


def checked_tags(tags: Sequence[Iterable[str] | None]) -> list[frozenset[str]]:
    """Return the tags of each song; None, NaN and blank texts are none."""
    return [_checked(row, names) for row, names in enumerate(tags)]


def _checked(row: int, names: Iterable[str] | None) -> frozenset[str]:
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
