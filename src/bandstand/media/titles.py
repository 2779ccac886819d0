"""What a song is called where it has to be called something."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bandstand.store.songs.songs import SongRecord


def title_of(song: SongRecord) -> str:
    """Return a song's title, or else the name of its file without the ending."""
    if song.tags.title is not None:
        return song.tags.title
    name = os.path.basename(song.path).decode("utf-8", "replace")
    stem = os.path.splitext(name)[0]
    return "".join(letter if letter.isprintable() else "�" for letter in stem)


def full_title(song: SongRecord) -> str:
    """Return "artist - title", or the title alone where there is no artist."""
    artist = song.tags.artist
    return title_of(song) if artist is None else f"{artist} - {title_of(song)}"
