"""Equal songs come by row, and nothing else counts as equal."""

from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.search.candidate_list import SearchCache
from bandstand.core.engines.song_table import SongTable
from bandstand.core.model import candidates
from bandstand.core.model.candidates import CandidateSet, best_of
from bandstand.core.model.history import History, Songs
from bandstand.core.model.priors import radio_prior

MONTH = 43_200.0


def songs_of(features: Any) -> Songs:
    return Songs.of(features=features, elapsed=MONTH)


def test_the_same_song_is_the_same_however_it_was_rounded() -> None:
    songs = songs_of([[1.0], [2.0], [1.0], [3.0]])
    values = np.array([5.0, 4.0, 5.0 * (1 + 1e-13), 1.0])
    assert best_of(songs, np.array([2, 1, 0]), values[[2, 1, 0]], 3).tolist() == [0, 2, 1]


def test_small_values_beside_a_huge_one_keep_their_order() -> None:
    values = np.array([3e5, -2e-9, 1e-8, 2e-8, -1e-9])
    found = best_of(songs_of(np.arange(1.0, 6.0)[:, np.newaxis]), np.arange(5), values, 4)
    assert found.tolist() == [0, 3, 2, 4]


def check_few_songs() -> None:
    """Ask for the best of few songs, one of which is among them several times."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        columns = int(rng.integers(2, 30))
        features = rng.normal(size=(100, columns))
        heard = features[rng.integers(0, 100, 8)]
        engine = Exact(prior=radio_prior(columns))
        belief = engine.fit(History.of(features=heard, elapsed=MONTH, ratings=rng.normal(size=8)))
        everybody = engine.predict(belief, songs_of(features))
        best = int(everybody.best_by_quantile(0.9, 1, np.arange(100))[0])
        rows = np.sort(rng.choice(100, 14, replace=False))
        features[rows[[2, 9, 13]]] = features[best]
        memory = SearchCache(SongTable.of(features))
        prediction = engine.predict(belief, songs_of(features), memory=memory)
        few = CandidateSet.only(np.unique(np.append(rows, best)), 100)
        assert prediction.best_by_quantile(0.9, 1, few).tolist() == [min(best, rows[2])]


def test_among_few_songs_equal_ones_come_by_row() -> None:
    check_few_songs()


def test_songs_that_are_not_made_equal_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_made_equal", lambda _songs, _rows, values: values)
    monkeypatch.setattr(candidates, "EQUAL", 0.0)
    with pytest.raises(AssertionError):
        check_few_songs()
