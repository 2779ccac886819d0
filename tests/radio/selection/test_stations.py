import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.candidates import CandidateSet
from bandstand.core.model.history import SongFeatures
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.selection import filters
from bandstand.radio.selection.filters import Station, neighbourhood
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, shelf, song_id
from tests.fixtures.radio.logs import HOUR, MINUTE, Log

SHELF = shelf(200)
NOW = 1_800_000_000_000


def near(row: int, count: int) -> set[int]:
    """Return the nearest songs, by brute force."""
    assert SHELF.sound is not None
    away = np.linalg.norm(
        SHELF.sound.song_features.features - SHELF.sound.song_features.features[row], axis=1
    )
    return set(np.argsort(away, kind="stable")[:count].tolist())


def test_a_song_comes_first_and_then_its_neighbours() -> None:
    one = model(SHELF, rated([1, 2, 3]))
    first, *others = one.playlist(12, now=NOW, station=Station(song=song_id(77)))
    assert (first.row, first.how, first.note) == (77, "wish", "")
    assert {chosen.row for chosen in others} <= near(77, 50) - {77}
    assert {chosen.how for chosen in others} == {"model"}


def test_what_plays_already_is_not_played_again() -> None:
    station = Station(song=song_id(77))
    one = model(SHELF, rated([1, 2, 77]))
    assert one.next(now=NOW, station=station).row == 77  # that was long ago
    assert one.next(now=NOW, station=station, after=[song_id(77)]).row in near(77, 50) - {77}
    lately = rated([77, 5])
    assert model(SHELF, lately).next(now=lately.clock + HOUR, station=station).row != 77


def test_an_artist_or_a_genre_starts_with_one_of_its_songs() -> None:
    one = model(SHELF, rated([1, 2, 3]))
    artist = one.playlist(5, now=NOW, station=Station(artist="ARTIST 7"))
    assert artist[0].row // 10 == 7
    assert artist[0].how == "wish"
    assert {chosen.row // 10 for chosen in artist[1:]} != {7}
    genre = one.playlist(20, now=NOW, station=Station(genre="jazz"))
    # Fifty songs of that genre are a neighbourhood of their own, but for a handful.
    others = {chosen.row for chosen in genre if chosen.row % 4 != 2}
    assert len(others) <= 10


def test_a_station_works_for_newcomers_and_before_anything_is_analysed() -> None:
    first, second = model(SHELF).playlist(2, now=NOW, station=Station(song=song_id(5)))
    assert (first.row, first.how, first.note) == (5, "wish", "")
    assert second.row in near(5, 50)
    assert second.how == "random"
    plain = catalogue_of([record(row) for row in range(60)])
    rows = [
        chosen.row for chosen in model(plain).playlist(9, now=NOW, station=Station(song=song_id(5)))
    ]
    assert rows[0] == 5
    assert all(row // 10 == 0 or row % 4 == 1 for row in rows[1:])  # its artist or its genre


def test_a_station_whose_neighbours_are_all_banned_says_so() -> None:
    plain = catalogue_of([record(row) for row in range(60)])
    log = Log()
    log.add("ban", scope="artist", target="Artist 3")
    log.add("ban", scope="genre", target="rock")
    log.add("listen", song_id(32), after=MINUTE)
    chosen = model(plain, log).next(now=log.clock, station=Station(song=song_id(32)))
    assert chosen.row // 10 != 3
    other = Log()
    for genre in ("rock", "pop", "jazz"):
        other.add("ban", scope="genre", target=genre)
    other.add("ban", scope="artist", target="Artist 3")
    found = model(plain, other).next(now=other.clock, station=Station(song=song_id(32)))
    assert "nothing near what was asked for" in found.note


def test_what_is_not_there_is_no_start_of_a_station() -> None:
    one = model(SHELF)
    for station in (
        Station(song="ffffffffffffffff"),
        Station(artist="Nobody"),
        Station(genre="Polka"),
    ):
        with pytest.raises(NotFoundError, match="must be one that can be played"):
            one.next(now=NOW, station=station)
    with pytest.raises(InvalidInputError, match="one of song, artist and genre"):
        Station(song=song_id(1), genre="Rock")
    assert not Station().start
    assert Station(genre="Rock").start


@given(songs=st.integers(1, 100_000), seeds=st.integers(1, 100_000))
def test_a_neighbourhood_is_a_part_of_the_library(songs: int, seeds: int) -> None:
    beyond = neighbourhood(songs, seeds)
    assert beyond >= 5
    assert beyond <= max(5, songs / 6)
    assert seeds + beyond >= min(songs // 6, 50)
    assert seeds + beyond >= round(songs / 20)
    assert neighbourhood(songs + 1, seeds) >= beyond
    assert neighbourhood(songs, seeds + 1) <= beyond


@settings(max_examples=25)
@given(
    songs=st.integers(2, 150),
    seed=st.integers(0, 2**16),
    spread=st.floats(0, 2),
    data=st.data(),
)
def test_a_station_plays_its_start_and_what_is_nearest_to_it(
    songs: int, seed: int, spread: float, data: st.DataObject
) -> None:
    """Two genres, close together or apart, in a library of any size."""
    rows = features(songs, seed=seed)
    size = data.draw(st.integers(1, songs))
    rows[:size] = spread * rows[:size] + 3
    records = [record(row, genre="Jazz" if row < size else "Rock") for row in range(songs)]
    on = catalogue_of(records, matrix(rows))
    assert on.sound is not None
    playlist = model(on, rated([0])).playlist(
        min(songs, 12), now=NOW, station=Station(genre="jazz")
    )
    centre = on.sound.song_features.features[:size].mean(axis=0)
    away = on.sound.song_features.distances(centre)
    allowed = neighbourhood(songs, size) + len(playlist) + songs // 4
    farthest = np.sort(away[size:])[: allowed + 1]
    assert playlist[0].row < size
    for chosen in playlist:
        assert chosen.row < size or away[chosen.row] <= farthest[-1]


@given(
    songs=st.integers(1, 300),
    count=st.integers(1, 80),
    size=st.sampled_from([1e-30, 1e-3, 1.0, 1e4]),
    kinds=st.sampled_from([3, 40, 300]),
    double=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_the_nearest_songs_are_those_of_looking_closely_at_all(
    songs: int, count: int, size: float, kinds: int, *, double: bool, seed: int
) -> None:
    """Also where many sound the same, and where single precision tells nothing."""
    rng = np.random.default_rng(seed)
    table = (size * features(kinds, 6, seed))[rng.integers(0, kinds, songs)].astype(np.float32)
    catalogue = SongFeatures.of(table.astype(np.float64) if double else table)
    others = CandidateSet.marked(rng.random(songs) < 0.8)
    centre = np.asarray(table[0], dtype=np.float64) + size * 1e-7
    with np.errstate(all="raise"):
        found = filters.nearest_rows(catalogue, centre, count, others)
    rows = others.rows()
    away = catalogue.distances(centre, rows)
    closest = rows[np.lexsort((rows, away))[:count]]
    assert found.tolist() == closest.tolist()
