"""A server over a small library of real files, scanned as they are."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from bandstand.music.catalogue.refresh import refreshed
from bandstand.music.library.scan import scan
from bandstand.music.library.walk import library_roots
from bandstand.settings import Settings
from bandstand.store.database.connection import open_store
from bandstand.store.songs import songs
from bandstand.web.app import create_app
from bandstand.web.server import on_air
from tests.music.library.scanned_library import Reader
from tests.web.worlds import Clock, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bandstand.store.database.connection import Store


@contextmanager
def library_world(folder: Path, library: Path, **settings: Any) -> Iterator[World]:
    """Give a server whose songs are the files below `library`, with real bytes."""
    clock = Clock()
    with open_store(str(folder / "radio.db"), now=clock()) as store:
        scan_into(store, library)
        wanted = Settings(folders=(str(library),), **settings)
        with on_air(store, wanted, clock=clock) as context, asyncio.Runner() as runner:
            yield World(store, context, create_app(context), clock, runner, ids(store))


def scan_into(store: Store, library: Path) -> None:
    """Scan a library in this process, and make its catalogue."""
    moments = count(1)
    scan(store, library_roots([library]), Reader(), now=lambda: next(moments))
    refreshed(store, now=next(moments))


def ids(store: Store) -> list[str]:
    """Return the ids of all songs that can be played."""
    with store.reading() as connection:
        return [song.id for song in songs.present(connection)]


def song_at(world: World, path: Path) -> str:
    """Return the id of the song in a file."""
    with world.store.reading() as connection:
        found = songs.at_path(connection, bytes(path))
    assert found is not None
    return found.id
