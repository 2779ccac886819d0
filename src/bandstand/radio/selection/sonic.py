"""Likeness of songs by their sound alone, the same for every listener.

    similarity = max(0, 1 − d / √(2 v)),    v: the mean square of a song's sound

So 1 is the same sound, and 0 what two songs of the library are to each other on average, or less.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.music.catalogue.design_view import DesignView
from bandstand.radio.selection.filters import centre_of, nearest_rows
from bandstand.types import AnyArray, Indices, Vector


class Match(NamedTuple):
    """A song, by its row, and how much it sounds like what was asked for."""

    row: int
    similarity: float


def similar_songs(catalogue: Catalogue, row: int, count: int) -> list[Match]:
    """Return the songs that sound most like one, without it; none where its sound is unknown."""
    if catalogue.sound is None or not catalogue.has_features[row] or not count:
        return []
    point = centre_of(catalogue.sound.song_features, np.array([row]))
    rows = nearest_rows(catalogue.sound.song_features, point, count, _others(catalogue, [row]))
    return _matches(catalogue.sound, point, rows)


def similar_rows(catalogue: Catalogue, rows: Indices, count: int) -> Indices:
    """Return the songs that sound most like some together, without these."""
    known = rows[catalogue.has_features[rows]]
    if catalogue.sound is None or not len(known) or not count:
        return known[:0]
    songs = catalogue.sound.song_features
    return nearest_rows(songs, centre_of(songs, known), count, _others(catalogue, rows.tolist()))


def path(catalogue: Catalogue, start: int, end: int, count: int) -> list[Match]:
    """Return at most `count` songs from one to another, each near a point between them.

    The points are evenly spaced; the similarity of each is that to the song before it.
    """
    if catalogue.sound is None or not catalogue.has_features[[start, end]].all():
        return []
    songs = catalogue.sound.song_features
    first, last = (centre_of(songs, np.array([row])) for row in (start, end))
    rows = [start]
    for share in np.linspace(0, 1, max(count, 2))[1:-1]:
        left = _others(catalogue, [*rows, end])
        rows += nearest_rows(songs, first + share * (last - first), 1, left).tolist()
    rows += [end] if end != start else []
    found = [Match(start, 1.0)]
    for before, row in pairwise(rows):
        point = centre_of(songs, np.array([before]))
        found += _matches(catalogue.sound, point, np.array([row]))
    return found


def _others(catalogue: Catalogue, rows: list[int]) -> CandidateSet:
    marked = catalogue.has_features.copy()
    marked[rows] = False
    return CandidateSet.marked(marked)


def _matches(sound: DesignView, point: Vector, rows: Indices | AnyArray) -> list[Match]:
    typical = float(np.sqrt(2 * sound.sound_square))
    distances = sound.song_features.distances(point, rows).tolist()
    return [
        Match(int(row), max(0.0, 1 - distance / typical))
        for row, distance in zip(rows.tolist(), distances, strict=True)
    ]
