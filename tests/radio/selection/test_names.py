"""The radio learns of artists, albums, songs and genres, as they stand in the files' tags."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from bandstand.core.engines.exact.engine import Exact
from bandstand.core.engines.exact.prediction import ExactPrediction
from bandstand.core.model.history import Songs
from bandstand.music.audio.projection import fit
from bandstand.music.catalogue.catalogue import Catalogue
from bandstand.music.catalogue.columns import SongColumns
from bandstand.music.catalogue.design import Design
from bandstand.music.catalogue.design_view import groups_of
from bandstand.music.catalogue.matrix import FeatureMatrix
from bandstand.radio.explain.taste import taste_of
from bandstand.radio.explain.why import (
    EFFECTS,
    Why,
    explained,
    liking_of,
    most_doubted,
    preference_of,
)
from bandstand.radio.log.fold import fold
from bandstand.radio.selection.select import RadioListener
from bandstand.store.songs.songs import Described, facts_of
from tests.fixtures.music.descriptor_tables import library
from tests.fixtures.radio.catalogues import record, song_id
from tests.fixtures.radio.logs import DAY, HOUR, MINUTE, Log

SONGS = 120
ARTISTS = [f"Artist {row // 4}" for row in range(SONGS)]
GENRES = ["Jazz; Live" if (row // 4) % 3 == 0 else "Hip-Hop/Rap" for row in range(SONGS)]


@cache
def shelf(**changes: Any) -> Catalogue:
    """Return 120 songs of 30 artists, with sound that says nothing of their names."""
    descriptors = library(5, SONGS)
    tags = [{"artist": ARTISTS[row], "genre": GENRES[row], **changes} for row in range(SONGS)]
    songs = [
        Described(song_id(row), descriptors[row], tags[row]["genre"], None) for row in range(SONGS)
    ]
    design = Design(projection=fit(descriptors)).with_tags((s.genre, s.year) for s in songs)
    rows = np.column_stack([design.rows(songs), np.ones(SONGS)]).astype(np.float32)
    matrix = FeatureMatrix(
        ids=np.array([song.id.encode() for song in songs], dtype="S16"),
        table=rows,
        stamp={"projection": 1},
        first_sound=design.meaning.first_sound,
    )
    columns = SongColumns.of(facts_of(record(row, **tags[row])) for row in range(SONGS))
    return Catalogue.of(columns, matrix, design=design)


def listener(log: Log, on: Catalogue | None = None, **options: Any) -> RadioListener:
    found = shelf() if on is None else on
    settings = {"algorithm": "mixed-effects", "seed": 3, **options}
    return RadioListener.load(found, fold(log.events), **settings)


def rated(stars: dict[int, int], *, apart: int = 5 * MINUTE) -> Log:
    log = Log()
    for row, given in stars.items():
        log.add("rating", song_id(row), after=apart, stars=given)
    return log


def drawn(count: int, liked: Any, seed: int = 0) -> dict[int, int]:
    """Return ratings of different songs: 5 stars for those that are liked, or else 2."""
    rows = np.random.default_rng(seed).permutation(SONGS)[:count].tolist()
    return {row: 5 if liked(row) else 2 for row in rows}


def expected_new(one: RadioListener) -> np.ndarray[Any, Any]:
    """Return the expected rating of each song when it is new."""
    found = liking_of(one.predict(one._minutes(0)))
    assert found is not None
    return found


def test_the_artist_of_a_liked_song_is_liked_and_others_are_not() -> None:
    one = listener(rated(drawn(60, lambda row: row // 4 == 7) | {28: 5, 29: 5}))
    mean = expected_new(one)
    others = np.delete(mean, [28, 29, 30, 31])
    assert mean[30] > others.max() + 0.4


def test_a_genre_that_is_hated_is_not_played() -> None:
    one = listener(rated(drawn(40, lambda row: (row // 4) % 3 != 0)))
    found = one.playlist(12, now=one.ledger.plays[-1].at + HOUR)
    assert all(GENRES[one.row] != "Jazz; Live" for one in found)


def test_who_follows_the_log_is_who_loads_it() -> None:
    log = rated(drawn(30, lambda row: row % 2))
    follows = listener(Log())
    for count in range(1, len(log.events) + 1):
        follows = follows.follow(fold(log.events[:count]))
    loads = listener(log)
    np.testing.assert_allclose(expected_new(follows), expected_new(loads), atol=1e-10)
    assert (follows.history.groups.stacked() == loads.history.groups.stacked()).all()


@pytest.mark.parametrize("count", [10, 60, 115])
def test_without_a_repeat_the_recovery_time_is_what_it_was_before(count: int) -> None:
    one = listener(rated(drawn(count, lambda row: row % 3 == 0)))
    before = listener(Log())
    assert isinstance(one.engine, Exact)
    found, start = (each.engine.summary(each.belief) for each in (one, before))
    assert found.recovery_time_mean == pytest.approx(start.recovery_time_mean, rel=1e-9)
    assert found.recovery_time_sd == pytest.approx(start.recovery_time_sd, rel=1e-9)
    # The twin: with songs heard again after an hour it is not.
    again = listener(rated({1: 5, 2: 5}, apart=HOUR), shelf())
    log = rated({1: 5, 2: 5, 3: 4}, apart=HOUR)
    log.add("rating", song_id(1), after=HOUR, stars=1)
    heard = listener(log).engine.summary(listener(log).belief)
    assert heard.recovery_time_mean != pytest.approx(start.recovery_time_mean, rel=1e-3)
    assert again.engine.summary(again.belief).recovery_time_mean == pytest.approx(
        start.recovery_time_mean, rel=1e-9
    )


def whys(one: RadioListener, count: int) -> list[Why]:
    preference = preference_of(one.engine, one.belief, one.history.columns)
    return [
        explained(each, preference, one.reader.columns, one.learned)
        for each in one.playlist(count, now=one.ledger.plays[-1].at + DAY)
    ]


def test_why_names_artist_genre_album_and_song_and_adds_up() -> None:
    log = rated(drawn(60, lambda row: row // 4 in {3, 7, 11}))
    for row in (28, 29, 28):
        log.add("rating", song_id(row), after=DAY, stars=5)
    found = whys(listener(log), 40)
    for why in found:
        assert {"alike", "tags", *EFFECTS} <= why.groups.keys()
        assert math.fsum(why.tags.values()) == pytest.approx(why.groups["tags"], abs=1e-12)
        assert why.liking is not None
        assert why.base is not None
        assert abs(why.base + math.fsum(why.groups.values()) - why.liking) < 1e-9
        assert abs(why.groups["other"]) < 1e-9
    assert any("its artist is" in why.sentence for why in found)
    assert {tag for why in found for tag in why.tags} <= {"Jazz", "Live", "Hip-Hop", "Rap"}


def test_the_base_is_what_the_average_song_gets() -> None:
    one = listener(rated(drawn(60, lambda row: (row // 4) % 3 != 0)))
    parts = one.predict(one._minutes(0)).parts()
    for why in whys(one, 3):
        assert why.base == pytest.approx(parts["content"].mean(), abs=1e-5)
    untagged = listener(rated(drawn(60, lambda row: row % 2)), shelf(genre=None))
    assert all(why.tags == {} and "genre" not in why.sentence for why in whys(untagged, 3))


@pytest.mark.parametrize(("names", "parts"), [({}, (0, 0)), ({"artist": "One"}, (1, 0))])
def test_a_song_without_an_artist_has_no_part_of_one(
    names: dict[str, str], parts: tuple[int, int]
) -> None:
    log = rated({row: 5 if row == 1 else 2 for row in range(30)})
    one = listener(log, shelf(**{"artist": None, "album": None} | names))
    found = one.predict(one._minutes(0)).parts()
    assert (bool(found["artist"].any()), bool(found["album"].any())) == parts
    assert found["song"][1] == found["song"].max() > 0.2
    assert not any("its artist" in why.sentence for why in whys(one, 5) if not names)


def test_one_who_hates_a_genre_is_given_that_as_the_reason() -> None:
    one = listener(rated(drawn(60, lambda row: (row // 4) % 3 != 0)))
    row = next(row for row in range(SONGS) if GENRES[row] == "Jazz; Live")
    [chosen] = one.playlist(1, now=one.ledger.plays[-1].at + DAY)
    songs = one.songs(one._minutes(0)).take([row])
    chosen = replace(chosen, situation=songs, prediction=one.engine.predict(one.belief, songs))
    preference = preference_of(one.engine, one.belief, one.history.columns)
    why = explained(chosen, preference, one.reader.columns, one.learned)
    assert why.groups["tags"] == min(why.groups.values())
    assert "Jazz" in why.sentence or "Live" in why.sentence


def test_taste_is_told_with_names() -> None:
    log = rated(drawn(100, lambda row: (row // 4) % 3 != 0))
    found = taste_of(listener(log))
    assert {one.name for one in found.genres.least} & {"Jazz", "Live"}
    assert found.uncertainty[-1].stars < found.uncertainty[0].stars
    few = taste_of(listener(rated(drawn(12, lambda row: row % 2))))
    assert few.artists.most == ()


def test_taste_names_no_texts_that_are_no_names() -> None:
    named = {"artist": "<Unknown>", "genre": "(None); N/A"}
    found = taste_of(listener(rated(drawn(60, lambda row: row % 2)), shelf(**named)))
    assert found.artists.most == found.genres.most == ()


def test_a_song_of_another_artist_now_is_learnt_again() -> None:
    log = rated(drawn(20, lambda row: row % 2))
    one, other = listener(log), shelf(artist="One and all")
    assert one.migrated(other, one.ledger) is None
    assert one.migrated(shelf(), one.ledger) is not None


def test_groups_are_of_clean_names() -> None:
    spelt = ["The Beatles", "BEATLES feat. Guest", "<Unknown>", None, "Björk", "Bjork"]
    columns = SongColumns.of(
        facts_of(record(row, artist=artist, album_artist="Björk" if row == 3 else None))
        for row, artist in enumerate(spelt)
    )
    artist = groups_of(columns).artist
    assert artist[0] == artist[1]
    assert artist[3] == artist[4] == artist[5]
    assert len({*artist.tolist()}) == 3
    again = groups_of(columns)
    assert (again.song == groups_of(columns).song).all()
    assert len({*again.song.tolist()}) == len(spelt)


@pytest.mark.parametrize("count", [2, 60])
def test_the_doubt_of_a_song_has_parts_that_add_up(count: int) -> None:
    one = listener(rated(drawn(count, lambda row: row // 4 == 7) | {28: 5, 29: 5}))
    found = one.predict(one._minutes(0))
    assert isinstance(found, ExactPrediction)
    parts, deviation = found.variances(), found.standard_deviation()
    assert deviation is not None
    never = np.setdiff1d(np.arange(SONGS), one.play_times.heard_rows)
    # The noise variance, for songs that never were heard and so are fresh for certain.
    ratio = deviation[never] ** 2 / np.sum([*parts.values()], axis=0)[never]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-2)
    assert all((part > 0).all() for part in parts.values())
    assert all(parts[name][28] < parts[name].max() for name in ("artist", "song"))


def test_an_artist_without_answers_is_what_is_learned_of() -> None:
    one = listener(rated(dict.fromkeys(range(12), 4)))
    usual, songs = one.reader.prior(), one.songs(one._minutes(0))
    engine = Exact(prior=replace(usual, effects=replace(usual.effects, artist=5.0), kinds=()))
    belief = engine.fit(one.history)
    doubted = [most_doubted(engine.predict(belief, songs.take([row]))) for row in (100, 0)]
    assert doubted == ["artist", "song"]


def test_a_song_never_heard_is_exactly_fresh() -> None:
    one = listener(rated({1: 5, 2: 4}, apart=HOUR))
    songs = one.songs(one._minutes(0))
    assert isinstance(songs, Songs)
    novelty = one.predict(one._minutes(0)).parts()["novelty"]
    assert (np.delete(novelty, [1, 2]) == 1).all()
    assert (novelty[[1, 2]] < 1).all()
