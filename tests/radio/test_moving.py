"""Songs come and go while somebody listens: what is believed of the listener stays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from bandstand.core.registry import ALGORITHMS
from bandstand.music.catalogue.catalogue import Catalogue, catalogue_of
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.design_view import KnownSong, known_songs
from bandstand.radio.selection.select import RadioListener
from bandstand.store.songs.songs import facts_of
from bandstand.types import AnyArray
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, song_id
from tests.fixtures.radio.logs import DAY, HOUR, Log
from tests.radio.selection.test_training_data import assert_same

SOUNDS = features(80)
ROWS = [1, 2, 3, 1, 30, 41, 2, 17, 38]


def shelf_with(numbers: Sequence[int], sounds: AnyArray = SOUNDS) -> Catalogue:
    """Return a shelf of some of eighty songs."""
    ids = [song_id(number) for number in numbers]
    return catalogue_of([record(number) for number in numbers], matrix(sounds[list(numbers)], ids))


def songs_of(ids: Sequence[str]) -> Mapping[str, KnownSong]:
    numbers = [int(song, 16) for song in sorted(ids)]
    columns = SongColumns.of(facts_of(record(number)) for number in numbers)
    return known_songs(columns, SOUNDS[numbers].astype(np.float64))


def listener(numbers: Sequence[int], log: Log, **options: Any) -> RadioListener:
    return model(shelf_with(numbers), log, songs_of=songs_of, **options)


def moved(one: RadioListener, to: Catalogue, log: Log) -> RadioListener | None:
    return one.migrated(to, model(to, log).ledger, songs_of)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"bayes-ucb-cn"}))
def test_a_listener_moves_to_another_shelf_and_nothing_is_learnt_anew(
    algorithm: str, *, intercept: bool
) -> None:
    log = rated(ROWS, apart=9 * HOUR)
    one = listener(range(60), log, algorithm=algorithm, intercept=intercept)
    numbers = [number for number in range(80) if number not in (2, 30, 50)]
    there = moved(one, shelf_with(numbers), log)
    assert there is not None
    again = listener(numbers, log, algorithm=algorithm, intercept=intercept)
    assert_same(there, again, tolerance=1e-12)
    assert there.next(now=log.clock + DAY).song == again.next(now=log.clock + DAY).song
    assert (there.algorithm, there.reader.intercept) == (algorithm, intercept)
    assert there.engine is one.engine


def test_songs_that_sound_otherwise_now_are_learnt_anew() -> None:
    log = rated(ROWS, apart=9 * HOUR)
    one = listener(range(60), log)
    other = SOUNDS.copy()
    other[17] += 1  # somebody has replaced the file
    assert moved(one, shelf_with(range(60), other), log) is None
    assert moved(one, shelf_with(range(60), features(80, 5)), log) is None
    other = SOUNDS.copy()
    other[50] += 1  # it was never heard
    assert moved(one, shelf_with(range(60), other), log) is not None


def test_a_heard_song_that_has_been_analysed_meanwhile_is_learnt() -> None:
    log = rated([1, 2, 3, 33], apart=HOUR)
    records = [record(number) for number in range(40)]
    half = catalogue_of(records, matrix(SOUNDS[:20]))
    whole = catalogue_of(records, matrix(SOUNDS[:40]))
    one = model(half, log)
    assert one.migrated(whole, one.ledger, lambda _: {}) is None
    assert one.migrated(catalogue_of(records), one.ledger, lambda _: {}) is None
    assert model(catalogue_of(records), log).migrated(whole, one.ledger, lambda _: {}) is None


def test_a_belief_that_was_carried_over_by_mistake_would_be_noticed() -> None:
    log = rated(ROWS, apart=9 * HOUR)
    one, other = listener(range(60), log), SOUNDS.copy()
    other[17] += 1
    with pytest.raises(AssertionError):
        assert_same(one, model(shelf_with(range(60), other), log))
