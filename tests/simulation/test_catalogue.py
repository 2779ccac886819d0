from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand.simulation.catalogue import SyntheticCatalogue


@given(songs=st.integers(1, 4_000), columns=st.integers(1, 5), seed=st.integers(0, 2**32))
def test_every_song_has_its_own_title_an_artist_and_features(
    songs: int, columns: int, seed: int
) -> None:
    catalogue = SyntheticCatalogue.drawn(songs, columns, np.random.default_rng(seed))
    assert len(catalogue) == len(set(catalogue.titles)) == len(catalogue.artists) == songs
    assert catalogue.features.shape == (songs, columns)
    assert np.isfinite(catalogue.features).all()


def test_the_same_seed_makes_the_same_songs() -> None:
    one, other = (SyntheticCatalogue.drawn(50, 3, np.random.default_rng(4)) for _ in range(2))
    assert one.titles == other.titles
    assert one.features.tolist() == other.features.tolist()


def test_songs_of_one_artist_resemble_each_other() -> None:
    catalogue = SyntheticCatalogue.drawn(400, 10, np.random.default_rng(5))
    artists = np.array(catalogue.artists)
    within = [catalogue.features[artists == artist].var(axis=0).mean() for artist in set(artists)]
    assert np.mean(within) < 0.7 * catalogue.features.var(axis=0).mean()


def test_names_fit_on_a_line() -> None:
    catalogue = SyntheticCatalogue.drawn(2_000, 1, np.random.default_rng(6))
    pairs = zip(catalogue.titles, catalogue.artists, strict=True)
    assert max(len(f"{title}  by {artist}") for title, artist in pairs) < 60


@pytest.mark.parametrize(("songs", "columns"), [(0, 1), (1, 0)])
def test_an_empty_catalogue_is_refused(songs: int, columns: int) -> None:
    with pytest.raises(InvalidInputError, match=f"got {songs} and {columns}"):
        SyntheticCatalogue.drawn(songs, columns, np.random.default_rng(0))
