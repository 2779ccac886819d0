"""Pages of songs, on both databases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import NotFoundError
from bandstand.store.songs import files, songs
from bandstand.store.songs import pages as song_pages
from bandstand.store.songs.pages import Filter
from bandstand.store.songs.save_analysis import record_analyses
from tests.fixtures.store.examples import analysis, discarded, some_examples

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store

NAMES = ("Björk", "BJO\u0308RK", "bjork", "Straße", "STRASSE", "100%", "a_b", "a\\b", "'", None)


def fill(connection: Connection, artists: list[str | None]) -> list[str]:
    """Put a song of each artist into a store, and return their ids."""
    found = [
        (f"/music/{number}.ogg".encode(), analysis(number, artist=artist, album=artist))
        for number, artist in enumerate(artists)
    ]
    return [change.song_id for change in record_analyses(connection, found, scan=1, now=1)]


def artists(connection: Connection, wanted: Filter) -> list[str | None]:
    return [song.tags.artist for song in song_pages.page(connection, wanted, after=None, limit=100)]


@some_examples
@given(st.lists(st.sampled_from(NAMES), max_size=12), st.integers(1, 5))
def test_pages_hold_every_song_once_in_the_order_of_names(
    shared: Store, given_artists: list[str | None], limit: int
) -> None:
    with discarded(shared) as connection:
        ids = fill(connection, given_artists)
        found: list[str] = []
        after = None
        while page := song_pages.page(connection, Filter(), after=after, limit=limit):
            found += [song.id for song in page]
            after = page[-1].id
        assert sorted(found) == sorted(ids)
        whole = song_pages.page(connection, Filter(), after=None, limit=100)
        assert [song.id for song in whole] == found


def test_a_name_is_the_same_however_it_is_spelt(store: Store) -> None:
    with store.writing() as connection:
        fill(connection, list(NAMES))
        for spelt in ("björk", "BJÖRK", "Bjo\u0308rk"):
            assert set(artists(connection, Filter(artist=spelt))) == {"Björk", "BJO\u0308RK"}
        assert set(artists(connection, Filter(album="strasse"))) == {"Straße", "STRASSE"}
        assert artists(connection, Filter(artist="björ")) == []


@pytest.mark.parametrize(
    ("text", "found"), [("%", "100%"), ("_", "a_b"), ("\\", "a\\b"), ("'", "'")]
)
def test_signs_of_the_database_are_only_letters(store: Store, text: str, found: str) -> None:
    with store.writing() as connection:
        fill(connection, list(NAMES))
        assert artists(connection, Filter(text=text)) == [found]
        assert artists(connection, Filter(artist=text)) == ([found] if text == found else [])


def test_all_words_must_be_there_but_anywhere(store: Store) -> None:
    with store.writing() as connection:
        some = analysis(1, artist="Nina", title="Feeling Good", album="Spell", genre="Jazz")
        other = analysis(2, artist="Nina", title="Sinnerman", album="Blues", genre="Soul")
        paths = (b"/music/first.ogg", b"/music/second.ogg")
        record_analyses(connection, list(zip(paths, (some, other), strict=True)), scan=1, now=1)
        for text, count in (
            ("nina", 2), ("good nina", 1), ("SPELL feel", 1), ("first", 1), ("first blues", 0),
            ("", 2), ("   ", 2), ("x" * 9_000, 0), ("\0", 0), ("\ud800", 0),
        ):  # fmt: skip
            assert len(artists(connection, Filter(text=text))) == count, text
        assert len(artists(connection, Filter(text="nina", genre="SOUL"))) == 1


def test_songs_whose_files_are_gone_are_not_listed(store: Store) -> None:
    with store.writing() as connection:
        ids = fill(connection, ["a", "b"])
        files.mark_missing(connection, b"/music", 2)
        assert song_pages.page(connection, Filter(), after=None, limit=9) == []
        assert [song.id for song in songs.many(connection, ids)] == ids


def test_a_page_must_go_on_behind_a_song(store: Store) -> None:
    with store.writing() as connection:
        fill(connection, ["a"])
        for after in ("0123456789abcdef", "", "\0", "\ud800"):
            with pytest.raises(NotFoundError):
                song_pages.page(connection, Filter(), after=after, limit=9)


def test_many_songs_come_in_the_order_that_was_asked_for(store: Store) -> None:
    with store.writing() as connection:
        first, second = fill(connection, ["a", "b"])
        wanted = [second, first, "\0", "0123456789abcdef", second]
        assert [song.id for song in songs.many(connection, wanted)] == [second, first, second]
        assert songs.many(connection, []) == []
