"""What a listener should give each song now, over the whole shelf."""

import numpy as np
import pytest

from bandstand.core.registry import SOUND_ALGORITHMS
from bandstand.music.catalogue.catalogue import catalogue_of
from tests.fixtures.radio.catalogues import (
    expected,
    features,
    matrix,
    model,
    rated,
    record,
    shelf,
    song_id,
)

SHELF = shelf(30)
QUICK = [name for name in SOUND_ALGORITHMS if not name.endswith(("-cn", "-v"))]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("algorithm", QUICK)
def test_it_is_what_is_predicted_of_each_song(algorithm: str, *, intercept: bool) -> None:
    log = rated([1, 2, 3, 4, 1])
    one = model(SHELF, log, algorithm=algorithm, intercept=intercept)
    now = log.clock + 3_600_000
    with np.errstate(all="raise"):
        found = one.expected(now=now)
    assert set(found) == set(SHELF.ids)
    for song in SHELF.ids:
        seen = expected(one, song, now=now)
        assert found[song] == (None if seen is None else pytest.approx(seen, abs=1e-9))


def test_nothing_is_expected_where_nothing_is_known() -> None:
    assert set(model(SHELF).expected(now=0).values()) == {None}
    assert model(catalogue_of([record(0)])).expected(now=0) == {song_id(0): None}
    assert model(catalogue_of([])).expected(now=0) == {}
    some = catalogue_of([record(row) for row in range(9)], matrix(features(8)))
    found = model(some, rated([1, 2])).expected(now=10**12)
    assert [song for song, stars in found.items() if stars is None] == [song_id(8)]


def test_what_is_banned_is_left_out() -> None:
    log = rated([1, 2])
    log.add("ban", scope="artist", target="artist 0")
    found = model(SHELF, log).expected(now=log.clock)
    assert set(found) == {song_id(row) for row in range(10, 30)}
