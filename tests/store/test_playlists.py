"""An account neither sees nor changes the playlists of another."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, update

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import accounts, playlists, sessions
from bandstand.store.database.connection import Store
from bandstand.store.database.schema import PLAYLIST
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.sample_store import NOW, add_account, add_songs

UNKNOWN = "0123456789abcdef"


def test_a_playlist_can_be_changed_and_deleted(connection: Connection) -> None:
    ann, songs = add_account(connection, "Ann").id, add_songs(connection, 3)
    made = playlists.create(connection, account=ann, name="x", songs=songs, now=NOW)
    other = playlists.create(connection, account=ann, name="y", songs=songs, now=NOW + 1)
    playlists.rename(connection, ann, made.id, "z")
    playlists.replace_songs(connection, ann, made.id, songs[:1])
    changed = playlists.get(connection, ann, made.id)
    assert changed is not None
    assert (changed.name, changed.songs) == ("z", tuple(songs[:1]))
    playlists.delete(connection, ann, made.id)
    assert playlists.get(connection, ann, made.id) is None
    assert [it.id for it in playlists.all_of(connection, ann)] == [other.id]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 201, "\0", "\ud800", None])
def test_a_name_that_cannot_be_one_is_refused(connection: Connection, name: Any) -> None:
    ann = add_account(connection, "Ann").id
    with pytest.raises(InvalidInputError):
        playlists.create(connection, account=ann, name=name, songs=[], now=NOW)


@pytest.mark.parametrize("song", [UNKNOWN, "", "\0", "\ud800"])
def test_songs_that_are_not_there_are_refused(connection: Connection, song: str) -> None:
    ann, songs = add_account(connection, "Ann").id, add_songs(connection, 1)
    made = playlists.create(connection, account=ann, name="x", songs=songs, now=NOW)
    with pytest.raises(NotFoundError):
        playlists.create(connection, account=ann, name="x", songs=[songs[0], song], now=NOW)
    with pytest.raises(NotFoundError):
        playlists.replace_songs(connection, ann, made.id, [song])
    assert playlists.get(connection, ann, made.id) == made


def test_songs_and_playlists_are_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playlists, "MAX_SONGS", 3)
    monkeypatch.setattr(playlists, "MAX_PLAYLISTS", 2)
    with discarded(store) as connection:
        ann, (song,) = add_account(connection, "Ann").id, add_songs(connection, 1)
        with pytest.raises(InvalidInputError, match="3 songs, got 4"):
            playlists.create(connection, account=ann, name="x", songs=[song] * 4, now=NOW)
        for _ in range(2):
            playlists.create(connection, account=ann, name="x", songs=[song] * 3, now=NOW)
        with pytest.raises(ConflictError, match="2 playlists"):
            playlists.create(connection, account=ann, name="x", songs=[], now=NOW)


ACTIONS = ("rename", "replace", "delete", "get", "list", "settings", "log out", "password")


def act(connection: Connection, who: str, what: str, playlist: str, songs: Sequence[str]) -> None:
    """Do something as `who`, with the id of a playlist of any account."""
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


def test_a_playlist_needs_an_account(store: Store) -> None:
    with discarded(store) as connection, pytest.raises(NotFoundError):
        playlists.create(connection, account=UNKNOWN, name="x", songs=[], now=NOW)
