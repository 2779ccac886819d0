"""A model that follows the log play by play is the one that begins with the whole log."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.model.song_groups import SongGroups
from bandstand.core.registry import ALGORITHMS
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.music.catalogue.design_view import KnownSong
from bandstand.radio.log.fold import extend, fold
from bandstand.radio.selection.select import RadioListener, minutes_at
from bandstand.radio.selection.training_data import LONGEST
from bandstand.store.events.events import Event
from tests.fixtures.radio.catalogues import features, matrix, model, rated, record, shelf, song_id
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, Log, logs

SHELF = shelf(8)
ONLINE = ["bayes-ucb-cn-x", "linucb-cn", "random"]
EXACT = "bayes-ucb-cn-x"


def _first(log: Log, count: int) -> list[Event]:
    return log.events[:count]


def followed(log: Log, cuts: list[int], **options: Any) -> RadioListener:
    """Return the model of somebody whose log came in pieces."""
    one, ledger = model(SHELF, **options), fold([])
    for cut in [*sorted(cuts), len(log.events)]:
        whole = partial(_first, log, cut)
        ledger = extend(ledger, log.events[ledger.seq : cut], whole)
        one = one.follow(ledger)
    return one


def assert_same(one: RadioListener, other: RadioListener, *, tolerance: float = 1e-9) -> None:
    """Check that two models believe, and would play, the same."""
    assert one.play_times.heard_rows.tolist() == other.play_times.heard_rows.tolist()
    assert one.play_times.heard_at.tolist() == other.play_times.heard_at.tolist()
    for name in ("features", "elapsed", "ratings", "weights"):
        same = getattr(other.history, name)
        assert getattr(one.history, name) == pytest.approx(same, rel=1e-12)
    seen = other.songs(other.play_times.longest)
    means = [each.engine.predict(each.belief, seen).mean() for each in (one, other)]
    if means[1] is None:
        assert means[0] is None
        return
    size = 1 + np.abs(means[1]).max()
    assert means[0] == pytest.approx(means[1], rel=tolerance, abs=tolerance * size)


@settings(max_examples=60)
@given(log=logs(), cuts=st.lists(st.integers(0, 30), max_size=6), intercept=st.booleans())
def test_following_a_log_is_beginning_with_it(
    log: Log, cuts: list[int], *, intercept: bool
) -> None:
    one = followed(log, cuts, intercept=intercept)
    assert_same(one, model(SHELF, log, intercept=intercept))


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"bayes-ucb-cn"}))
def test_following_is_beginning_whatever_the_algorithm(algorithm: str) -> None:
    log = rated([0, 1, 2, 3, 1, 4, 0, 2, 5, 1, 0], apart=7 * HOUR)
    one = followed(log, list(range(1, 11)), algorithm=algorithm)
    other = model(SHELF, log, algorithm=algorithm)
    assert_same(one, other)
    assert one.next(now=log.clock + DAY).row == other.next(now=log.clock + DAY).row


def test_many_plays_at_once_are_learnt_as_one_by_one_and_forgotten_again() -> None:
    log = rated([number % 6 for number in range(90)], apart=HOUR)
    fewer = Log(events=log.events[:40])
    assert_same(followed(log, []), model(SHELF, log))
    assert_same(model(SHELF, log).follow(fold(fewer.events)), model(SHELF, fewer))


def test_a_model_that_forgets_an_answer_would_be_noticed() -> None:
    log = rated([0, 1, 2, 3])
    with pytest.raises(AssertionError):
        assert_same(model(SHELF, rated([0, 1, 2])), model(SHELF, log))


@pytest.mark.parametrize("algorithm", ONLINE)
def test_a_rating_that_is_changed_or_taken_back_is_not_learnt_from_scratch(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rated([0, 1, 2, 5, 1, 0, 2, 3, 4, 0, 1], apart=HOUR)
    before = followed(log, list(range(12)), algorithm=algorithm)
    ledgers = [fold(log.events[:-1])]
    log.add("rating", song_id(1), after=MINUTE, stars=1)
    log.add("rating", song_id(1), after=MINUTE, stars=5)
    ledgers += [fold(log.events[:-1]), fold(log.events)]
    with monkeypatch.context() as patch:
        patch.setattr(type(before.engine), "fit", None)
        back, changed, again = (before.follow(ledger) for ledger in ledgers)
        again_after = changed.follow(ledgers[2])
    for one, ledger in zip(
        (back, changed, again, again_after), (*ledgers, ledgers[2]), strict=True
    ):
        assert_same(one, RadioListener.load(SHELF, ledger, algorithm=algorithm, seed=7))
    assert back.step + 1 == changed.step == again.step


def test_what_was_never_heard_and_what_was_long_ago_count_alike() -> None:
    log = rated([0])
    log.add("rating", song_id(0), after=400 * DAY, stars=3)
    log.add("rating", song_id(0), after=90 * MINUTE, stars=3)
    one = model(SHELF, log)
    assert one.belief.history.elapsed.tolist() == [LONGEST, LONGEST, 90.0]
    seen = one.next(now=log.clock).situation
    assert seen is not None
    assert seen.elapsed.tolist() == [LONGEST]


# ── Songs that are not on the shelf, or of which nothing is known ────────────────────────


def test_songs_that_are_gone_still_count_if_their_sound_is_known() -> None:
    vectors = dict(zip((song_id(row) for row in range(12)), features(12), strict=True))
    asked = []

    def songs_of(ids: Sequence[str]) -> Mapping[str, KnownSong]:
        asked.append(list(ids))
        found = {song: vectors[song].astype(np.float64) for song in ids if song in vectors}
        return {song: KnownSong(sound, SongGroups.unknown(1)) for song, sound in found.items()}

    log = rated([0, 9, 3, 77])
    gone = catalogue_of([record(row) for row in range(8)], matrix(features(12)[:8]))
    one = model(gone, log, songs_of=songs_of)
    whole = catalogue_of([record(row) for row in range(12)], matrix(features(12)))
    assert one.belief.history.features == pytest.approx(model(whole, log).belief.history.features)
    assert asked == [[song_id(9), song_id(77)]]
    assert one.next(now=log.clock).row < 8
    bare = model(gone, log, songs_of=songs_of, intercept=False)
    assert (bare.belief.history.features == one.belief.history.features[:, :-1]).all()


def test_a_play_of_a_song_without_features_is_heard_but_teaches_nothing() -> None:
    half = catalogue_of([record(row) for row in range(8)], matrix(features(4)))
    one = model(half, rated([0, 6]))
    assert len(one.belief.history) == 1
    assert one.play_times.heard_rows.tolist() == [0, 6]
    assert one.play_times.songs == 8


def test_the_prediction_of_one_song_is_what_the_model_believes_of_it() -> None:
    log = rated([0, 1, 2, 0], apart=HOUR)
    one = model(SHELF, log)
    seen = one.predict_song(song_id(1), now=log.clock)
    assert seen is not None
    whole = one.predict(minutes_at(log.clock))
    assert seen.mean() == pytest.approx(whole.mean()[1:2])  # type: ignore[index]
    assert seen.standard_deviation() == pytest.approx(whole.standard_deviation()[1:2])  # type: ignore[index]
    assert seen.parts()["novelty"] == pytest.approx(whole.parts()["novelty"][1:2])
    assert one.predict_song("of no library", now=log.clock) is None
    assert model(SHELF).predict_song(song_id(1), now=0) is None
    assert model(catalogue_of([record(0)])).predict_song(song_id(0), now=0) is None


def test_features_of_another_projection_are_left_out() -> None:
    log = rated([0, 99])
    one = model(
        SHELF,
        log,
        songs_of=lambda ids: {song: KnownSong(np.ones(9), SongGroups.unknown(1)) for song in ids},
    )
    assert len(one.belief.history) == 1
