from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import PlayTimes, SongFeatures, SongsAt
from bandstand.types import Minutes

seeds = st.integers(0, 2**32)
FEATURES = np.random.default_rng(0).normal(size=(30, 3))


def test_diversity_is_the_distance_to_the_mean_of_the_last_ten() -> None:
    catalogue = SongFeatures.of(FEATURES)
    listening = PlayTimes.nothing(30)
    for row in range(14):
        listening = listening.after(row, Minutes(float(row)))
    assert listening.recent == tuple(range(4, 14))
    songs = SongsAt(catalogue, listening, Minutes(20.0))
    centre = FEATURES[4:14].mean(axis=0)
    distance = np.linalg.norm(FEATURES - centre, axis=1)
    assert songs.diversity == pytest.approx(distance / catalogue.typical_distance)
    one = songs.take([17])
    assert one.diversity[0] == pytest.approx(songs.diversity[17])
    assert one.elapsed[0] == songs.elapsed[17]


def test_the_typical_distance_is_the_median_over_pairs() -> None:
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(FEATURES) for b in FEATURES[:i]]
    assert SongFeatures.of(FEATURES).typical_distance == pytest.approx(np.median(pairs), rel=0.1)


def test_a_clock_that_goes_back_gives_no_negative_time() -> None:
    listening = PlayTimes.nothing(2).after(0, Minutes(100.0))
    assert listening.elapsed(Minutes(50.0)).tolist() == [0.0, 43_200.0]


@pytest.mark.parametrize("features", [[[1.0, 2.0]], [[1.0], [1.0], [1.0]]])
def test_a_catalogue_without_distances_has_a_unit(features: list[list[float]]) -> None:
    assert SongFeatures.of(features).typical_distance == 1.0


@given(seed=seeds, songs=st.integers(1, 30), plays=st.integers(0, 40))
def test_sparse_listening_tells_the_same_as_a_table_of_every_song(
    seed: int, songs: int, plays: int
) -> None:
    rng = np.random.default_rng(seed)
    listening, table, now = PlayTimes.nothing(songs), np.full(songs, -np.inf), 0.0
    for row in rng.integers(songs, size=plays).tolist():
        now += float(rng.exponential(20_000))
        listening = listening.after(row, Minutes(now))
        table[row] = now
    later = Minutes(now + 5.0)
    some = rng.integers(songs, size=7)
    assert listening.last_heard_of(some).tolist() == table[some].tolist()
    dense = np.clip(later - table, 0.0, listening.longest)
    assert listening.elapsed(later).tolist() == dense.tolist()
    now_heard = SongsAt(SongFeatures.of(rng.normal(size=(songs, 2))), listening, later)
    assert now_heard.elapsed_of(some).tolist() == dense[some].tolist()
    assert now_heard.heard.tolist() == np.flatnonzero(dense < listening.longest).tolist()


def test_features_in_single_precision_are_used_as_they_are_and_rows_come_in_double() -> None:
    features = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    catalogue = SongFeatures.of(features)
    assert np.shares_memory(catalogue.features, features)
    songs = SongsAt(catalogue, PlayTimes.nothing(50).after(3, Minutes(0.0)), Minutes(7.0))
    assert songs.features_of([4]).dtype == np.float64
    double = SongFeatures.of(features.astype(np.float64))
    assert double.typical_distance == catalogue.typical_distance
    other = SongsAt(double, PlayTimes.nothing(50).after(3, Minutes(0.0)), Minutes(7.0))
    assert songs.diversity.tolist() == other.diversity.tolist()
    assert songs.take([3, 9]).diversity.tolist() == other.diversity[[3, 9]].tolist()
