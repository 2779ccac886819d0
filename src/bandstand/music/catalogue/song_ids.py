"""Songs by row and rows by song, over one array of ids: nothing is kept per song besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bandstand.music.catalogue.matrix import Ids
    from bandstand.types import Indices


class SongIds(Sequence[str]):
    """The id of the song in each row, as text.

    >>> ids = SongIds(np.array([b"a", b"b", b"c"]))
    >>> ids[1], ids[1:], ids == ("a", "b", "c")
    ('b', ('b', 'c'), True)
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            return tuple(song.decode() for song in self._ids[row].tolist())
        return bytes(self._ids[row]).decode()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._ids), 4_096):
            yield from self[start : start + 4_096]

    def __contains__(self, song: object) -> bool:
        return song in RowsBySong(self._ids)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SongIds):
            return bool(np.array_equal(self._ids, other._ids))
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


class RowsBySong(Mapping[str, int]):
    """The row of each song.

    >>> rows = RowsBySong(np.array([b"a", b"b", b"c"]))
    >>> rows["b"], rows.get("x"), rows.of(["c", "x", "a"]).tolist()
    (1, None, [2, -1, 0])
    """

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(SongIds(self._ids))

    def __getitem__(self, song: str) -> int:
        [row] = self.of([song]).tolist() if isinstance(song, str) else [-1]
        if row < 0:
            raise KeyError(song)
        return int(row)

    def of(self, songs: Sequence[str]) -> Indices:
        """Return the rows of many songs at once, −1 for those that are not there."""
        width = self._ids.dtype.itemsize
        # What is longer would be cut, and NumPy takes a NUL at the end for none.
        wanted = [song.encode(errors="surrogatepass") for song in songs]
        wanted = [key if len(key) <= width and b"\0" not in key else b"" for key in wanted]
        keys = np.array(wanted, dtype=self._ids.dtype)
        if not len(self._ids):
            return np.full(len(keys), -1, dtype=np.intp)
        rows = np.minimum(np.searchsorted(self._ids, keys), len(self._ids) - 1)
        return np.where((self._ids[rows] == keys) & (keys != b""), rows, -1)
