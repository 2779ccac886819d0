"""When two names are the same name, and which genres a tag names.

Two spellings of one name are the same name, and "Rock/Pop" is Rock as well as Pop. All that asks
for songs by a name goes by this: lists of songs, wishes, bans.
"""

from __future__ import annotations

import re
from typing import Final

from bandstand.store.database.queries import folded

_GENRES: Final = re.compile(r"[;/,|\\\0]|\s[-–]\s")


def name_key(name: str) -> str:
    """Return what all spellings of a name have in common.

    >>> name_key("  The  BEATLES ") == name_key("The Beatles")
    True
    """
    return " ".join(folded(name).split())


def genre_names(genre: str | None) -> tuple[str, ...]:
    """Return the genres that a tag names, as they are written.

    >>> genre_names("Rock; Pop/Folk"), genre_names("Hip-Hop")
    (('Rock', 'Pop', 'Folk'), ('Hip-Hop',))
    """
    parts = _GENRES.split(genre or "")
    return tuple(dict.fromkeys(" ".join(part.split()) for part in parts if part.strip()))


def genre_keys(genre: str | None) -> frozenset[str]:
    """Return the names of a song's genres, and of all of them as one.

    >>> sorted(genre_keys("Rock/Pop"))
    ['pop', 'rock', 'rock/pop']
    """
    if genre is None:
        return frozenset()
    return frozenset(name_key(name) for name in (*genre_names(genre), genre)) - {""}
