"""Songs by row, and rows by song."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.music.catalogue.song_ids import RowsBySong, SongIds

ids = st.sets(st.text("0123456789abcdef", min_size=1, max_size=16)).map(sorted)


def as_array(songs: list[str]) -> np.ndarray[tuple[int], np.dtype[np.bytes_]]:
    return np.array([song.encode() for song in songs], dtype="S16")


@given(ids, st.lists(st.text()))
def test_rows_and_songs_are_those_of_a_tuple_and_a_dict(
    songs: list[str], others: list[str]
) -> None:
    by_row, by_song = SongIds(as_array(songs)), RowsBySong(as_array(songs))
    expected = {song: row for row, song in enumerate(songs)}
    assert tuple(by_row) == tuple(songs)
    assert by_row == tuple(songs)
    assert by_row[1:-1] == tuple(songs[1:-1])
    assert len(by_row) == len(by_song) == len(songs)
    assert dict(by_song) == expected
    asked = [
        *songs,
        *others,
        *(song + "\0" for song in songs),
        *(song + "x" * 16 for song in songs),
    ]
    assert by_song.of(asked).tolist() == [expected.get(song, -1) for song in asked]
    assert [song in by_row for song in asked] == [song in expected for song in asked]


def test_what_is_no_song_is_not_there() -> None:
    rows = RowsBySong(as_array(["a", "b"]))
    assert rows.get("") is None
    assert rows.of([]).tolist() == []
    assert rows.of(["\ud800"]).tolist() == [-1]
    with pytest.raises(KeyError):
        rows["c"]


def test_ids_are_equal_to_equal_ids_only() -> None:
    found = SongIds(as_array(["a", "b"]))
    assert found == SongIds(as_array(["a", "b"]))
    assert found != SongIds(as_array(["a"]))
    assert found != ("a", "c")
    assert found != 3
