from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bandstand.errors import ConflictError, InvalidInputError, NotFoundError
from bandstand.store import playlists
from tests.fixtures.store.examples import discarded
from tests.fixtures.store.sample_store import NOW, add_account, add_songs

if TYPE_CHECKING:
    from bandstand.store.database.connection import Store

UNKNOWN = "0123456789abcdef"


def test_a_playlist_keeps_its_songs_in_order_and_twice(store: Store) -> None:
    with discarded(store) as connection:
        ann, songs = add_account(connection, "Ann").id, add_songs(connection, 3)
        order = [songs[2], songs[0], songs[2]]
        made = playlists.create(connection, account=ann, name=" Mine ", songs=order, now=NOW)
        assert made.name == "Mine"
        assert made.songs == tuple(order)
        assert playlists.get(connection, ann, made.id) == made
        (summary,) = playlists.all_of(connection, ann)
        assert summary.count == 3
        assert (summary.id, summary.name, summary.created_at) == (made.id, "Mine", NOW)


def test_a_playlist_may_be_empty(store: Store) -> None:
    with discarded(store) as connection:
        ann = add_account(connection, "Ann").id
        assert playlists.all_of(connection, ann) == []
        made = playlists.create(connection, account=ann, name="x", songs=[], now=NOW)
        assert playlists.get(connection, ann, made.id) == made
        assert [it.count for it in playlists.all_of(connection, ann)] == [0]


def test_a_playlist_can_be_changed_and_deleted(store: Store) -> None:
    with discarded(store) as connection:
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
def test_a_name_that_cannot_be_one_is_refused(store: Store, name: Any) -> None:
    with discarded(store) as connection:
        ann = add_account(connection, "Ann").id
        with pytest.raises(InvalidInputError):
            playlists.create(connection, account=ann, name=name, songs=[], now=NOW)


@pytest.mark.parametrize("song", [UNKNOWN, "", "\0", "\ud800"])
def test_songs_that_are_not_there_are_refused(store: Store, song: str) -> None:
    with discarded(store) as connection:
        ann, songs = add_account(connection, "Ann").id, add_songs(connection, 1)
        made = playlists.create(connection, account=ann, name="x", songs=songs, now=NOW)
        with pytest.raises(NotFoundError):
            playlists.create(connection, account=ann, name="x", songs=[songs[0], song], now=NOW)
        with pytest.raises(NotFoundError):
            playlists.replace_songs(connection, ann, made.id, [song])
        assert playlists.get(connection, ann, made.id) == made


def test_there_is_an_end_to_songs_and_playlists(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_playlist_needs_an_account(store: Store) -> None:
    with discarded(store) as connection, pytest.raises(NotFoundError):
        playlists.create(connection, account=UNKNOWN, name="x", songs=[], now=NOW)
