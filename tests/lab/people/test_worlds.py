"""The battery's worlds: drawn alike for every player, and as different as they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand_lab.people.worlds import GENRES, WORLDS, drawn_library, listener_of


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 12))
def test_a_library_nests_songs_in_albums_in_artists(seed: int, songs: int, features: int) -> None:
    library = drawn_library(np.random.default_rng(seed), songs, features)
    assert len(library) == songs
    assert library.features.shape == (songs, features)
    for album in np.unique(library.album):
        assert len(np.unique(library.artist[library.album == album])) == 1
    np.testing.assert_allclose(np.linalg.norm(library.genres, axis=1), 1)
    assert all(1 <= len(tags) <= 2 and set(tags) <= set(GENRES) for tags in library.tags)


@pytest.mark.parametrize("world", WORLDS)
def test_the_same_run_is_the_same_listener_who_gives_whole_stars(world: str) -> None:
    (library, taste), (again, same) = (listener_of(world, 3, 7, songs=120) for _ in range(2))
    for step in (1, 30, 150):
        np.testing.assert_array_equal(taste.expected(step), same.expected(step))
        assert taste.expected(step).shape == (120,)
    np.testing.assert_array_equal(library.features, again.features)
    stars = [taste.rating(row, 1, np.random.default_rng(row)) for row in range(120)]
    assert set(stars) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert stars == [same.rating(row, 1, np.random.default_rng(row)) for row in range(120)]


@pytest.mark.parametrize(
    ("world", "codes"), [("artist", "artist"), ("album", "album"), ("genre", "genres")]
)
def test_a_listener_of_names_hears_nothing_else(world: str, codes: str) -> None:
    library, taste = listener_of(world, 0, 1, songs=300)
    _, first, group = np.unique(
        getattr(library, codes), axis=0, return_index=True, return_inverse=True
    )
    stars = taste.expected(1)
    np.testing.assert_allclose(stars, stars[first][group.ravel()])
    assert np.std(stars) == pytest.approx(1)


def test_tastes_drift_and_moods_change() -> None:
    _, drifting = listener_of("drift", 0, 1, songs=50)
    np.testing.assert_array_equal(drifting.expected(1), drifting.expected(100))
    assert not np.allclose(drifting.expected(100), drifting.expected(101))
    _, moody = listener_of("moods", 0, 1, songs=50)
    np.testing.assert_array_equal(moody.expected(1), moody.expected(61))
    assert not np.allclose(moody.expected(20), moody.expected(21))


def test_nothing_can_be_learned_of_chance_and_nothing_has_to_be_of_constancy() -> None:
    _, chance = listener_of("random stars", 0, 1, songs=10)
    rng = np.random.default_rng(0)
    stars = [chance.rating(0, 1, rng) for _ in range(2_000)]
    assert np.mean(stars) == pytest.approx(3, abs=0.1)
    _, constant = listener_of("always four stars", 0, 1, songs=10)
    assert {constant.rating(row, 1, rng) for row in range(10)} == {4.0}


def test_a_listener_who_skips_rates_one_song_in_ten_and_skips_what_is_not_liked() -> None:
    _, skipper = listener_of("mostly skips", 0, 1, songs=2_000)
    said = [skipper.answer(row, 1, np.random.default_rng(row)) for row in range(2_000)]
    stars, weights = np.array(said).T
    assert np.mean(weights == 1) == pytest.approx(0.1, abs=0.02)
    assert set(stars[weights < 1]) == {1.5, 2.5, 3.0, 4.0}
    liked = [skipper.rating(row, 1, np.random.default_rng(row)) > 3 for row in range(2_000)]
    np.testing.assert_array_equal((stars == 4)[weights < 1], np.array(liked)[weights < 1])
