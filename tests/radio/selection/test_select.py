from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand.core.engines.engine import array_bytes
from bandstand.core.listener_model import randomness
from bandstand.core.registry import SOUND_ALGORITHMS
from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.music.catalogue.catalogue import catalogue_of
from bandstand.radio.selection.select import minutes_at
from tests.fixtures.radio.catalogues import (
    features,
    matrix,
    model,
    rated,
    record,
    shelf,
    song_id,
)
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, Log

SHELF = shelf(60)
NOW = 1_800_000_000_000
# The sampler draws thousands of times for each answer; it has a test of its own.
QUICK = sorted(set(SOUND_ALGORITHMS) - {"bayes-ucb-cn"})


def test_the_first_song_is_drawn_at_random_and_says_so() -> None:
    chosen = model(SHELF).next(now=NOW)
    assert (chosen.how, chosen.note) == ("random", "the first song is drawn at random")
    assert (chosen.step, chosen.level, chosen.score, chosen.prediction) == (1, None, None, None)
    assert (chosen.at, chosen.minutes_from_now, chosen.minutes_since_heard) == (NOW, 0.0, None)
    assert chosen.situation is not None
    newcomer = model(SHELF)
    first = {replace(newcomer, seed=seed).next(now=NOW).row for seed in range(400)}
    assert len(first) == 60  # every song may be the first


def test_while_nothing_is_known_of_the_listener_songs_are_drawn() -> None:
    log = Log()
    log.add("skip", song_id(1), played_ms=100)  # a slip of the finger says nothing
    chosen = model(SHELF, log).next(now=NOW)
    assert chosen.how == "random"
    assert "nothing is known of the listener yet" in chosen.note
    notes = [each.note for each in model(SHELF).playlist(3, now=NOW)]
    assert notes[0] != notes[1] == notes[2]


def test_before_anything_is_analysed_songs_are_drawn_and_it_is_said() -> None:
    plain = catalogue_of([record(row) for row in range(30)])
    one = model(plain, rated([1, 2, 3]))
    chosen = one.next(now=NOW)
    assert chosen.how == "random"
    assert chosen.note == "the library is still being analysed: this song is drawn at random"
    assert chosen.situation is None
    assert not len(one.history)
    assert one.follow(model(plain, rated([1, 2, 3, 4])).ledger).step == 5
    rows = [each.row for each in one.playlist(30, now=NOW)]
    assert sorted(rows) == list(range(30))


def test_songs_without_features_are_only_played_if_no_other_may_be() -> None:
    half = catalogue_of([record(row) for row in range(40)], matrix(features(20)))
    for log in (Log(), rated([1, 2, 3])):
        rows = [each.row for each in model(half, log).playlist(12, now=NOW)]
        assert max(rows) < 20
        log.add("ban", scope="artist", target="Artist 0")
        log.add("ban", scope="artist", target="Artist 1")
        chosen = model(half, log).next(now=NOW)
        assert chosen.row >= 20
        assert "none of the songs that may be played is analysed yet" in chosen.note
        assert (chosen.situation, chosen.score, chosen.how) == (None, None, "random")


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("algorithm", QUICK)
def test_every_algorithm_plays_and_plans(algorithm: str, *, intercept: bool) -> None:
    log = rated([1, 2, 3, 1, 30, 41], apart=9 * HOUR)
    check_algorithm(algorithm, log, intercept=intercept)


def test_the_sampler_plays_and_plans() -> None:
    check_algorithm("bayes-ucb-cn", rated([1, 2, 3], apart=HOUR), intercept=True)


def check_algorithm(algorithm: str, log: Log, *, intercept: bool) -> None:
    one = model(SHELF, log, algorithm=algorithm, intercept=intercept)
    chosen = one.next(now=log.clock + MINUTE)
    assert (one.algorithm, one.reader.intercept) == (algorithm, intercept)
    assert one.belief.history.columns == 4 + intercept
    assert chosen.step == len(log.events) + 1
    planned = one.playlist(8, now=log.clock + MINUTE)
    assert planned[0].row == chosen.row
    assert len({each.row for each in planned}) == 8
    assert [each.step for each in planned] == list(range(chosen.step, chosen.step + 8))
    assert planned[1].minutes_from_now == pytest.approx(200 / 60)
    assert planned[1].at == planned[0].at + 200_000
    if algorithm != "random":
        assert chosen.how == "model"
        assert chosen.note == ""
    if algorithm == "random":
        assert chosen.how == "random"
        assert "draws this song at random" in chosen.note


@pytest.mark.parametrize("algorithm", QUICK)
def test_the_score_is_the_one_by_which_the_song_was_best(algorithm: str) -> None:
    log = rated([1, 2, 3, 1, 30, 41, 55], apart=9 * HOUR)
    one = model(SHELF, log, algorithm=algorithm)
    chosen = one.next(now=log.clock)
    if chosen.score is None:
        assert algorithm == "random"
        return
    prediction = one.predict(minutes_at(log.clock), range(60))
    scores = one.policy.scores(
        prediction, step=chosen.step, rng=randomness(7, chosen.step, "choose")
    )
    size = float(np.abs(scores).max())
    assert chosen.score == pytest.approx(scores[chosen.row], rel=1e-9, abs=1e-9 * size)
    # Nothing that may be played is better: the last artist may not.
    others = [row for row in range(60) if row // 10 != 5 and row not in (1, 2, 3, 30, 41)]
    assert chosen.score >= scores[others].max() - 1e-9 * size
    assert chosen.share_better is not None
    mean = prediction.mean()
    assert mean is not None
    waits = {1, 2, 3, 30, 41, *range(50, 60)}
    better = [mean[row] >= mean[chosen.row] + 0.1 for row in range(60) if row not in waits]
    assert chosen.share_better == np.mean(better)
    if algorithm.startswith("greedy"):
        assert chosen.share_better == 0


def test_a_song_that_is_playing_or_queued_counts_as_heard() -> None:
    log = rated([1, 2, 3, 20, 30], apart=HOUR)
    one = model(SHELF, log)
    planned = one.playlist(60, now=NOW)
    assert len({each.row for each in planned}) == 60
    for count in (1, 2, 3, 20, 40, 59):  # also longer ago than any spacing reaches
        after = [each.song for each in planned[:count]]
        following = one.next(now=NOW, after=after)
        assert following.song == planned[count].song
        assert following.step == planned[count].step
        assert following.at == planned[count].at


@settings(max_examples=25)
@given(back=st.sampled_from([0, 1, HOUR, DAY, 365 * DAY, NOW]))
def test_a_clock_that_was_set_back_never_gives_negative_times(back: int) -> None:
    log = rated([1, 2, 3, 1], apart=HOUR)
    one = model(SHELF, log)
    chosen = one.next(now=log.clock - back)
    assert chosen.at == log.clock
    assert chosen.row == one.next(now=log.clock).row
    for each in one.playlist(30, now=log.clock - back):
        assert each.minutes_since_heard is None or each.minutes_since_heard >= 0
        assert each.situation is not None
        assert (each.situation.elapsed >= 0).all()


def test_a_playlist_has_a_sensible_length() -> None:
    one = model(SHELF)
    for count in (0, -1, 1_001):
        with pytest.raises(InvalidInputError, match="between 1 and 1000 songs"):
            one.playlist(count, now=NOW)


def test_an_algorithm_must_be_known() -> None:
    with pytest.raises(InvalidInputError, match="the algorithm must be one of"):
        model(SHELF, algorithm="best")


def test_the_memory_of_a_listener_is_told() -> None:
    one = model(shelf(100), rated([1, 2, 3]))
    one.next(now=NOW)
    assert one.cache is not None
    assert model(SHELF, rated([1, 2, 3])).cache is None  # 60 songs are never searched
    assert one.nbytes > array_bytes(one.belief) + one.cache.nbytes > 0
    for algorithm in QUICK:
        few, many = (
            model(SHELF, rated([1, 2, 3] * times), algorithm=algorithm) for times in (1, 20)
        )
        assert many.nbytes > few.nbytes >= few.belief.history.features.nbytes
    log = rated([1, 2, 3])
    log.add("ban", scope="artist", target="Artist 4")
    banned = model(SHELF, log)
    before = banned.nbytes
    banned.next(now=NOW)
    assert banned.filter.nbytes == len(SHELF)
    assert banned.nbytes >= before + len(SHELF)
    assert model(catalogue_of([record(0)])).nbytes < 100


# ── Odd libraries (N6) ───────────────────────────────────────────────────────────────────


def odd_shelves() -> dict[str, Any]:
    constant = features(20)
    constant[:, 2] = 3.0
    records = [record(row) for row in range(20)]
    return {
        "one song": catalogue_of([record(0)], matrix(features(1))),
        "one feature": catalogue_of(records, matrix(features(20, 1))),
        "the same song twenty times": catalogue_of(records, matrix(np.ones((20, 3), np.float32))),
        "nothing but zeros": catalogue_of(records, matrix(np.zeros((20, 3), np.float32))),
        "a constant feature": catalogue_of(records, matrix(constant)),
        "twice the same column": catalogue_of(records, matrix(features(20)[:, [0, 0, 1]])),
        "more features than songs": catalogue_of(records[:3], matrix(features(3, 30))),
        "tiny numbers": catalogue_of(records, matrix(features(20) * np.float32(1e-30))),
        "huge numbers": catalogue_of(records, matrix(features(20) * np.float32(1e4))),
        "no tags at all": catalogue_of(
            [record(row, title=None, artist=None, album=None, genre=None) for row in range(20)],
            matrix(features(20)),
        ),
        "one artist": catalogue_of(
            [record(row, artist="A", title="B") for row in range(20)], matrix(features(20))
        ),
    }


@pytest.mark.parametrize(
    "algorithm",
    ["bayes-ucb-cn-x", "bayes-ucb-cn-v", "linucb-cn", "greedy-cn", "greedy-cn-map", "random"],
)
@pytest.mark.parametrize("name", sorted(odd_shelves()))
def test_odd_libraries_are_played_without_a_warning(name: str, algorithm: str) -> None:
    with np.errstate(all="raise"):
        on = odd_shelves()[name]
        count = len(on)
        log = rated([0, 1 % count, 2 % count, 0], [1, 5, 5, 1], apart=HOUR)
        for each in (Log(), log):
            one = model(on, each, algorithm=algorithm)
            planned = one.playlist(6, now=each.clock)
            assert len(planned) == 6
            for chosen in planned:
                assert chosen.score is None or np.isfinite(chosen.score)


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "random"])
def test_an_empty_library_says_that_nothing_may_be_played(algorithm: str) -> None:
    with pytest.raises(NotFoundError, match=r"nothing may be played.*there are no songs"):
        model(catalogue_of([]), algorithm=algorithm).next(now=NOW)
    with pytest.raises(NotFoundError, match="nothing may be played"):
        model(catalogue_of([], matrix(features(3))), rated([0]), algorithm=algorithm).next(now=NOW)
