"""The features of a shelf's songs: the mapped matrix itself, or a copy where some have none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.history import FEATURE_LIMIT
from bandstand.core.play_times import SongFeatures
from bandstand.types import read_only

if TYPE_CHECKING:
    from bandstand.music.catalogue.matrix import FeatureMatrix, Features, Ids
    from bandstand.types import AnyArray

_BLOCK: Final = 16_384  # songs


def features_for(
    ids: Ids, matrix: FeatureMatrix | None
) -> tuple[Ids, SongFeatures | None, AnyArray]:
    """Return ids, the catalogue of all songs, and which of them have features.

    Songs without have zeros. Where the matrix has exactly these songs, ids and features are those
    that are mapped, and nothing is copied.
    """
    if matrix is None or not len(ids) or not len(matrix):
        return ids, None, read_only(np.zeros(len(ids), dtype=np.bool_))
    # A damaged row is as good as none: the song can be played, nothing can be said of it.
    sound = _sound(matrix.table)
    if np.array_equal(ids, matrix.ids) and sound.all():
        return matrix.ids, SongFeatures.of(matrix.table), read_only(sound)
    places = np.minimum(np.searchsorted(matrix.ids, ids), len(matrix) - 1)
    known = (matrix.ids[places] == ids) & sound[places]
    if not known.any():
        return ids, None, read_only(known)
    table: Features = np.zeros((len(ids), matrix.table.shape[1]), dtype=np.float32)
    for start in range(0, len(ids), _BLOCK):
        some = slice(start, start + _BLOCK)
        table[some][known[some]] = matrix.table[places[some][known[some]]]
    # What is typical is judged by those that have features.
    typical = SongFeatures.of(table[known]).typical_distance
    return ids, replace(SongFeatures.of(table), typical_distance=typical), read_only(known)


def _sound(table: Features) -> AnyArray:
    """Return which rows hold features, and a one at the end."""
    sound = np.empty(len(table), dtype=np.bool_)
    for start in range(0, len(table), _BLOCK):
        block = table[start : start + _BLOCK]
        fits = np.all(np.abs(block) <= FEATURE_LIMIT, axis=1)
        sound[start : start + len(block)] = fits & (block[:, -1] == 1)
    return sound
