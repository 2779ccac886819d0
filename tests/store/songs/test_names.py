"""Artists, albums and genres: what is listed is what is found, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.store.songs import files
from bandstand.store.songs import pages as song_names
from bandstand.store.songs import pages as song_pages
from bandstand.store.songs.pages import MAX_KEY_CHARS, Filter, names
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis, discarded, some_examples

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store
    from bandstand.store.songs.pages import Of

WRITTEN = (None, "Björk", "BJO\u0308RK", "Rock", "rock ", "Rock/Pop", "Pop; Rock", "Straße", "100%")
tags = st.fixed_dictionaries(
    {name: st.sampled_from(WRITTEN) for name in ("artist", "album", "album_artist", "genre")}
)


def fill(connection: Connection, songs: list[dict[str, str | None]]) -> None:
    found = [
        (f"/music/{number}.ogg".encode(), analysis(number, **given_tags))
        for number, given_tags in enumerate(songs)
    ]
    record_analyses(connection, found, scan=1, now=1)


def listed(connection: Connection, of: Of, text: str = "") -> list[tuple[str, str | None, int]]:
    return [(it.name, it.artist, it.songs) for it in names(connection, of, text=text)]


def test_spellings_of_a_name_are_one_name(store: Store) -> None:
    with store.writing() as connection:
        fill(connection, [{"artist": name} for name in ("Björk", "BJÖRK", "Björk", "Abba", None)])
        assert listed(connection, "artist") == [("Abba", None, 1), ("Björk", None, 3)]


def test_a_tag_may_name_several_genres(store: Store) -> None:
    with store.writing() as connection:
        fill(connection, [{"genre": it} for it in ("Rock/Pop", "rock", "Pop, rock, Rock", "Jazz")])
        assert listed(connection, "genre") == [
            ("Jazz", None, 1),
            ("Pop", None, 2),
            ("rock", None, 3),
        ]


def test_albums_of_one_name_are_told_apart_by_whose_they_are(store: Store) -> None:
    with store.writing() as connection:
        fill(
            connection,
            [
                {"album": "Hits", "artist": "Queen"},
                {"album": "hits", "artist": "Queen & Bowie", "album_artist": "Queen"},
                {"album": "Hits", "artist": "Abba"},
                {"album": "Hits", "artist": None},
                {"album": None, "artist": "Abba"},
            ],
        )
        assert listed(connection, "album") == [
            ("Hits", None, 1),
            ("Hits", "Abba", 1),
            ("Hits", "Queen", 2),
        ]
        assert listed(connection, "album", "QUEEN hit") == [("Hits", "Queen", 2)]


@some_examples
@given(st.lists(tags, max_size=10))
def test_as_many_songs_are_found_as_are_listed(
    shared: Store, songs: list[dict[str, str | None]]
) -> None:
    with discarded(shared) as connection:
        fill(connection, songs)
        for of in song_names.OF:
            for name in names(connection, of):
                wanted: dict[str, Any] = {of: name.name}
                if of == "album":
                    if name.artist is None:
                        continue  # nothing tells these from others of the name
                    wanted["album_artist"] = name.artist
                found = song_pages.durations(connection, Filter(**wanted))
                assert len(found) == name.songs, name


def test_names_are_in_their_order_and_each_has_a_key_of_its_own(store: Store) -> None:
    # One letter that becomes eighteen when it is folded.
    long = ["\ufdfa" * 500, "\ufdfa" * 499 + "x", "b", "A", "c" * 500]
    with store.writing() as connection:
        fill(connection, [{"artist": name, "album": name} for name in long])
        for of in ("artist", "album"):
            keys = [name.key for name in names(connection, of)]
            assert keys == sorted(set(keys))
            assert len(keys) == len(long)
            assert max(map(len, keys)) <= MAX_KEY_CHARS + 17


def test_names_of_songs_whose_files_are_gone_are_not_listed(store: Store) -> None:
    with store.writing() as connection:
        fill(connection, [{"artist": "a", "album": "b", "genre": "c"}])
        files.mark_missing(connection, b"/music", 2)
        assert [names(connection, of) for of in song_names.OF] == [[], [], []]


@pytest.mark.parametrize("text", ["", "  ", "%", "_", "\0", "\ud800", "x" * 9_000])
def test_any_text_may_be_looked_for(store: Store, text: str) -> None:
    with store.writing() as connection:
        fill(connection, [{"artist": "a"}])
        assert len(names(connection, "artist", text=text)) == (0 if text.strip() else 1)


def test_there_are_no_names_of_anything_else(store: Store) -> None:
    with store.reading() as connection, pytest.raises(InvalidInputError, match="artist, album"):
        names(connection, "year")  # type: ignore[arg-type]
