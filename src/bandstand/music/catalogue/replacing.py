"""A catalogue in which some songs are replaced: the rows of all others are taken as they are.

To project a million songs takes half a minute, to copy their rows less than a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.music.catalogue.array_file import let_go
from bandstand.music.catalogue.matrix import ID_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bandstand.arrays import AnyArray, Indices, Matrix
    from bandstand.music.catalogue.matrix import Catalogue, Ids

_BLOCK: Final = 8_192  # songs in memory at a time
_LET_GO_EVERY: Final = 8  # blocks


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replaced:
    """A catalogue as it will be: some rows of the one before, and new ones between them."""

    before: Catalogue
    staying: Indices  # rows of the one before
    new: Ids
    features: Matrix  # of the new ones
    places: Indices  # how many of those that stay come before each new one

    @classmethod
    def of(
        cls, before: Catalogue, *, gone: Sequence[str], new: Sequence[str], features: Matrix
    ) -> Replaced:
        """Return `before` without the songs `gone`, and with the songs `new`, which rise.

        A song that has changed is gone and new.
        """
        stays = np.ones(len(before), dtype=np.bool_)
        stays[_rows(before.ids, _keys(gone))] = False
        staying = np.flatnonzero(stays)
        keys = _keys(new)
        return cls(
            before=before,
            staying=staying,
            new=keys,
            features=features,
            places=np.searchsorted(before.ids[staying], keys),
        )

    def __len__(self) -> int:
        return len(self.staying) + len(self.new)

    def chunks(self) -> Iterator[tuple[Ids, AnyArray]]:
        """Yield the ids and features of all songs in their order, some at a time."""
        count = len(self.staying)
        for start in range(0, max(count, 1), _BLOCK):
            stop = start + _BLOCK
            rows = self.staying[start:stop]
            # The last block also takes those that come after all others.
            here = (self.places >= start) & ((self.places < stop) | (stop >= count))
            places = self.places[here] - start
            ids: Ids = np.insert(self.before.ids[rows], places, self.new[here])
            yield ids, np.insert(self.before.features[rows], places, self.features[here], axis=0)
            if start // _BLOCK % _LET_GO_EVERY == 0:
                let_go(self.before.table)  # what was copied is not needed again


def _keys(songs: Sequence[str]) -> Ids:
    return np.array([song.encode("ascii") for song in songs], dtype=f"|S{ID_LENGTH}")


def _rows(ids: Ids, keys: Ids) -> Indices:
    """Return the rows of those of the keys that are there."""
    if not len(ids):
        return np.empty(0, dtype=np.intp)
    rows = np.minimum(np.searchsorted(ids, keys), len(ids) - 1)
    found: Indices = rows[ids[rows] == keys]
    return found
