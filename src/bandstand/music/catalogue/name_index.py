"""Which songs go by a name: the rows of each spelling, side by side in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import read_only

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.music.catalogue.columns import SongColumns
    from bandstand.music.catalogue.spellings import Spellings
    from bandstand.types import AnyArray, Indices

NO_ROWS: Final[Indices] = read_only(np.empty(0, dtype=np.intp))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowsByCode:
    """The rows with each number: those with number c are `rows[starts[c]:starts[c + 1]]`."""

    rows: AnyArray  # int32; of one number, rising
    starts: AnyArray

    @classmethod
    def of(cls, codes: AnyArray, count: int) -> RowsByCode:
        """Return the rows with each of `count` numbers; negative ones are nobody's."""
        some = np.flatnonzero(codes >= 0).astype(np.int32)
        order = np.argsort(codes[some], kind="stable")
        starts = np.zeros(count + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes[some], minlength=count), out=starts[1:])
        return cls(rows=read_only(some[order]), starts=read_only(starts))

    def with_code(self, code: int) -> AnyArray:
        """Return the rows with a number; none if it came after this was made."""
        if code + 1 >= len(self.starts):
            return NO_ROWS
        part: AnyArray = self.rows[self.starts[code] : self.starts[code + 1]]
        return part


class NameIndex:
    """The rows of all names of a library: by scope, then by folded name."""

    def __init__(self, columns: SongColumns) -> None:
        names = columns.names
        # Most songs have the same artist twice, and are found by the first.
        others = np.where(columns.album_artist == columns.artist, -1, columns.album_artist)
        self._parts: dict[str, tuple[Spellings, Sequence[RowsByCode]]] = {
            "artist": (
                names.artists,
                [
                    RowsByCode.of(columns.artist, len(names.artists)),
                    RowsByCode.of(others, len(names.artists)),
                ],
            ),
            "album": (names.albums, [RowsByCode.of(columns.album, len(names.albums))]),
            "genre": (names.genres, [RowsByCode.of(columns.genre, len(names.genres))]),
        }

    def rows(self, scope: str, key: str) -> Indices:
        """Return the rows of a folded name, rising; none if there are no such songs."""
        spellings, parts = self._parts[scope]
        found = [part.with_code(code) for code in spellings.known_as(key) for part in parts]
        if not found:
            return NO_ROWS
        rows: Indices = np.unique(np.concatenate(found)).astype(np.intp)
        return rows
