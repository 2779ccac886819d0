"""What each group of descriptors adds to a liking, and how marked a song is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.music.audio import loadings
from bandstand.music.audio.descriptors.definition import NAMES
from bandstand.music.audio.projection import Projection, fit
from bandstand.types import Matrix, frozen
from tests.fixtures.music.descriptor_tables import WIDTH, library, real_library, seeds

GROUP_NAMES = ["tempo", "brightness", "harmony", "timbre", "movement"]


def made_by_hand() -> Projection:
    """Return two features: the tempo, and the mean of centroid and first MFCC."""
    components = np.zeros((2, WIDTH))
    components[0, NAMES.index("tempo_bpm")] = 1.0
    components[1, NAMES.index("mean_Centroid")] = components[1, NAMES.index("mean_MFCC0")] = (
        0.5**0.5
    )
    return Projection(
        mean=frozen(np.zeros(WIDTH)),
        standard_deviation=frozen(np.ones(WIDTH)),
        limit=frozen(np.full(WIDTH, 10.0)),
        components=frozen(components),
        variances=frozen([4.0, 9.0]),
        songs=10,
        descriptor_version=1,
    )


def test_the_parts_of_a_projection_made_by_hand() -> None:
    found = loadings.parts(made_by_hand(), np.array([2.0, 3.0]), np.array([0.5, -1.0]))
    # Tempo 2 · 0.5; the second feature is half brightness and half timbre: 3 · (−1) / 2 each.
    expected = {"tempo": 1.0, "brightness": -1.5, "harmony": 0, "timbre": -1.5, "movement": 0}
    assert found == pytest.approx(expected, abs=1e-15)


def test_the_character_of_a_song_made_by_hand() -> None:
    found = loadings.character(made_by_hand(), np.array([1.0, -6.0]))
    # Tempo has a standard deviation of 2 over the library, brightness one of 3/√2, and what a
    # library does not tell apart has no character.
    assert found == pytest.approx({"tempo": 0.5, "brightness": -2.0})


@settings(max_examples=30)
@given(seed=seeds, songs=st.integers(1, 60), share=st.floats(0.05, 1.0))
def test_the_parts_add_up_to_the_liking(seed: int, songs: int, share: float) -> None:
    table = library(seed, songs)
    with np.errstate(all="raise"):
        projection = fit(table, share=share)
        preference = np.random.default_rng(seed).normal(size=projection.columns)
        features = projection.apply(table)[0]
        found = loadings.parts(projection, preference, features)
    liking = float(preference @ features)
    size = float(np.abs(preference) @ np.abs(features)) + 1
    assert sum(found.values()) == pytest.approx(liking, abs=1e-12 * size)


@settings(max_examples=30)
@given(seed=seeds, songs=st.integers(3, 80))
def test_over_a_library_characters_have_mean_0_and_spread_1(seed: int, songs: int) -> None:
    table = library(seed, songs)
    with np.errstate(all="raise"):
        projection = fit(table)
        found = [loadings.character(projection, row) for row in projection.apply(table)]
    names = list(found[0])
    values = np.array([[each[name] for name in names] for each in found])
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(values.std(axis=0), 1, rtol=1e-8)


@settings(max_examples=30)
@given(seed=seeds, songs=st.integers(3, 80))
def test_towards_is_the_regression_of_the_features_on_the_character(seed: int, songs: int) -> None:
    table = library(seed, songs)
    projection = fit(table)
    features = projection.apply(table)
    for name, expected in loadings.towards(projection).items():
        index = np.array([loadings.character(projection, row)[name] for row in features])
        np.testing.assert_allclose(features.T @ index / songs, expected, atol=1e-7)


def test_a_library_of_one_song_has_parts_but_no_characters() -> None:
    table = library(1, 1)
    projection = fit(table)
    features = projection.apply(table)[0]
    assert list(loadings.parts(projection, np.ones(len(features)), features)) == GROUP_NAMES
    assert loadings.character(projection, features) == {}
    assert loadings.towards(projection) == {}


def z_scores(projection: Projection, table: Matrix) -> Matrix:
    spread = np.where(projection.standard_deviation > 0, projection.standard_deviation, 1.0)
    scores: Matrix = (table - projection.mean) / spread
    return scores


@pytest.mark.parametrize("name", GROUP_NAMES)
def test_real_tracks_are_called_what_their_descriptors_say(shared_data: Path, name: str) -> None:
    table = real_library(shared_data)
    projection = fit(table)
    (group,) = (group for group in loadings.GROUPS if group.name == name)
    true = z_scores(projection, table) @ loadings._index(group)
    seen = np.array([loadings.character(projection, row)[name] for row in projection.apply(table)])
    assert np.corrcoef(true, seen)[0, 1] > 0.9
    marked = np.abs(seen) >= 0.5
    assert np.mean(np.sign(true[marked]) == np.sign(seen[marked])) > 0.9
