"""How much music there is: what anybody who listens may know of the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bandstand.radio.choice.names import genre_names, name_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bandstand.store.songs import SongRecord

# No song counts for longer, whatever its file pretends.
_LONGEST: Final = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many songs can be played, and of how many names; spellings of one name are one."""

    songs: int
    artists: int
    albums: int  # two albums of one name by two artists are two
    genres: int
    duration: float  # of all songs, in seconds


def tally_of(records: Sequence[SongRecord]) -> Tally:
    """Return how much music these songs are."""
    # Each spelling is looked at once; there are far fewer than songs.
    artists = {record.tags.artist for record in records}
    genres = {record.tags.genre for record in records}
    albums = {
        (record.tags.album, record.tags.album_artist or record.tags.artist) for record in records
    }
    return Tally(
        songs=len(records),
        artists=_distinct(artists),
        albums=len({(name_key(name), name_key(whose or "")) for name, whose in albums if name}),
        genres=_distinct(name for genre in genres for name in genre_names(genre)),
        duration=sum(min(record.duration, _LONGEST) for record in records),
    )


def _distinct(names: Iterable[str | None]) -> int:
    return len({name_key(name) for name in names if name} - {""})
