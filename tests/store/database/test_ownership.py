"""Nobody sees or changes what is somebody else's, whatever they do."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event, text, update

from bandstand.errors import InvalidInputError
from bandstand.store import accounts, playlists, sessions
from bandstand.store.database.schema import PLAYLIST
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_songs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from bandstand.store.database.connection import Store

ACTIONS = ("rename", "replace", "delete", "get", "list", "settings", "log out", "password")


def act(connection: Connection, who: str, what: str, playlist: str, songs: Sequence[str]) -> None:
    """Do something as `who`, with the id of a playlist that may be anybody's."""
    match what:
        case "rename":
            playlists.rename(connection, who, playlist, "taken over")
        case "replace":
            playlists.replace_songs(connection, who, playlist, songs[:1])
        case "delete":
            playlists.delete(connection, who, playlist)
        case "get":
            found = playlists.get(connection, who, playlist)
            assert found is None or found.account == who
        case "list":
            assert playlist not in {it.id for it in playlists.all_of(connection, who)}
        case "settings":
            accounts.change_settings(connection, who, {"dial": 1})
        case "log out":
            sessions.delete_all(connection, who)
        case _:
            accounts.set_password(connection, who, "another")


def belongings(connection: Connection, owner: str, playlist: str, token: str) -> list[Any]:
    return [
        playlists.get(connection, owner, playlist),
        playlists.all_of(connection, owner),
        accounts.settings(connection, owner),
        accounts.password_hash(connection, owner),
        sessions.of(connection, owner, current=token),
        sessions.account_of(connection, token, now=NOW),
    ]


def check_ownership(store: Store, actions: Sequence[str], do: Callable[..., None]) -> None:
    with discarded(store) as connection:
        ann, bob = add_account(connection, "Ann").id, add_account(connection, "Bob").id
        songs = add_songs(connection, 3)
        mine = playlists.create(connection, account=ann, name="Mine", songs=songs, now=NOW).id
        accounts.change_settings(connection, ann, {"dial": 0.5})
        token = sessions.create(
            connection, account=ann, now=NOW, expires_at=NOW + 9, client="Firefox"
        )
        before = belongings(connection, ann, mine, token)
        for what in actions:
            with suppress(InvalidInputError):
                do(connection, bob, what, mine, songs)
        assert belongings(connection, ann, mine, token) == before


@given(st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=8))
@some_examples
def test_whatever_one_does_the_other_has_what_they_had(shared: Store, actions: list[str]) -> None:
    check_ownership(shared, actions, act)


def test_a_query_without_its_owner_would_be_noticed(shared: Store) -> None:
    def careless(connection: Connection, _who: str, _what: str, playlist: str, _: object) -> None:
        connection.execute(update(PLAYLIST).where(PLAYLIST.c.id == playlist).values(name="x"))

    with pytest.raises(AssertionError):
        check_ownership(shared, ["rename"], careless)


def test_every_statement_about_what_is_somebodys_names_the_owner(store: Store) -> None:
    """Reads the SQL itself: of sessions, playlists and settings only the owner's are touched."""
    seen: list[str] = []
    with discarded(store) as connection:
        ann, songs = add_account(connection, "Ann").id, add_songs(connection, 2)
        mine = playlists.create(connection, account=ann, name="Mine", songs=songs, now=NOW).id
        event.listen(
            connection,
            "before_cursor_execute",
            lambda *given: seen.append(" ".join(given[2].split())),
        )
        for what in ACTIONS:
            with suppress(AssertionError):  # her own is in the list
                act(connection, ann, what, mine, songs)
        connection.execute(text("SELECT 1"))
    theirs = [
        statement
        for statement in seen
        if any(table in statement for table in ("playlist", "session"))
        and not statement.startswith("INSERT")
    ]
    assert len(theirs) > 5
    for statement in theirs:
        assert "account_id = " in statement.partition("WHERE")[2], statement
