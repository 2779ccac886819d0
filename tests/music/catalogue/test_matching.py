"""Songs in the words of other programs are found, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection

from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.matching import Wanted, match
from bandstand.store.database.connection import Store, open_store
from tests.fixtures.store.examples import analysis, record_analysis

MBID = "0f0e0d0c-0b0a-4908-8706-050403020100"
SONGS: list[dict[str, Any]] = [
    {"title": "Hyperballad", "artist": "Björk", "duration": 321.0, "recording_mbid": MBID},
    {"title": "Hyperballad (Live 1997)", "artist": "Björk", "duration": 290.0},
    {"title": "Hyperballad", "artist": "Another", "duration": 321.0},
    {"title": "Here", "artist": None, "album_artist": "The Beatles", "duration": 100.0},
    {"title": "Here", "artist": None, "duration": 100.0},
    {"title": None, "artist": "Björk", "duration": 100.0},
]


@pytest.fixture
def library(tmp_path: object) -> Iterator[tuple[Connection, SongColumns, list[str]]]:
    store: Store
    with open_store(f"{tmp_path}/radio.db", now=1) as store:
        with store.writing() as connection:
            ids = [
                record_analysis(
                    connection, f"/{seed}.ogg".encode(), analysis(seed, **song), scan=1, now=1
                ).song_id
                for seed, song in enumerate(SONGS, 1)
            ]
        columns = load_catalogue(store).columns
        with store.reading() as connection:
            yield connection, columns, ids


def test_a_song_is_found_by_its_recording_or_by_its_names_and_length(
    library: tuple[Connection, SongColumns, list[str]],
) -> None:
    connection, columns, ids = library
    wanted = {
        Wanted(title="?", artist="?", recording=MBID.upper()): 0,
        Wanted(title="HYPERBALLAD", artist="bjork feat. Guest"): 0,
        Wanted(title="Hyperballad", artist="Björk", seconds=314): 0,
        Wanted(title="Hyperballad", artist="Björk", seconds=291): 1,
        Wanted(title="Hyperballad - Live", artist="Björk", seconds=289): 1,
        Wanted(title="Hyperballad (live 1997)", artist="Björk"): 1,
        Wanted(title="Hyperballad", artist="Another"): 2,
        Wanted(title="Here", artist="Beatles", seconds=100): 3,
        Wanted(title="Hyperballad", artist="Björk", recording="f" * 36): 0,
        Wanted(title="Hyperballad", artist="Björk", seconds=305): None,
        Wanted(title="Hyperballad - Remix", artist="Björk"): None,
        Wanted(title="Hyperballad", artist="Somebody"): None,
        Wanted(title="Here", artist="Unknown Artist", seconds=100): None,
        Wanted(title="", artist="Björk", seconds=100): None,
    }
    found = match(connection, columns, list(wanted))
    assert [None if it is None else ids.index(it.id) for it in found] == [*wanted.values()]


def test_an_empty_library_has_none(tmp_path: object) -> None:
    with open_store(f"{tmp_path}/radio.db", now=1) as store, store.reading() as connection:
        columns = load_catalogue(store).columns
        assert match(connection, columns, [Wanted(title="a", artist="b")]) == [None]
        assert match(connection, columns, []) == []
