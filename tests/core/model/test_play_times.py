import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bandstand.core.model.history import PlayTimes, SongFeatures, SongsAt
from bandstand.types import Minutes

seeds = st.integers(0, 2**32)


def test_a_clock_that_goes_back_gives_no_negative_time() -> None:
    listening = PlayTimes.nothing(2).after(0, Minutes(100.0))
    assert listening.elapsed(Minutes(50.0)).tolist() == [0.0, 43_200.0]


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


@given(seed=seeds, songs=st.integers(1, 10), known=st.integers(0, 10), plays=st.integers(0, 20))
def test_many_plays_at_once_are_one_after_the_other(
    seed: int, songs: int, known: int, plays: int
) -> None:
    rng = np.random.default_rng(seed)
    rows, times = rng.integers(songs, size=known + plays), rng.exponential(9_000, known + plays)
    times = times.cumsum()
    before = one_by_one = PlayTimes.nothing(songs).after(rows[:known], times[:known])
    elapsed = []
    for row, time in zip(rows[known:], times[known:], strict=True):
        elapsed.append(float(one_by_one.elapsed_of(time, [row])[0]))
        one_by_one = one_by_one.after(row, time)
    assert before.elapsed_between(rows[known:], times[known:]).tolist() == elapsed
    at_once = before.after(rows[known:], times[known:])
    assert at_once.heard_rows.tolist() == one_by_one.heard_rows.tolist()
    assert at_once.heard_at.tolist() == one_by_one.heard_at.tolist()


def test_features_in_single_precision_are_used_as_they_are_and_rows_come_in_double() -> None:
    features = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    catalogue = SongFeatures.of(features)
    assert np.shares_memory(catalogue.features, features)
    songs = SongsAt(catalogue, PlayTimes.nothing(50).after(3, Minutes(0.0)), Minutes(7.0))
    assert songs.features_of([4]).dtype == np.float64
