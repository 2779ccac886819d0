from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstand import ALGORITHMS, Answer, InvalidInputError, Recommender
from bandstand.core.model.curved_columns import COLUMNS as CURVED
from bandstand.core.model.tag_columns import frequent_tags, tag_columns

RNG = np.random.default_rng(5)
FEATURES = RNG.normal(size=(40, 4))
IDS = [f"song {row}" for row in range(40)]
# The sampler draws thousands of times per step; the others are quick.
QUICK = sorted(set(ALGORITHMS) - {"bayes-ucb-cn"})
every_algorithm = pytest.mark.parametrize("algorithm", QUICK)


def radio(algorithm: str = "bayes-ucb-cn-x", **settings: object) -> Recommender:
    return Recommender(features=FEATURES, ids=IDS, algorithm=algorithm, **settings)  # type: ignore[arg-type]


def listen(one: Recommender, steps: int, *, start: int = 0) -> list[object]:
    """Play what is recommended and rate it by its first feature."""
    heard = []
    for step in range(start, start + steps):
        [song] = one.recommend(at=step * 240.0)
        one.update(song, rating=3 + FEATURES[IDS.index(str(song)), 0], time=step * 240.0)
        heard.append(song)
    return heard


@every_algorithm
@pytest.mark.parametrize("raw", [True, False])
def test_every_algorithm_recommends_learns_and_plans(algorithm: str, *, raw: bool) -> None:
    one = radio(algorithm, raw=raw)
    listen(one, 5)
    assert one.step == 6
    songs = one.recommend(7, exclude=IDS[:20], at=9_000.0)
    assert len(set(songs)) == 7
    assert not set(songs) & set(IDS[:20])
    planned = one.playlist(3, exclude=IDS[:5], at=9_000.0)
    assert [entry.minutes_from_now for entry in planned] == [0.0, 4.0, 8.0]
    assert not {entry.song for entry in planned} & set(IDS[:5])
    assert one.step == 6  # planning is no hearing


@every_algorithm
def test_the_same_seed_gives_the_same_songs(algorithm: str) -> None:
    assert listen(radio(algorithm, seed=4), 6) == listen(radio(algorithm, seed=4), 6)


@every_algorithm
def test_recommendations_come_in_the_order_of_the_scores(algorithm: str) -> None:
    one = radio(algorithm)
    listen(one, 6)
    scores = one.scores(at=5_000.0)
    ranked = [IDS[row] for row in np.argsort(-scores, kind="stable")]
    assert one.recommend(40, at=5_000.0) == ranked


@pytest.mark.parametrize("algorithm", ["bayes-ucb-cn-x", "linucb-cn", "greedy-cn-map"])
def test_replaying_equals_updating(algorithm: str) -> None:
    one, other = radio(algorithm), radio(algorithm)
    answers = [
        Answer(song=IDS[row % 9], rating=float(row % 5), time=row * 3_600.0, weight=0.5 + row % 2)
        for row in range(30)
    ]
    for answer in answers:
        one.update(answer.song, answer.rating, answer.time, answer.weight)
    other.replay(answers)
    at = 40 * 3_600.0
    assert one.predict(at=at).mean() == pytest.approx(other.predict(at=at).mean(), rel=1e-6)
    assert (one.elapsed(at=at) == other.elapsed(at=at)).all()


@settings(max_examples=25)
@given(ratings=st.lists(st.integers(1, 5), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_taking_an_answer_back_is_as_if_it_had_never_been_given(
    ratings: list[int], seed: int
) -> None:
    one, other = radio(seed=seed), radio(seed=seed)
    for step, rating in enumerate(ratings):
        one.update(IDS[step % 5], rating, step * 600.0)
        if step < len(ratings) - 1:
            other.update(IDS[step % 5], rating, step * 600.0)
    one.undo()
    at = 100_000.0
    assert one.recommend(5, at=at) == other.recommend(5, at=at)
    assert (one.elapsed(at=at) == other.elapsed(at=at)).all()


def test_elapsed_times_are_minutes_and_never_more_than_a_month() -> None:
    one = radio()
    one.update("song 1", 4, "2026-03-01T12:00:00Z")
    one.update("song 2", 4, datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
    elapsed = one.elapsed(at="2026-03-01T15:00:00+02:00")
    assert elapsed[1] == 60.0
    assert elapsed[2] == 30.0
    assert elapsed[3] == 43_200.0
    assert (one.elapsed(at="2027-01-01T00:00:00Z") == 43_200.0).all()
    # The time stored with an answer is the one at that moment.
    one.update("song 1", 5, "2026-03-01T13:00:00Z")
    assert one.history.elapsed.tolist() == [43_200.0, 43_200.0, 60.0]


def test_a_planned_playlist_repeats_nothing_that_has_not_recovered() -> None:
    one = radio(seed=1)
    listen(one, 20)
    songs = [entry.song for entry in one.playlist(15, at=86_400.0)]
    assert len(set(songs)) == 15
    months = [entry.song for entry in one.playlist(15, minutes=43_200.0, at=86_400.0)]
    assert len(set(months)) < 15  # after a month the favourites are back


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.update("nobody", 3, 0), "one of the 40 in the catalogue, got 'nobody'"),
        (lambda one: one.update([], 3, 0), "one of the 40 in the catalogue"),
        (lambda one: one.update("song 1", float("nan"), 9e9), "ratings must be finite"),
        (lambda one: one.update("song 1", 3, -60), "answers must come in order of time"),
        (lambda one: one.update("song 1", 3, "yesterday"), "ISO-8601 or epoch seconds"),
        (lambda one: one.update("song 1", 3, float("inf")), "time must be finite"),
        (lambda one: one.update("song 1", 3, 10**400), "time must be finite"),
        (lambda one: one.update("song 1", 3, "9999-12-31T23:59:59-14:00"), "before the year 10000"),
        (lambda one: one.update("song 1", 3, 9e9, -1.0), "weights must not be negative"),
        (
            lambda one: one.replay(
                [Answer(song="song 1", rating=5, time=60), Answer(song="x", rating=5, time=61)]
            ),
            "got 'x'",
        ),
        (lambda one: one.recommend(0), "at least 1, got 0"),
        (lambda one: one.recommend(2.5), "at least 1, got 2.5"),
        (lambda one: one.recommend(exclude=["x"]), "got 'x'"),
        (lambda one: one.recommend(at=-60), "must not be before the last answer"),
        (lambda one: one.playlist(2, minutes=0), "positive minutes"),
        (lambda one: one.playlist(2, minutes=[1, 2]), "one or 40 of them"),
        (lambda one: one.playlist(2, minutes="x"), "numbers of minutes, got 'x'"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call: object, message: str) -> None:
    one = radio()
    one.update("song 3", 4, 0)
    before = one.recommend(3, at=600)
    with pytest.raises(InvalidInputError, match=message):
        call(one)  # type: ignore[operator]
    assert one.step == 2
    assert len(one.answers) == 1
    assert one.recommend(3, at=600) == before


def test_a_catalogue_must_make_sense() -> None:
    with pytest.raises(InvalidInputError, match="ids must differ, got 'a' twice"):
        Recommender(features=[[1.0], [2.0]], ids=["a", "a"])
    with pytest.raises(InvalidInputError, match="one id per song \\(2\\), got 1"):
        Recommender(features=[[1.0], [2.0]], ids=["a"])
    with pytest.raises(InvalidInputError, match=r"must be one of random, .* got 'best'"):
        Recommender(features=[[1.0]], algorithm="best")
    with pytest.raises(InvalidInputError, match="ids must be hashable"):
        Recommender(features=[[1.0]], ids=[[]])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match=r"seed must be a whole number .* got -1"):
        Recommender(features=[[1.0]], seed=-1)
    with pytest.raises(InvalidInputError, match="nan"):
        Recommender(features=[[1.0], [float("nan")]])
    with pytest.raises(InvalidInputError, match="there must be an answer to take back"):
        Recommender(features=[[1.0]]).undo()


def test_an_empty_catalogue_recommends_nothing() -> None:
    for algorithm in QUICK:
        one = Recommender(features=np.zeros((0, 3)), algorithm=algorithm, raw=True)
        assert one.recommend(3) == []
        assert one.playlist(3) == []


def test_equal_songs_come_in_the_order_of_the_catalogue() -> None:
    rng = np.random.default_rng(0)
    twins = np.repeat(rng.normal(size=(60, 4)), 5, axis=0)[rng.permutation(300)]
    one = Recommender(features=twins, raw=True)
    for step in range(30):
        at = step * 3_600.0
        [song] = one.recommend(at=at)
        scores = one.scores(at=at)
        if step:
            assert song == int(np.argmax(scores > scores.max() - 1e-9))
        one.update(song, rating=float(rng.normal()), time=at)


def test_a_recommender_without_names_counts_its_songs_and_sums_up() -> None:
    one = Recommender(features=FEATURES)
    assert one.summary().recovery_time_mean is not None
    one.update(np.int64(7), 5, 0.0)
    assert one.songs(at=60.0).elapsed_of([7, 8]).tolist() == [1.0, 43_200.0]
    for song in (40, -1, "song 7"):
        with pytest.raises(InvalidInputError, match="one of the 40 in the catalogue"):
            one.update(song, 3, 60.0)


# ── Artists, albums and tags ─────────────────────────────────────────────────────────────


def named_radio(**changes: Any) -> Recommender:
    """Return a radio of 40 songs of 10 artists with two albums each; sound tells nothing."""
    names: dict[str, Any] = {
        "features": np.random.default_rng(0).normal(size=(40, 3)),
        "artists": [f"artist {row // 4}" for row in range(40)],
        "albums": [f"album {row // 2 % 2}" for row in range(40)],
        "algorithm": "mixed-effects",
    }
    return Recommender(**(names | changes))


def mean_of(radio: Recommender) -> Any:
    return radio.predict(at="2026-03-01").mean()


def test_an_artist_that_is_liked_is_played_though_the_sound_tells_nothing() -> None:
    radio = named_radio()
    for row, rating in ((0, 5), (1, 5), (20, 1), (21, 1)):
        radio.update(row, rating=rating, time="2026-01-01")
    assert set(radio.recommend(2, exclude=[0, 1], at="2026-01-01")) == {2, 3}
    mean = mean_of(radio)
    assert mean[2:4].min() > np.delete(mean, [0, 1, 2, 3]).max()
    assert mean[22:24].max() < np.delete(mean, [20, 21, 22, 23]).min()


def test_the_same_album_name_of_another_artist_is_another_album() -> None:
    radio = named_radio(albums=["Greatest Hits"] * 40)
    other = named_radio(albums=None)
    for each in (radio, other):
        each.update(0, rating=5, time="2026-01-01")
    gain = mean_of(radio) - mean_of(other)
    assert (gain[1:4] > 0.01).all()
    assert np.abs(gain[4:]).max() < 1e-9


def test_what_was_taken_back_and_what_was_replayed_is_the_same_radio() -> None:
    radio, again = named_radio(), named_radio()
    rng = np.random.default_rng(1)
    for day in range(1, 29):
        row = int(rng.integers(12))
        radio.update(row, rating=float(rng.integers(1, 6)), time=f"2026-01-{day:02}")
    radio.undo()
    again.replay(radio.answers)
    assert mean_of(radio) == pytest.approx(mean_of(again), rel=1e-12)
    assert len(radio.playlist(6, at="2026-03-01")) == 6
    assert radio.elapsed(at="2026-03-01").max() == np.inf


def test_tags_teach_about_songs_that_share_them() -> None:
    tags = [["jazz", "live"] if row % 2 else ["rock"] for row in range(40)]
    radio = named_radio(tags=tags, artists=None, albums=None)
    assert radio.songs().features.shape == (40, 3 + CURVED + 3 + 1)
    for row in (1, 3, 5):
        radio.update(row, rating=5, time="2026-01-01")
    mean = mean_of(radio)
    assert mean[7::2].mean() > mean[8::2].mean() + 0.1


def test_only_the_most_frequent_tags_have_a_column() -> None:
    tags = [["a", "b", "c"], ["b", "c", "c"], ["c"], []]
    columns = tag_columns(tags, frequent_tags(tags, most=2))
    assert columns.tolist() == [[pytest.approx(0.5**0.5)] * 2] * 2 + [[1.0, 0.0], [0.0, 0.0]]
    assert tag_columns([[], []], ()).shape == (2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"artists": ["one"]}, r"artists must have one entry per song \(40\), got 1"),
        ({"tags": [[]]}, r"tags must have one entry per song \(40\), got 1"),
        ({"tags": [[]] * 40, "raw": True}, "raw features must hold all columns themselves"),
        ({"artists": 7}, "artists must have one entry per song"),
        ({"albums": (str(row) for row in range(40))}, "albums must have one entry per song"),
        ({"artists": [["a", "b"]] * 40}, "names must be hashable, .* got <class 'list'> in row 0"),
        ({"tags": ["rock; pop"] * 40}, "must be a list of texts, got 'rock; pop' in row 0"),
        ({"tags": [["rock"], [1]] * 20}, r"must be a list of texts, got \[1\] in row 1"),
        ({"tags": [[["rock"]]] * 40}, "must be a list of texts"),
        ({"tags": 5}, r"tags must have one entry per song \(40\), got 5"),
        ({"tags": [5] * 40}, "must be a list of texts, got 5"),
    ],
)
def test_names_that_do_not_fit_the_songs_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        named_radio(**changes)


names = st.one_of(
    st.none(), st.text(max_size=5), st.integers(-3, 3), st.floats(), st.tuples(st.booleans())
)


@settings(max_examples=25)
@given(data=st.data())
def test_any_hashable_names_and_any_texts_as_tags_will_do(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    entries = [st.lists(each, min_size=count, max_size=count) for each in (names, names)]
    tags = st.one_of(st.none(), st.just(np.nan), st.sets(st.text(max_size=6)))
    radio = named_radio(
        features=np.zeros((count, data.draw(st.integers(0, 2)))),
        artists=data.draw(entries[0]),
        albums=data.draw(entries[1]),
        tags=data.draw(st.lists(tags, min_size=count, max_size=count)),
    )
    radio.update(0, rating=5, time=0)
    assert len(radio.recommend(count, at=600)) == count
    assert np.isfinite(radio.scores(at=600)).all()


def test_what_is_no_name_is_shared_with_no_other_song() -> None:
    plain = named_radio(artists=None)
    plain.update(0, rating=5, time="2026-01-01")
    for nothing in (None, np.nan, float("nan"), np.float32("nan"), "", "  "):
        radio = named_radio(artists=[nothing] * 40)
        radio.update(0, rating=5, time="2026-01-01")
        assert (mean_of(radio) == mean_of(plain)).all()


def test_names_alone_are_enough() -> None:
    tags = [["jazz"] if row % 2 else [] for row in range(40)]
    radio = named_radio(features=np.empty((40, 0)), tags=tags)
    radio.update(1, rating=5, time="2026-01-01")
    assert set(radio.recommend(2, exclude=[1], at="2026-01-01")) == {0, 3}  # its album, its tag
    mean = mean_of(radio)
    assert mean[5::2].min() > mean[4::2].max()


def test_very_long_and_very_many_names_take_no_time() -> None:
    count = 100_000
    started = process_time()
    for artists in (range(count), ["one"] * count):
        tags = [["x" * 10_000] if row < 100 else ["y"] for row in range(count)]
        radio = named_radio(features=np.empty((count, 0)), artists=artists, albums=None, tags=tags)
        radio.update(7, rating=5, time=0)
        assert len(radio.recommend(10, exclude=[7], at=600)) == 10
    assert process_time() - started < 20  # most of it is the catalogue


# ── Tables of pandas ────────────────────────────────────────────────────────────────────


class Table:
    """As much of a DataFrame as is used, which pandas itself has been seen to do."""

    def __init__(self, columns: dict[str, Any], index: list[Any]) -> None:
        self.columns, self.index, self.data = list(columns), np.array(index), columns

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.column_stack(list(self.data.values()))

    def __getitem__(self, names: list[str]) -> Table:
        return Table({name: self.data[name] for name in names}, list(self.index))

    def itertuples(self, *, index: bool) -> Any:
        assert not index
        return zip(*self.data.values(), strict=True)


def test_a_table_names_songs_by_its_index_and_has_answers_in_its_rows() -> None:
    sound = Table({str(column): FEATURES[:, column] for column in range(4)}, IDS)
    times = np.array(["2026-01-01T10:00", "2026-01-02T10:00"], dtype="datetime64[ns]")
    said = {"rating": [5, 1], "time": times, "song": IDS[:2], "comment": ["", "loud"]}
    mine, theirs = Recommender(features=sound), radio()
    mine.replay(Table(said, [7, 8]))  # type: ignore[arg-type]
    theirs.update(IDS[0], 5, "2026-01-01T10:00:00Z")
    theirs.update(IDS[1], 1, "2026-01-02T10:00:00Z")
    at = np.datetime64("2026-01-09")
    assert mine.recommend(5, at=at) == theirs.recommend(5, at="2026-01-09")
    assert Recommender(features=sound, ids=range(40)).recommend() != mine.recommend()
    mine.replay(Table({"song": IDS[:1], "rating": [2], "time": [at], "weight": [0.5]}, [0]))  # type: ignore[arg-type]
    assert mine.answers[-1] == Answer(song=IDS[0], rating=2, time=at, weight=0.5)
    with pytest.raises(InvalidInputError, match="got none called time"):
        mine.replay(Table({"song": IDS[:1], "rating": [2]}, [0]))  # type: ignore[arg-type]
