"""What may be played, asked about without looking at a million songs.

Whether anything is left, which songs stand for all of them, and a song drawn at random: each
is found from a few rows as a rule, and from all of them where those few do not tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.core.model.candidates import CandidateSet
    from bandstand.types import AnyArray, Indices

# A share of so many songs is known to about a hundredth; of fewer songs all are looked at.
SAMPLE: Final = 1_024
# Rows that are looked at to find that many which may be played.
_PROBES: Final = 16 * SAMPLE
# The first rows that are looked at; then eight times as many, and so on.
_FIRST: Final = 256
_GROWTH: Final = 8
# So often a song is drawn from all, in the hope of one that may be played.
_DRAWS: Final = 64


def blocks(allowed: CandidateSet) -> Iterator[Indices]:
    """Yield the rows that may be played, few at first: for those who need not see them all."""
    listed, start, size = allowed.listed, 0, _FIRST
    end = allowed.count if listed is None else len(listed)
    while start < end:
        stop = min(start + size, end)
        rows = np.arange(start, stop) if listed is None else listed[start:stop]
        yield rows[allowed.contains(rows)]
        start, size = stop, size * _GROWTH


def is_any(allowed: CandidateSet) -> bool:
    """Return whether there is a song that may be played."""
    return any(len(rows) for rows in blocks(allowed))


def distinct(codes: AnyArray, allowed: CandidateSet, *, enough: int) -> int:
    """Return how many different codes there are, or a number that is `enough`; −1 is none."""
    found: Indices = np.empty(0, dtype=np.intp)
    for rows in blocks(allowed):
        found = np.union1d(found, codes[rows])
        if int(np.count_nonzero(found >= 0)) >= enough:
            break
    return int(np.count_nonzero(found >= 0))


def sample(allowed: CandidateSet, most: int = SAMPLE) -> Indices:
    """Return rows that may be played: all, or some of them, evenly spread, always the same."""
    if allowed.upper_count <= most:
        return allowed.rows()
    if allowed.listed is not None:
        places = allowed.listed[_spread(len(allowed.listed), most)]
    else:  # of a mask there may be little
        places = _spread(allowed.count, most if allowed.mask is None else _PROBES)
    rows = places[allowed.contains(places)]
    if not len(rows):
        rows = allowed.rows()
    return rows[_spread(len(rows), most)]


def drawn(allowed: CandidateSet, rng: np.random.Generator) -> int:
    """Return one of the rows, each as likely as any other; there must be one."""
    if allowed.listed is None and allowed.upper_count > SAMPLE:
        for row in rng.integers(allowed.count, size=_DRAWS):
            if allowed.contains(np.array([row]))[0]:
                return int(row)
    rows = allowed.rows()
    return int(rows[rng.integers(len(rows))])


def _spread(count: int, most: int) -> Indices:
    """Return at most `most` places of `count`, evenly spread."""
    few = min(count, most)
    return np.arange(few) * count // max(few, 1)
