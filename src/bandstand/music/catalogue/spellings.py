"""Texts that many songs share, each kept once and known by a number.

A library has far fewer names than songs. So each spelling is folded once, when it is first met,
and a song keeps a small number instead of a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.music.catalogue.names import (
    artist_keys,
    genre_keys,
    genre_names,
    lead_artist,
    name_key,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bandstand.types import AnyArray

NOTHING: Final = -1  # the number of a text that is not there


class Spellings:
    """A growing list of different texts. Numbers never change, so shelves may share it."""

    def __init__(self, keys_of: Callable[[str], Iterable[str]]) -> None:
        self._keys_of = keys_of
        self._texts: list[str] = []
        self._codes: dict[str, int] = {}
        # Most names have one spelling: a tuple of one is half of a list.
        self._by_key: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def __getitem__(self, code: int) -> str | None:
        return None if code == NOTHING else self._texts[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def code(self, text: str | None) -> int:
        """Return the number of a text, which is new if the text is."""
        if text is None:
            return NOTHING
        found = self._codes.get(text)
        if found is None:
            keys = tuple(self._keys_of(text))
            found = len(self._texts)
            self._texts.append(text)
            for key in keys:
                self._by_key[key] = (*self._by_key.get(key, ()), found)
            self._codes[text] = found  # last: whoever finds it finds all of it
        return found

    def known_as(self, key: str) -> Sequence[int]:
        """Return the numbers of all spellings that go by a folded name."""
        return self._by_key.get(key, ())


class Artists(Spellings):
    """Spellings of artists; each has a number for who leads, whoever the guests are."""

    def __init__(self) -> None:
        super().__init__(lambda text: artist_keys(text, None))
        self._leads: dict[str, int] = {}
        self._lead_of: list[int] = []

    def code(self, text: str | None) -> int:
        """Return the number of a text, which is new if the text is."""
        found = super().code(text)
        if text is not None and found == len(self._lead_of):
            self._lead_of.append(self._leads.setdefault(lead_artist(text), len(self._leads)))
        return found

    def leads(self) -> AnyArray:
        """Return the lead artist of each spelling, and at the end that of nothing."""
        return np.array([*self._lead_of, NOTHING], dtype=np.int32)


class Names:
    """The names of a library's artists, albums and genres."""

    def __init__(self) -> None:
        self.artists: Final = Artists()
        self.albums: Final = Spellings(lambda text: {name_key(text)} - {""})
        self.genres: Final = Spellings(genre_keys)


class SpeltGenres(Sequence[tuple[str, ...]]):
    """The genres of each song, as its tag writes them."""

    def __init__(self, codes: AnyArray, spellings: Spellings) -> None:
        self.codes: Final = codes
        self.spellings: Final = spellings

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return tuple(genre_names(self.spellings[code]) for code in self.codes[row].tolist())
        return genre_names(self.spellings[int(self.codes[row])])
