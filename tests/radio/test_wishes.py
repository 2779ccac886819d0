from __future__ import annotations

import numpy as np
import pytest

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.radio.choice.shelf import shelf_of
from bandstand.radio.choice.wishes import Wish
from tests.radio.logs import DAY, HOUR, MINUTE, Log
from tests.radio.shelving import features, matrix, model, rated, record, shelf, song_id

SHELF = shelf(200)
NOW = 1_800_000_000_000


def near(row: int, count: int) -> set[int]:
    """Return the nearest songs, by brute force."""
    assert SHELF.catalogue is not None
    away = np.linalg.norm(SHELF.catalogue.features - SHELF.catalogue.features[row], axis=1)
    return set(np.argsort(away, kind="stable")[:count].tolist())


def test_a_song_comes_first_and_then_its_neighbours() -> None:
    one = model(SHELF, rated([1, 2, 3]))
    first, *others = one.playlist(12, now=NOW, wish=Wish(song=song_id(77)))
    assert (first.row, first.how, first.note) == (77, "wish", "")
    assert {chosen.row for chosen in others} <= near(77, 50) - {77}
    assert {chosen.how for chosen in others} == {"model"}


def test_what_plays_already_is_not_played_again() -> None:
    wish = Wish(song=song_id(77))
    one = model(SHELF, rated([1, 2, 77]))
    assert one.choose(now=NOW, wish=wish).row == 77  # that was long ago
    assert one.choose(now=NOW, wish=wish, after=[song_id(77)]).row in near(77, 50) - {77}
    lately = rated([77, 5])
    assert model(SHELF, lately).choose(now=lately.clock + HOUR, wish=wish).row != 77


def test_an_artist_or_a_genre_starts_with_one_of_its_songs() -> None:
    one = model(SHELF, rated([1, 2, 3]))
    artist = one.playlist(5, now=NOW, wish=Wish(artist="ARTIST 7"))
    assert artist[0].row // 10 == 7
    assert artist[0].how == "wish"
    assert {chosen.row // 10 for chosen in artist[1:]} != {7}
    genre = one.playlist(20, now=NOW, wish=Wish(genre="jazz"))
    # Fifty songs of that genre are a neighbourhood of their own.
    assert {chosen.row % 4 for chosen in genre} == {2}


def test_a_wish_works_for_newcomers_and_before_anything_is_analysed() -> None:
    first, second = model(SHELF).playlist(2, now=NOW, wish=Wish(song=song_id(5)))
    assert (first.row, first.how, first.note) == (5, "wish", "")
    assert second.row in near(5, 50)
    assert second.how == "random"
    plain = shelf_of([record(row) for row in range(60)])
    rows = [chosen.row for chosen in model(plain).playlist(9, now=NOW, wish=Wish(song=song_id(5)))]
    assert rows[0] == 5
    assert all(row // 10 == 0 or row % 4 == 1 for row in rows[1:])  # its artist or its genre


def test_a_banned_wish_leads_to_its_neighbours() -> None:
    log = Log()
    log.add("ban", scope="song", target=song_id(77))
    rows = [c.row for c in model(SHELF, log).playlist(9, now=NOW, wish=Wish(song=song_id(77)))]
    assert 77 not in rows
    assert set(rows) <= near(77, 51)


def test_a_wish_whose_neighbours_are_all_banned_is_told_so() -> None:
    plain = shelf_of([record(row) for row in range(60)])
    log = Log()
    log.add("ban", scope="artist", target="Artist 3")
    log.add("ban", scope="genre", target="rock")
    log.add("listen", song_id(32), after=MINUTE)
    chosen = model(plain, log).choose(now=log.clock, wish=Wish(song=song_id(32)))
    assert chosen.row // 10 != 3
    other = Log()
    for genre in ("rock", "pop", "jazz"):
        other.add("ban", scope="genre", target=genre)
    other.add("ban", scope="artist", target="Artist 3")
    found = model(plain, other).choose(now=other.clock, wish=Wish(song=song_id(32)))
    assert "nothing near what was asked for" in found.note


def test_what_is_not_there_cannot_be_wished_for() -> None:
    one = model(SHELF)
    for wish in (Wish(song="ffffffffffffffff"), Wish(artist="Nobody"), Wish(genre="Polka")):
        with pytest.raises(NotFoundError, match="must be one that can be played"):
            one.choose(now=NOW, wish=wish)
    with pytest.raises(InvalidInputError, match="one of song, artist and genre"):
        Wish(song=song_id(1), genre="Rock")
    assert not Wish()
    assert Wish(genre="Rock")


def test_a_neighbourhood_grows_with_the_library() -> None:
    big = shelf_of([record(row, genre=None) for row in range(2_000)], matrix(features(2_000)))
    log = rated([1, 2, 3])
    rows = [c.row for c in model(big, log).playlist(60, now=NOW, wish=Wish(song=song_id(9)))]
    assert big.catalogue is not None
    away = big.catalogue.distances(big.catalogue.features[9])
    assert set(rows) <= set(np.argsort(away)[:101].tolist())
    assert len(set(rows)) == 60
    assert log.clock + DAY < NOW
