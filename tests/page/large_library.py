"""A radio with very many songs that can all be heard, though there is only one piece of music.

Each song is invented, and its file is another name (a hard link) of the same file. The server is
given no folder, so it never looks into them.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bandstand.music.catalogue.refresh import refreshed
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand_demo.library import demo_library
from benchmarks.fixtures.songs import NOW, add_listeners, invented_song
from tests.web.serving import prepared

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bandstand.store.database.connection import Store
    from tests.web.serving import Server

_AT_ONCE = 500


@contextmanager
def large_library(home: Path, *, songs: int, ratings: int) -> Iterator[Server]:
    """Give a server with so many songs, and "ann", a listener who has given so many ratings."""
    server = prepared(home, names={})
    with open_store(server.store) as store:
        add_playable_songs(store, home / "music", songs)
        server.tokens |= add_listeners(store, {"ann": ratings})
    try:
        yield server.start()
    finally:
        server.close()


def add_playable_songs(store: Store, folder: Path, count: int) -> None:
    """Write invented songs into a store, each with a file that sounds."""
    (sound, *_) = demo_library(folder / "one", at_least=1)
    for first in range(0, count, _AT_ONCE):
        place = folder / f"{first:06}"
        place.mkdir()
        found = []
        for number in range(first, min(first + _AT_ONCE, count)):
            path = place / f"{number}.opus"
            os.link(sound, path)
            found.append((os.fsencode(path), invented_song(number)[1]))
        with store.writing() as connection:
            record_analyses(connection, found, scan=0, now=NOW)
    refreshed(store, now=NOW)
