from collections.abc import Hashable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import History, Songs
from bandstand.core.model.song_groups import UNKNOWN, SongGroups, codes, identities
from bandstand.errors import InvalidInputError

ids = st.lists(st.integers(-1, 3), min_size=0, max_size=12)


@given(artists=ids, data=st.data())
def test_albums_are_nested_in_artists_and_songs_without_them_are_their_own(
    artists: list[int], data: st.DataObject
) -> None:
    count = len(artists)
    albums = data.draw(st.lists(st.integers(-1, 2), min_size=count, max_size=count))
    groups = SongGroups.of(song=np.arange(count, dtype=int), album=albums, artist=artists)
    for one in range(count):
        for other in range(count):
            same_artist = one == other or (artists[one] == artists[other] != UNKNOWN)
            same_album = one == other or (same_artist and albums[one] == albums[other] != UNKNOWN)
            assert (groups.artist[one] == groups.artist[other]) == same_artist
            assert (groups.album[one] == groups.album[other]) == same_album
    assert not count or min(groups.album.min(), groups.artist.min()) >= 0


def test_the_same_numbers_make_the_same_groups_at_any_time() -> None:
    one = SongGroups.of(song=[4], album=[2], artist=[9])
    other = SongGroups.of(song=[1, 4], album=[2, 2], artist=[3, 9]).take([1])
    assert (one.song, one.album, one.artist) == (other.song, other.album, other.artist)
    assert SongGroups.of(song=[4]).artist == SongGroups.of(song=[4]).artist


@given(artists=ids, wanted=ids)
def test_the_songs_of_artists_are_found_in_order(artists: list[int], wanted: list[int]) -> None:
    each = np.array(artists, dtype=np.int64)
    groups = SongGroups(song=each, album=each, artist=each)
    rows = groups.rows_of(np.array(wanted, dtype=np.int64))
    known = set(wanted) - {UNKNOWN}
    assert rows.tolist() == [row for row, artist in enumerate(artists) if artist in known]


def test_codes_count_what_is_unknown_one_by_one() -> None:
    count, which = codes(np.array([7, UNKNOWN, 7, UNKNOWN]))
    assert count == 3
    assert which[0] == which[2]
    assert len(set(which.tolist())) == 3


def test_names_become_numbers() -> None:
    assert identities(["x", ("y", 1), None, "x"]).tolist() == [0, 1, UNKNOWN, 0]
    known: dict[Hashable, int] = {"y": 0}
    assert identities(["x", np.float64(2.5), "y", 2.5], known).tolist() == [1, 2, 0, 2]
    assert known == {"y": 0, "x": 1, 2.5: 2}


def test_groups_go_with_their_songs() -> None:
    groups = SongGroups.of(song=[5, 6, 7], artist=[1, 1, 2])
    songs = Songs.of(features=np.eye(3), elapsed=np.inf, groups=groups)
    assert songs.take([2]).groups_of([0]).song.tolist() == [7]
    history = History.of(features=np.eye(3), elapsed=np.inf, ratings=[1, 2, 3], groups=groups)
    longer = history.append(features=np.ones(3), elapsed=1.0, rating=4, groups=groups.take([1]))
    assert longer.without(0).groups.song.tolist() == [6, 7, 6]
    alone = longer.append(features=np.ones(3), elapsed=1.0, rating=4)
    assert alone.groups.artist.tolist() == [1, 1, 2, 1, UNKNOWN]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"song": [-2]}, "song identities must be whole numbers"),
        ({"song": [1.5]}, "song identities must be whole numbers"),
        ({"song": [1, 2], "artist": [1]}, r"one artist per song \(2\), got 1"),
    ],
)
def test_what_is_no_identity_is_refused(arguments: dict[str, list[int]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SongGroups.of(**arguments)


def test_there_must_be_one_group_per_song() -> None:
    with pytest.raises(InvalidInputError, match=r"one group per song \(2\), got 1"):
        Songs.of(features=np.eye(2), elapsed=1.0, groups=SongGroups.unknown(1))
    with pytest.raises(InvalidInputError, match="must not be negative, got -1"):
        Songs.of(features=np.eye(2), elapsed=[np.inf, -1.0])
