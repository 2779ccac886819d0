"""A favourite is what was marked last and not unmarked, whatever came between."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store import favourites
from bandstand.store.database.connection import Store
from bandstand.store.events import events
from bandstand.store.favourites import album_target
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_songs

UNKNOWN = "0123456789abcdef"


def marked(connection: Connection, account: str) -> list[tuple[str, str]]:
    return [(it.scope, it.target) for it in favourites.all_of(connection, account)]


def test_what_is_marked_is_a_favourite_until_it_is_unmarked(connection: Connection) -> None:
    ann, bob = add_account(connection, "Ann").id, add_account(connection, "Bob").id
    songs = add_songs(connection, 3)
    album = album_target("Homogenic", "Björk")
    favourites.mark(connection, ann, "song", songs[1], now=NOW)
    favourites.mark(connection, ann, "album", album, now=NOW + 1)
    favourites.mark(connection, ann, "artist", "Björk", now=NOW + 2)
    favourites.mark(connection, bob, "song", songs[0], now=NOW)
    assert marked(connection, ann) == [("song", songs[1]), ("album", album), ("artist", "Björk")]
    assert [it.at for it in favourites.all_of(connection, ann)] == [NOW, NOW + 1, NOW + 2]
    assert favourites.songs_of(connection, ann, songs) == {songs[1]}
    favourites.unmark(connection, ann, "artist", " BJÖRK", now=NOW + 3)
    favourites.unmark(connection, ann, "song", songs[1], now=NOW + 3)
    favourites.unmark(connection, ann, "song", songs[2], now=NOW + 3)
    assert marked(connection, ann) == [("album", album)]
    assert marked(connection, bob) == [("song", songs[0])]
    assert events.check_chain(connection, ann) == []


steps = st.lists(
    st.tuples(st.booleans(), st.sampled_from(["song", "album", "artist"]), st.integers(0, 2))
)


@given(steps)
@some_examples
def test_any_steps_leave_the_last_word_on_each(shared: Store, steps: list[Any]) -> None:
    expected: dict[tuple[str, str], None] = {}
    with discarded(shared) as connection:
        ann, songs = add_account(connection, "Ann").id, add_songs(connection, 3)
        before = 0
        for is_marked, scope, number in steps:
            target = songs[number] if scope == "song" else f"Name {number}"
            change = favourites.mark if is_marked else favourites.unmark
            change(connection, ann, scope, target, now=NOW)
            if is_marked != ((scope, target) in expected):
                before += 1
            if is_marked:
                expected.setdefault((scope, target))
            else:
                expected.pop((scope, target), None)
            assert events.end(connection, ann).seq == before  # no event without a change
        assert marked(connection, ann) == list(expected)
        in_songs = {target for scope, target in expected if scope == "song"}
        assert favourites.songs_of(connection, ann, songs) == in_songs


def test_a_song_that_is_not_there_and_a_genre_are_refused(connection: Connection) -> None:
    ann = add_account(connection, "Ann").id
    with pytest.raises(NotFoundError):
        favourites.mark(connection, ann, "song", UNKNOWN, now=NOW)
    with pytest.raises(InvalidInputError, match="16 hexadecimal digits"):
        favourites.mark(connection, ann, "song", "x", now=NOW)
    with pytest.raises(InvalidInputError, match="genre"):
        favourites.mark(connection, ann, "genre", "Rock", now=NOW)
    with pytest.raises(NotFoundError):
        favourites.mark(connection, UNKNOWN, "artist", "Björk", now=NOW)


def test_the_favourites_of_a_long_log_are_read_from_their_index(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        pytest.skip("PostgreSQL decides by the size of the table")
    for statement in (favourites._ALL, favourites._OF_SONGS):
        asked = statement.params(account=UNKNOWN, songs=[UNKNOWN])
        compiled = asked.compile(connection, compile_kwargs={"literal_binds": True})
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}")]
        assert any("ix_event_account_id_favourite" in step for step in plan), plan
