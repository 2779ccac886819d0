"""Whoever knew all songs once, and reads those that have changed, knows all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import ColumnElement, Connection

from bandstand.store.database.connection import Store
from bandstand.store.songs import files, songs
from bandstand.store.songs import save_analysis as recording
from bandstand.store.songs.changes import (
    changed,
    count_changed,
    identity,
    latest,
    note_song_change,
    since_count,
    since_note,
)
from tests.fixtures.store.examples import discarded, some_examples
from tests.fixtures.store.library_changes import PLACES, Event, events, happen

DESCRIPTORS = np.random.default_rng(1).normal(size=(PLACES, 159))


class Follower:
    """A reader that reads all songs once, and then only what has changed."""

    def __init__(self, connection: Connection) -> None:
        self.known = _all(connection)
        self._since = self.now(connection)

    def catch_up(self, connection: Connection) -> None:
        ids = changed(connection, self.later(self._since))
        assert len(ids) == count_changed(connection, self.later(self._since))
        for song in ids:
            self.known.pop(song, None)
        self.known |= {it[0]: tuple(it) for it in songs.facts_of_some(connection, ids)}
        self._since = self.now(connection)

    @staticmethod
    def now(connection: Connection) -> int:
        return identity(connection).song_changes

    @staticmethod
    def later(since: int) -> ColumnElement[bool]:
        return since_count(since)


class Reader(Follower):
    """The same by the numbers of notes."""

    @staticmethod
    def now(connection: Connection) -> int:
        return latest(connection)

    @staticmethod
    def later(since: int) -> ColumnElement[bool]:
        return since_note(since)


def _all(connection: Connection) -> dict[str, tuple[object, ...]]:
    return {it[0]: tuple(it) for it in songs.facts(connection)}


def follow(connection: Connection, life: list[Event], looks: list[bool]) -> bool:
    """Return whether followers of both kinds who look now and then know all in the end."""
    followers = Follower(connection), Reader(connection)
    for event, look in zip(life, [*looks, *[False] * len(life)], strict=False):
        happen(connection, event, DESCRIPTORS)
        for follower in followers if look else ():
            follower.catch_up(connection)
    for follower in followers:
        follower.catch_up(connection)
    return all(follower.known == _all(connection) for follower in followers)


@some_examples
@given(events, st.lists(st.booleans(), max_size=12))
def test_whoever_follows_knows_all(shared: Store, life: list[Event], looks: list[bool]) -> None:
    with discarded(shared) as connection:
        assert follow(connection, life, looks)
        assert files.count_songs(connection) == files.counts(connection).songs
        assert len(_all(connection)) == files.count_songs(connection)


@pytest.mark.parametrize(
    ("where", "what", "life"),
    [
        (recording, "note_changes", [("read", 1, 1), ("rename", 1, 2)]),
        (files, "note_change_of_files", [("read", 1, 1), ("lose", 1, 0)]),
        (files, "note_changes", [("read", 1, 1), ("lose", 1, 0), ("find", 1, 0)]),
    ],
)
def test_a_change_that_is_not_noted_is_missed(
    shared: Store, monkeypatch: pytest.MonkeyPatch, where: object, what: str, life: list[Event]
) -> None:
    def count_only(connection: Connection, *_: object, **__: object) -> None:
        note_song_change(connection)

    monkeypatch.setattr(where, what, count_only)
    with discarded(shared) as connection:
        assert not follow(connection, life, [True, True])
