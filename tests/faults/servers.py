"""A server with some listeners, for the tests that harm it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bandstand.store.database.connection import open_store
from bandstand.store.songs import songs
from tests.web.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bandstand.store.accounts import Role
    from tests.web.serving import Server

SONGS = 60
NAMES = ("ben", "cleo", "dan", "eve")


@contextmanager
def harmed(home: Path, **options: Any) -> Iterator[Server]:
    """Give a server with an admin and four listeners, and songs that they can rate."""
    people: dict[str, Role] = {"ann": "admin", **dict.fromkeys(NAMES, "listener")}
    quiet = {"BANDSTAND_ACCESS_LOG": "no"}
    with serving(home, invented=SONGS, names=people, variables=quiet, **options) as server:
        yield server


def song_ids(server: Server) -> list[str]:
    """Return the ids of all songs of a server."""
    with open_store(server.store) as store, store.reading() as connection:
        return [song.id for song in songs.present(connection)]
