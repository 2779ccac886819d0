"""Names of artists, albums and genres: their spellings, and how many songs have them.

All spellings of a name count as one, which is shown as most songs write it, and "Rock/Pop" is Rock
as well as Pop. `pages.Filter`, stations and bans compare names in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from sqlalchemy import func, select

from bandstand.errors import InvalidInputError
from bandstand.store.database.schema import FILE, SONG
from bandstand.store.database.values import folded
from bandstand.store.songs.files import PRESENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection


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


Of: TypeAlias = Literal["artist", "album", "genre"]

OF: Final[tuple[Of, ...]] = get_args(Of)
MAX_KEY_CHARS: Final = 480  # characters, and the digest of what is longer
_Spellings: TypeAlias = Counter[tuple[str, str | None]]  # name and artist, as they are written

# Whose album a song is on, as far as its tags say.
ALBUM_ARTIST: Final = func.coalesce(SONG.c.album_artist, SONG.c.artist)

_COLUMNS: Final = {
    "artist": (SONG.c.artist,),
    "album": (SONG.c.album, ALBUM_ARTIST),
    "genre": (SONG.c.genre,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """One name, and how many present songs have it."""

    key: str  # what its spellings have in common, and what names are ordered by
    name: str
    artist: str | None  # whose album it is; None for all but albums, or where that is not known
    songs: int


def names(connection: Connection, of: Of, *, text: str = "") -> list[Name]:
    """Return all artists, albums or genres in the order of their names.

    With `text` only those that have all of its words in their name, or in that of the album's
    artist, upper or lower case.
    """
    if of not in OF:
        msg = f"names must be those of one of {', '.join(OF)}, got {of!r}"
        raise InvalidInputError(msg)
    words = name_key(text).split()
    spellings = _gathered(_parts(of, _counted(connection, of)))
    found = [_named(key, spellings[key]) for key in spellings if all(it in key for it in words)]
    return sorted(found, key=lambda name: name.key)


def _counted(connection: Connection, of: Of) -> Iterator[tuple[tuple[str | None, ...], int]]:
    """Yield what is written in the tags, and how many present songs have it so."""
    columns = _COLUMNS[of]
    statement = select(*columns, func.count()).join_from(SONG, FILE, FILE.c.song_id == SONG.c.id)
    for row in connection.execute(statement.where(PRESENT).group_by(*columns)):
        yield tuple(row[:-1]), row[-1]


def _parts(
    of: Of, counted: Iterable[tuple[tuple[str | None, ...], int]]
) -> Iterator[tuple[str, str | None, int]]:
    """Yield each name with its artist; a tag may name several genres, and each counts."""
    for written, songs in counted:
        if written[0] is None:
            continue
        if of == "genre":
            one_each = {name_key(name): name for name in reversed(genre_names(written[0]))}
            for name in one_each.values():
                yield name, None, songs
        else:
            yield written[0], written[1] if of == "album" else None, songs


def _gathered(parts: Iterable[tuple[str, str | None, int]]) -> dict[str, _Spellings]:
    spellings: dict[str, _Spellings] = {}
    for name, artist, songs in parts:
        own = name_key(name)
        if own:
            # No name has a line feed in its key, so that no two pairs look alike.
            key = own if artist is None else f"{own}\n{name_key(artist)}"
            spellings.setdefault(key, Counter())[name, artist] += songs
    return spellings


def _named(key: str, spellings: _Spellings) -> Name:
    # The one that most songs have; of several the first by its letters.
    name, artist = min(spellings, key=lambda it: (-spellings[it], it[0], it[1] or ""))
    return Name(key=_bounded(key), name=name, artist=artist, songs=spellings.total())


def _bounded(key: str) -> str:
    """Return a key that fits into an address; folding can make one letter eighteen."""
    if len(key) <= MAX_KEY_CHARS:
        return key
    return f"{key[:MAX_KEY_CHARS]} {blake2b(key.encode(), digest_size=8).hexdigest()}"
