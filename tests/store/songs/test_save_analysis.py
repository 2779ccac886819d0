from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from bandstand.errors import InvalidInputError
from bandstand.store.database.connection import Store
from bandstand.store.songs import files, songs
from bandstand.store.songs import save_analysis as recording
from bandstand.store.songs.changes import identity
from bandstand.store.songs.save_analysis import record_analyses, song_id_for
from bandstand.types import Analysis, Tags
from tests.fixtures.store.examples import (
    analyses,
    analysis,
    discarded,
    paths,
    record_analysis,
    some_examples,
)

A, B = b"/music/a.ogg", b"/music/b.ogg"


def put(connection: Connection, path: bytes, found: Analysis) -> tuple[str, str, int]:
    """Record an analysis; return the song, the outcome, and by how much the songs changed."""
    before = identity(connection).song_changes
    recorded = record_analysis(connection, path, found, scan=1, now=5)
    return recorded.song_id, recorded.outcome, identity(connection).song_changes - before


@some_examples
@given(paths, analyses)
def test_an_analysis_comes_back_as_it_was(shared: Store, path: bytes, found: Analysis) -> None:
    with discarded(shared) as connection:
        song, outcome, _ = put(connection, path, found)
        assert outcome == "added"
        assert put(connection, path, found) == (song, "same", 0)
        record = songs.get(connection, song)
        assert record is not None
        assert record.tags == found.tags
        assert record.duration == found.duration
        assert record.fingerprint == found.fingerprint
        assert (record.path, record.size, record.added_at) == (path, found.size, 5)
        ((id_, descriptors, *_),) = songs.described(connection, found.version)
        assert id_ == song
        assert descriptors.tobytes() == found.descriptors.tobytes()
        assert not descriptors.flags.writeable
        (file,) = files.under(connection, path)
        assert (file.size, file.modified_ns) == (found.size, found.modified_ns)


@pytest.mark.parametrize(
    ("change", "outcome", "changes"),
    [
        ({}, "same", 0),
        ({"modified_ns": 3}, "same", 0),
        ({"size": 4}, "changed", 0),
        ({"title": "Another"}, "changed", 0),
        ({"duration": 1.5}, "changed", 0),
        ({"fingerprint": "f"}, "changed", 0),
        ({"version": 2}, "changed", 1),
        ({"descriptors": np.zeros(159)}, "changed", 1),
    ],
)
def test_only_what_describes_a_song_makes_a_catalogue_stale(
    connection: Connection, change: dict[str, Any], outcome: str, changes: int
) -> None:
    song, *_ = put(connection, A, analysis(1))
    assert put(connection, A, analysis(1, **change)) == (song, outcome, changes)
    (file,) = files.under(connection, A)
    assert file.modified_ns == change.get("modified_ns", analysis(1).modified_ns)


@pytest.mark.parametrize("field", [field.name for field in fields(Tags)])
def test_every_tag_can_change_and_go(shared: Store, field: str) -> None:
    whole = {"year", "track", "disc"}
    value: Any = 7 if field in whole else 0.25 if field.endswith(("gain", "peak")) else "new"
    with discarded(shared) as connection:
        song, *_ = put(connection, A, analysis(1))
        for tags in (Tags(**{field: value}), Tags()):
            assert put(connection, A, replace(analysis(1), tags=tags)) == (song, "changed", 0)
            record = songs.get(connection, song)
            assert record is not None
            assert record.tags == tags


@given(st.permutations(range(6)), st.integers(1, 6))
@some_examples
def test_ids_do_not_depend_on_the_order(shared: Store, order: list[int], size: int) -> None:
    found = [(b"/music/%d.ogg" % (n % 4 + 10 * n), analysis(n % 3)) for n in range(6)]
    expected = {path: song_id_for(path, it.fingerprint) for path, it in found}
    shuffled = [found[n] for n in order]
    with discarded(shared) as connection:
        for start in range(0, 6, size):
            record_analyses(connection, shuffled[start : start + size], scan=1, now=1)
        assert {song.path: song.id for song in songs.present(connection)} == expected


def test_ids_that_meet_in_one_batch_differ(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        recording, "song_id_for", lambda _path, _fingerprint, attempt=0: f"{attempt:016x}"
    )
    found = [(b"/music/%d.ogg" % n, analysis(n)) for n in range(4)]
    with store.writing() as connection:
        songs_made = [it.song_id for it in record_analyses(connection, found[:3], scan=1, now=1)]
        songs_made += [it.song_id for it in record_analyses(connection, found[3:], scan=1, now=1)]
    assert songs_made == [f"{n:016x}" for n in range(4)]


def test_a_path_twice_in_one_batch_is_refused(connection: Connection) -> None:
    with pytest.raises(InvalidInputError, match="each path must be recorded once"):
        record_analyses(connection, [(A, analysis(1)), (A, analysis(2))], scan=1, now=1)


def vector(value: float) -> Any:
    return np.where(np.arange(159) == 7, value, 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"duration": float("nan")}, "duration must be a finite number, got nan"),
        ({"duration": -1.0}, "duration must be at least 0, got -1.0"),
        ({"duration": True}, "duration must be a finite number, got True"),
        ({"album_peak": "loud"}, "album_peak must be a finite number, got 'loud'"),
        ({"title": "a\0b"}, "title must be text without NUL"),
        ({"artist": "\ud800"}, "artist must be valid Unicode"),
        ({"year": 2**63}, "year must be between .* got 9223372036854775808"),
        ({"disc": 1.0}, "disc must be an integer, got 1.0"),
        ({"fingerprint": None}, "fingerprint must be text, got None"),
        ({"size": -1}, "size must be between 0"),
        ({"modified_ns": 2**63}, "modified_ns must be between"),
        ({"version": "1"}, "version must be an integer"),
        ({"descriptors": vector(float("nan"))}, "must be finite, got nan at position 7"),
        ({"descriptors": np.zeros(158)}, r"must be 159 numbers, got shape \(158,\)"),
        ({"descriptors": np.zeros(159, dtype=complex)}, "must be 159 numbers"),
    ],
)
def test_what_no_store_can_hold_is_refused_and_nothing_is_kept(
    connection: Connection, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        record_analyses(connection, [(B, analysis(2)), (A, analysis(1, **change))], scan=1, now=1)
    assert list(files.under(connection, b"/")) == []
    assert list(songs.present(connection)) == []
