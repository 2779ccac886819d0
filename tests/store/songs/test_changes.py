"""Whoever knew all songs once, and reads those that have changed, knows all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.store.songs import changes as song_changes
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
from tests.fixtures.store.examples import analysis, discarded, record_analysis, some_examples
from tests.fixtures.store.library_changes import PLACES, events, happen, path

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from bandstand.store.database.connection import Store
    from tests.fixtures.store.library_changes import Event

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


def test_only_what_has_changed_is_told(connection: Connection) -> None:
    first = [(path(place), analysis(place)) for place in range(5)]
    recording.record_analyses(connection, first, scan=1, now=1)
    before = identity(connection).song_changes
    assert count_changed(connection, since_count(before)) == 0
    new = record_analysis(connection, path(7), analysis(7), scan=1, now=1)
    assert changed(connection, since_count(before)) == [new.song_id]
    # A new name is noted, although what a catalogue is made from has not changed.
    after = identity(connection).song_changes
    again = record_analysis(connection, path(7), analysis(7, title="Another"), scan=1, now=1)
    assert again.outcome == "changed"
    assert identity(connection).song_changes == after
    assert changed(connection, since_count(after)) == [new.song_id]


def test_each_change_has_a_higher_note_also_the_second_new_name_of_a_song(store: Store) -> None:
    with store.writing() as connection:
        notes = [latest(connection)]
        for title in ("One", "Two", "Two", "Three"):
            song = analysis(7, title=title)
            recorded = record_analysis(connection, path(7), song, scan=1, now=1)
            assert changed(connection, since_note(notes[-1])) in ([recorded.song_id], [])
            notes.append(latest(connection))
        files.mark_missing(connection, b"/", 2)
        notes.append(latest(connection))
    assert notes == [0, 1, 2, 2, 3, 4]


def test_of_nothing_nothing_has_changed(connection: Connection) -> None:
    assert changed(connection, since_count(0)) == []
    song_changes.note_changes(connection, [], is_seen_by_catalogue=False)
    assert identity(connection).song_changes == 0
